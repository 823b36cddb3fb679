"""Folders of plain tables: CSV, TSV or Parquet, one table a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from cerec.data.build import PARTS, SourceTables, build
from cerec.data.columns import Table
from cerec.data.dataset import Dataset
from cerec.data.readers.delimited import parse_delimited, separator
from cerec.data.text import one_line, read_bytes, stem_of
from cerec.data.values import Reading
from cerec.errors import ConfigError, DataError

MARK = "cerec.json"
"""Beside tables that we wrote: their cells mean what they say, and nothing is guessed."""
OPTIONS = ("bins", "lists", "columns", "delimiter", "interactions", "items", "users")
ENDINGS = (".csv", ".tsv", ".parquet")
_SIDE = ("items", "users", "entities", "relations", "triples", "planted")
_USUAL: Mapping[str, tuple[str, ...]] = {
    "interactions": (
        "interactions", "ratings", "events", "plays", "listens", "purchases", "transactions",
        "orders", "clicks", "views", "reviews", "history",
    ),
    "items": ("items", "movies", "products", "films", "books", "tracks", "songs", "articles",
              "games"),
    "users": ("users", "customers", "members", "visitors", "people"),
}  # fmt: skip
_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "space": " "}


def looks_like(folder: Path) -> bool:
    """True for a folder with an interactions table, whole or in parts."""
    return any(find_table(folder, name) for name in ("interactions", "train"))


def files(folder: Path, **options: object) -> list[Path]:
    """The files to read."""
    mark = folder / MARK
    return [*_files(folder, options).values(), *([mark] if mark.is_file() else [])]


def _files(folder: Path, named: Mapping[str, object]) -> dict[str, Path]:
    """The tables that are there, by name."""
    found: dict[str, Path] = {}
    for name in ("interactions", *PARTS, *_SIDE):
        given = named.get(name)
        path = find_table(folder, name) if given is None else folder / str(given)
        if given is not None and not folder.joinpath(str(given)).is_file():
            raise ConfigError(f"{path}: no such file to take as {name}; name a file of the folder")
        if path is not None:
            found[name] = path
    return found


def find_table(folder: Path, name: str) -> Path | None:
    """The file of a table, by its name or another usual one, in any case; two are an error."""
    entries = sorted(folder.iterdir())
    for stem in _USUAL.get(name, (name,)):
        wanted = {stem + ending for ending in ENDINGS}
        paths = [p for p in entries if stem_of(p).lower() in wanted]
        if len(paths) > 1:
            names = " and ".join(p.name for p in paths)
            raise DataError(f"{folder}: both {names} are there; remove one")
        if paths:
            return paths[0]
    return None


def read_tables(
    folder: Path,
    bins: Mapping[str, int] | None = None,
    lists: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    **named: str,
) -> Dataset:
    """The dataset of a folder with `interactions.csv`, `items.csv` and perhaps more.

    `interactions` holds `user,item[,rating][,timestamp][,part]`; `train`, `valid` and `test` may
    stand in its place. `items` holds `item,name` and attribute columns; `users` holds `user,name`
    and columns to look at groups by; `entities` and `relations` give names; `triples` holds
    `head,relation,tail`. Other usual names of files and columns are known.
    """
    paths = _files(folder, named)
    parts = {name: paths.pop(name) for name in PARTS if name in paths}
    if "interactions" in paths and parts:
        raise DataError(
            f"{folder}: both {paths['interactions'].name} and {next(iter(parts.values())).name} "
            "are there; remove one"
        )
    exact = (folder / MARK).is_file()
    if "interactions" in paths:
        whole = read_table(paths.pop("interactions"), delimiter, exact)
        pairs: list[tuple[Table, int | None]] = [(whole, None)]
    else:
        pairs = [(read_table(p, delimiter, exact), PARTS[name]) for name, p in parts.items()]
    if not pairs:
        raise DataError(f"{folder}: no interactions.csv; expected a table user,item[,rating]")
    tables = SourceTables(pairs, reading=Reading(bins or {}, lists or {}), columns=columns or {})
    for name, path in paths.items():
        setattr(tables, name, read_table(path, delimiter, exact))
    return build(folder.resolve().name, tables)


def read_table(path: Path, delimiter: str | None = None, exact: bool = False) -> Table:
    """One table, by the ending of its file; the separator is found by the header."""
    ending = Path(stem_of(path)).suffix.lower()
    if ending == ".parquet":
        return _read_parquet(path, exact)
    raw = read_bytes(path)
    sep = "\t" if ending == ".tsv" else ","
    if delimiter is not None:
        sep = _SEPARATORS.get(delimiter, delimiter)
        if len(sep) != 1 or not sep.isascii() or sep in '"\r\n':
            known = ", ".join(list(_SEPARATORS)[:3])
            raise ConfigError(f"delimiter must be one character, or {known}, got {delimiter!r}")
    elif not exact:
        sep = separator(raw, sep)
    return parse_delimited(path, raw, sep, exact=exact)


def _read_parquet(path: Path, exact: bool) -> Table:
    if path.is_dir():
        raise DataError(f"{path}: is a folder, expected a file; remove it or name another file")
    try:
        frame = pl.read_parquet(read_bytes(path))
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        what = one_line(error)
        raise DataError(f"{path}: not a readable Parquet file ({what}); write it again") from None
    return Table(str(path), frame, lambda row: f"{path}, row {row}", exact=exact)
