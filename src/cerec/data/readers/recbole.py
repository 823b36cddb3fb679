"""RecBole atomic files: `NAME.inter`, `.item`, `.user`, `.link`, `.kg` with typed headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from cerec.data.build import PARTS, SourceTables, build
from cerec.data.columns import Table
from cerec.data.dataset import Dataset
from cerec.data.readers.delimited import parse_delimited
from cerec.data.text import PACKED, read_bytes, stem_of
from cerec.data.values import Reading
from cerec.errors import DataError

OPTIONS = ("bins", "columns")
_TYPES = ("token", "token_seq", "float", "float_seq")


def looks_like(folder: Path) -> bool:
    """True for a folder with a `.inter` file."""
    return bool(_with_ending(folder, "inter"))


def files(folder: Path, **_: object) -> list[Path]:
    """The files to read."""
    inter, side = _files(folder)
    return [*inter.values(), *side.values()]


def _with_ending(folder: Path, kind: str) -> list[Path]:
    endings = [f".{kind}{packed}" for packed in ("", *PACKED)]
    return sorted(p for ending in endings for p in folder.glob(f"*{ending}"))


def _files(folder: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Interaction files by part ("" for a whole one), and the others by ending."""
    inter = {_part(path): path for path in _with_ending(folder, "inter")}
    if not inter:
        raise DataError(f"{folder}: no .inter file; expected NAME.inter")
    if len(inter) < len(_with_ending(folder, "inter")) or ("" in inter and len(inter) > 1):
        names = ", ".join(p.name for p in _with_ending(folder, "inter"))
        raise DataError(f"{folder}: several .inter files ({names}); keep one data set a folder")
    side = {}
    for kind in ("user", "item", "link", "kg"):
        found = _with_ending(folder, kind)
        if len(found) > 1:
            names = ", ".join(p.name for p in found)
            raise DataError(f"{folder}: several .{kind} files ({names}); keep one")
        if found:
            side[kind] = found[0]
    return inter, side


def _part(path: Path) -> str:
    """The part in `NAME.train.inter`; empty for `NAME.inter`."""
    middle = stem_of(path).removesuffix(".inter").rpartition(".")[2]
    return middle if middle in PARTS else ""


def read_recbole(
    folder: Path, bins: Mapping[str, int] | None = None, columns: Mapping[str, str] | None = None
) -> Dataset:
    """The dataset of a folder of atomic files.

    Token columns of `.item` become attributes, float columns ranges (`bins` says how many). The
    facts of `.kg` belong to the items that `.link` names; without it, to items of the same id.
    """
    inter, side = _files(folder)
    read = {kind: _Atomic(path) for kind, path in side.items()}
    notes: list[str] = []
    floats = [c for kind in ("item", "user") if kind in read for c in read[kind].floats]
    reading = Reading(bins or {}, floats=floats, notes=notes)
    pairs = [(_Atomic(path).table(), PARTS.get(part)) for part, path in inter.items()]
    tables = SourceTables(interactions=pairs, reading=reading, columns=columns or {})
    if "user" in read:
        tables.users = read["user"].attributes(reading)
    if "item" in read:
        tables.items = read["item"].attributes(reading)
    if "kg" in read:
        link = read["link"].table() if "link" in read else None
        tables.triples = _linked(read["kg"].table(), link, _items(tables), notes)
    return build(folder.resolve().name, tables)


class _Atomic:
    """A table whose header gives a type to every column."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.raw = parse_delimited(path, read_bytes(path), "\t", quotes=False)
        self.types: dict[str, str] = {}
        for column in self.raw.frame.columns:
            name, _, kind = column.rpartition(":")
            if kind not in _TYPES or not name or name in self.types:
                raise DataError(
                    f"{path}:1: expected columns like 'item_id:token', got {column!r}; "
                    f"types are {', '.join(_TYPES)}, names distinct"
                )
            self.types[name] = kind

    @property
    def floats(self) -> list[str]:
        """Columns of one number a row."""
        return [name for name, kind in self.types.items() if kind == "float"]

    def table(self) -> Table:
        """The columns under their bare names."""
        frame = self.raw.frame.rename(dict(zip(self.raw.frame.columns, self.types, strict=True)))
        return replace(self.raw, frame=frame, exact=True)

    def attributes(self, reading: Reading) -> Table:
        """The table with token sequences as lists, and no sequences of numbers."""
        table = self.table()
        frame = table.frame
        identifier, *others = frame.columns
        title = table.column("name")
        unused = [c for c in others if self.types[c] == "float_seq"]
        if unused:
            reading.notes.append(f"{self.path.name}: sequences of numbers not used: {unused}")
        frame = frame.drop(unused)
        for column in frame.columns:
            named = column in (identifier, None if title is None else title.name)
            if named or column in reading.bins or column in reading.floats:
                continue
            several = self.types[column] == "token_seq"
            values = pl.col(column).str.split(" ") if several else pl.concat_list(column)
            frame = frame.with_columns(values)
        return replace(table, frame=frame)


def _items(tables: SourceTables) -> set[str]:
    """Every item id there is."""
    columns = [t.ids("item") for t, _ in tables.interactions]
    if tables.items is not None:
        columns.append(tables.items.ids("item"))
    return {i for column in columns for i in column.unique().to_list()}


def _linked(kg: Table, link: Table | None, items: set[str], notes: list[str]) -> Table:
    """Triples in which a linked entity is replaced by its items."""
    head, relation, tail = (kg.ids(c) for c in ("headid", "relation", "tailid"))
    frame = pl.DataFrame({"head": head, "relation": relation, "tail": tail})
    if link is not None:
        item, entity = link.ids("item"), link.ids("entity")
        known = item.is_in(items)
        if not known.all():
            notes.append(f"{link.label}: {(~known).sum():,} links of unknown items not used")
        pairs = pl.DataFrame({"item": item, "entity": entity}).filter(known).unique()
        moved = _moved({*head.to_list(), *tail.to_list()}, set(pairs["entity"]), items)
        frame = _replaced(_replaced(frame, "head", pairs, moved), "tail", pairs, moved)
    nodes = pl.concat([frame["head"], frame["tail"]]).unique()
    entities = (~nodes.is_in(items)).sum()
    notes.append(
        f"{kg.short}: {len(head):,} triples, {relation.n_unique()} relations, "
        f"{entities:,} entities that are not items"
    )
    return Table(kg.label, frame, kg.place)


def _moved(nodes: set[str], linked: set[str], items: set[str]) -> dict[str, str]:
    """New ids for entities that are no item but have the id of one."""
    moved = {}
    for i in sorted((nodes - linked) & items):
        free = f"entity:{i}"
        while free in nodes or free in items:
            free = f"entity:{free}"
        moved[i] = free
    return moved


def _replaced(
    frame: pl.DataFrame, column: str, pairs: pl.DataFrame, moved: dict[str, str]
) -> pl.DataFrame:
    """`column` with items in place of linked entities, and other ids out of their way."""
    joined = frame.join(pairs, left_on=column, right_on="entity", how="left")
    own = pl.col(column).replace(moved) if moved else pl.col(column)
    return joined.with_columns(pl.coalesce("item", own).alias(column)).drop("item")
