"""The one entry for data: a built-in name, or a folder in any supported format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from cerec.data.cache import cache_file, files_key, read_cache, write_cache
from cerec.data.dataset import Dataset
from cerec.data.readers import kgat, recbole, tables
from cerec.errors import ConfigError, DataError, near_matches, one_of

READERS: Mapping[str, tuple[ModuleType, Callable[..., Dataset]]] = {
    "kgat": (kgat, kgat.read_kgat),
    "recbole": (recbole, recbole.read_recbole),
    "tables": (tables, tables.read_tables),
}


def load(
    source: str | Path, *, format: str | None = None, cache: bool = True, **options: Any
) -> Dataset:
    """The built-in world "demo", or the data in the folder `source`.

    The format is found by looking at the folder unless it is named. Options are those of the
    format's reader; with `cache`, a second load of unchanged files is fast.
    """
    if not isinstance(source, str | Path):
        raise DataError(f"load takes the name of a data set or its folder, got {source!r:.60}")
    if source == "demo":
        from cerec.data.synthetic.generate import demo

        _check_options("demo", (), options)
        return demo()
    folder = _folder(source)
    name = one_of("format", format or detect(folder), sorted(READERS))
    module, read = READERS[name]
    _check_options(name, module.OPTIONS, options)
    if not cache:
        return read(folder, **options)
    return _cached(folder, name, module, read, options)


def _folder(source: str | Path) -> Path:
    folder = Path(source)
    if folder.is_dir():
        return folder
    what = "is a file, expected a folder" if folder.exists() else "no such folder"
    raise DataError(f"{folder}: {what}; give a folder of data, or 'demo' for the built-in world")


def _cached(
    folder: Path, name: str, module: ModuleType, read: Callable[..., Dataset], options: Any
) -> Dataset:
    found = module.files(folder, **options)
    try:
        path, key = cache_file(folder, name, options), files_key(found)
    except OSError:  # the reader says what is wrong with the file
        return read(folder, **options)
    data = read_cache(path, key)
    if data is None:
        data = read(folder, **options)
        write_cache(path, key, data)
    return data


def detect(folder: Path) -> str:
    """The format of a folder, by the files in it."""
    for name, (module, _) in READERS.items():
        if module.looks_like(folder):
            return name
    raise DataError(
        f"{folder}: no known format; expected interactions.csv (tables), train.txt (kgat) or "
        "NAME.inter (recbole), or name the format"
    )


def _check_options(name: str, known: tuple[str, ...], given: Mapping[str, Any]) -> None:
    for option in given:
        if option not in known:
            close = near_matches(option, known)
            allowed = f"; it takes {', '.join(known)}" if known else "; it takes none"
            hint = f"; did you mean {close[0]!r}?" if close else allowed
            raise ConfigError(f"unknown option {option!r} for format {name}{hint}")


def parse_options(given: Iterable[str]) -> dict[str, Any]:
    """Reader options out of `name=value` texts; `bins=price:5,year:10` is a mapping."""
    options: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise ConfigError(f"option must look like name=value, got {text!r}")
        options[name] = _bins(value) if name == "bins" else value
    return options


def _bins(text: str) -> dict[str, int]:
    bins = {}
    for entry in text.split(","):
        column, _, count = entry.rpartition(":")
        if not column or not count.isdecimal():
            raise ConfigError(f"bins must look like column:count,column:count, got {text!r}")
        bins[column] = int(count)
    return bins
