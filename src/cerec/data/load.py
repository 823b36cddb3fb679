"""The one entry for data: a built-in name, or a folder in any supported format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from cerec.data.dataset import Dataset
from cerec.data.readers import kgat, recbole, tables
from cerec.data.store import cache_path, files_key, read_cache, write_cache
from cerec.errors import ConfigError, DataError, near_matches, one_of

READERS: Mapping[str, tuple[ModuleType, Callable[..., Dataset]]] = {
    "kgat": (kgat, kgat.read_kgat),
    "recbole": (recbole, recbole.read_recbole),
    "tables": (tables, tables.read_tables),
}


_NAMED = 5
_PAIRS = {"bins": int, "lists": str, "columns": str}
"""Options that are mappings -> what their values are."""


def load(
    source: str | Path, *, format: str | None = None, cache: bool = True, **options: Any
) -> Dataset:
    """The built-in world "demo", or the data in the folder `source`.

    The format is found by looking at the folder unless it is named. Options are those of the
    format's reader, for tables `columns={"user": "uid"}`, `delimiter=";"`, `bins={"price": 5}`,
    `lists={"genre": "comma"}`; with `cache`, a second load of unchanged files is fast.
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
    options = {key: value for key, value in options.items() if value is not None}
    _check_options(name, module.OPTIONS, options)
    data = _cached(folder, name, module, read, options) if cache else read(folder, **options)
    return replace(data, notes=(*data.notes, *_not_read(folder, module, options)))


def _not_read(folder: Path, module: ModuleType, options: Mapping[str, Any]) -> Iterable[str]:
    """A note that names the files beside those of the data."""
    read = set(module.files(folder, **options))
    others = sorted(p.name for p in folder.iterdir() if p.is_file() and p not in read)
    others = [name for name in others if not name.startswith((".", "README", "LICENSE"))]
    if others:
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        yield f"not read: {', '.join(others[:_NAMED])}{more}"


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
        path, key = cache_path(folder, name, options), files_key(found)
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
        f"{folder}: no known format; expected interactions.csv or ratings.csv (tables), train.txt "
        "(kgat) or NAME.inter (recbole); name another file by the options format=tables and "
        "interactions=FILE"
    )


def _check_options(name: str, known: tuple[str, ...], given: Mapping[str, Any]) -> None:
    for option in given:
        if option not in known:
            close = near_matches(option, known)
            allowed = f"; it takes {', '.join(known)}" if known else "; it takes none"
            hint = f"; did you mean {close[0]!r}?" if close else allowed
            raise ConfigError(f"unknown option {option!r} for format {name}{hint}")


def parse_options(given: Iterable[str], **more: str | None) -> dict[str, Any]:
    """Reader options out of `name=value` texts; `bins=price:5,year:10` is a mapping."""
    texts = [*given, *(f"{name}={value}" for name, value in more.items() if value is not None)]
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise ConfigError(f"option must look like name=value, got {text!r}")
        options[name] = _mapping(name, value) if name in _PAIRS else value
    return options


def _mapping(option: str, text: str) -> dict[str, Any]:
    """`price:5,year:10` or `user=uid,item=movie_id`."""
    out: dict[str, Any] = {}
    for entry in text.split(","):
        key, sign, value = entry.rpartition(":" if option != "columns" else "=")
        if not (key and sign and value) or (_PAIRS[option] is int and not value.isdecimal()):
            form = {"bins": "column:count,column:count", "lists": "column:comma,column:none"}
            wanted = form.get(option, "user=HEADER,item=HEADER")
            raise ConfigError(f"{option} must look like {wanted}, got {text!r}")
        out[key] = _PAIRS[option](value)
    return out
