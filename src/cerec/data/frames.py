"""Data frames to a dataset: pandas, polars, or anything with named columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.data.assemble import Raw, assemble
from cerec.data.attributes import FactTable, read_planted
from cerec.data.columns import SEPARATOR, Table, distinct, encode, numbers, times
from cerec.data.dataset import TEST, TRAIN, VALID, Dataset
from cerec.data.text import one_line
from cerec.errors import DataError

PARTS = {"train": TRAIN, "valid": VALID, "test": TEST}
USER, ITEM = ("user", "user_id", "userId"), ("item", "item_id", "itemId")
ENTITY, RELATION = ("entity", "entity_id"), ("relation", "relation_id")
NAME, TIME = ("name", "title"), ("timestamp", "time")


@dataclass(slots=True)
class Tables:
    """The tables of one dataset; `interactions` may come in parts."""

    interactions: list[tuple[Table, int | None]]
    items: Table | None = None
    users: Table | None = None
    entities: Table | None = None
    relations: Table | None = None
    triples: Table | None = None
    planted: Table | None = None
    bins: Mapping[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def from_frames(
    interactions: Any,
    items: Any = None,
    *,
    users: Any = None,
    entities: Any = None,
    relations: Any = None,
    triples: Any = None,
    planted: Any = None,
    bins: Mapping[str, int] | None = None,
    name: str = "frames",
) -> Dataset:
    """A dataset of pandas or polars frames, or of mappings from column to values.

    `interactions` has `user`, `item` and perhaps `rating`, `timestamp`, `part`; `items` has
    `item`, `name` and attribute columns, several values separated by `|` or as lists. `users` has
    `user`, `name` and columns to look at groups of users by (`cerec audit --by`); nothing learns
    from them. `entities` and `relations` give names; `triples` has `head`, `relation`, `tail`.
    `bins` asks for quantile bins of numeric attribute columns.
    """
    given = {
        "items": items,
        "users": users,
        "entities": entities,
        "relations": relations,
        "triples": triples,
        "planted": planted,
    }
    tables = Tables([(_table("interactions", interactions), None)], bins=bins or {})
    for kind, frame in given.items():
        if frame is not None:
            setattr(tables, kind, _table(kind, frame))
    return build(name, tables)


def _table(label: str, source: Any) -> Table:
    return Table(label, to_polars(label, source), lambda row: f"{label}, row {row}")


def to_polars(label: str, source: Any) -> pl.DataFrame:
    """`source` as a polars frame; columns of a pandas frame are taken one by one."""
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if isinstance(source, pl.DataFrame):
        return source
    try:
        names: Iterable[Any] = source.columns if hasattr(source, "columns") else source.keys()
        return pl.DataFrame([_series(str(n), source[n]) for n in names])
    except (AttributeError, TypeError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{label}: expected a frame or a mapping of columns, got {type(source).__name__} "
            f"({one_line(error)}); pass a pandas or polars frame"
        ) from None


def _series(name: str, column: Any) -> pl.Series:
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufbM":
        if values.dtype.kind == "M":
            values = values.astype("datetime64[us]")
        return pl.Series(name, values, nan_to_null=True)
    plain = [None if _missing(v) else v for v in values]
    kinds = {type(v) for v in plain if v is not None}
    if kinds & {list, tuple, set, np.ndarray}:
        lists = [v if v is None or isinstance(v, Iterable) else [v] for v in plain]
        texts = [None if v is None else [str(x) for x in _several(v)] for v in lists]
        return pl.Series(name, texts, dtype=pl.List(pl.String))
    if any(hasattr(k, "timestamp") for k in kinds):
        return pl.Series(name, [None if v is None else v.timestamp() for v in plain])
    if len(kinds) <= 1 and not kinds - {int, float, bool}:
        return pl.Series(name, plain)
    return pl.Series(name, [None if v is None else str(v) for v in plain], dtype=pl.String)


def _several(value: Any) -> Iterable[Any]:
    if isinstance(value, str):
        return value.split("|")
    return sorted(value, key=str) if isinstance(value, set) else value


def _missing(value: Any) -> bool:
    """True for None, nan, and pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def build(name: str, tables: Tables) -> Dataset:
    """The dataset of `tables`."""
    notes = tables.notes
    pairs = [_pairs(table, part, notes) for table, part in tables.interactions]
    user, item = pl.concat([p.user for p in pairs]), pl.concat([p.item for p in pairs])
    item_ids, item_names = _listed(tables.items, ITEM)
    user_ids, user_names = _listed(tables.users, USER)
    users, items = _union(user_ids, user), _union(item_ids, item)
    if tables.items is not None and len(items) > len(item_ids):
        strangers = len(items) - len(item_ids)
        notes.append(f"{strangers:,} items are not in {tables.items.label}: kept without facts")
    entity_ids, entity_names = _listed(tables.entities, ENTITY, notes)
    relation_ids, relation_names = _listed(tables.relations, RELATION, notes)
    facts = FactTable(items, entity_ids, entity_names, relation_ids)
    _add_facts(facts, tables, items)
    head, relation, tail = facts.columns
    raw = Raw(
        name=name,
        users=users,
        items=items,
        entities=list(facts.entities),
        relations=list(facts.relations),
        user=encode(user, users),
        item=encode(item, items),
        head=head,
        relation=relation,
        tail=tail,
        rating=_optional(pairs, "rating"),
        time=_optional(pairs, "time"),
        user_columns=_user_columns(tables.users, len(users)),
        part=_optional(pairs, "part"),
        names={
            "users": user_names,
            "items": item_names,
            "entities": facts.names,
            "relations": relation_names,
        },
        notes=notes,
        source=tables.interactions[0][0].label,
    )
    if tables.planted is not None:
        raw.planted = read_planted(tables.planted, users, raw.relations, raw.entities)
    return assemble(raw)


def _add_facts(facts: FactTable, tables: Tables, items: list[str]) -> None:
    if tables.items is not None:
        ids, name = tables.items.ids(*ITEM), tables.items.column(*NAME)
        skip = [ids.name] if name is None else [ids.name, name.name]
        facts.add_attributes(tables.items, encode(ids, items), skip, tables.bins)
    elif tables.bins:
        raise DataError(f"bins of {sorted(tables.bins)} asked for, but there is no items table")
    if tables.triples is not None:
        ends = tables.triples
        facts.add_triples(ends.ids("head"), ends.ids("relation"), ends.ids("tail"))


@dataclass(slots=True)
class _Pairs:
    user: pl.Series
    item: pl.Series
    rating: NDArray[np.float32] | None
    time: NDArray[np.float64] | None
    part: NDArray[np.int8] | None
    label: str


def _pairs(table: Table, part: int | None, notes: list[str]) -> _Pairs:
    """The interactions of one table."""
    rating, time, own = table.column("rating"), table.column(*TIME), table.column("part")
    user, item = table.ids(*USER), table.ids(*ITEM)
    used = {user.name, item.name, *(c.name for c in (rating, time, own) if c is not None)}
    _note_unused(table, used, notes)
    codes = None if part is None else np.full(len(user), part, np.int8)
    if part is None and own is not None:
        text = table.text(own)
        known = text.is_in(list(PARTS)).fill_null(False)
        table.refuse(~known, own, "train, valid or test as part", "mend the value")
        codes = text.replace_strict(PARTS, return_dtype=pl.Int8).to_numpy()
    return _Pairs(
        user.alias("user"),
        item.alias("item"),
        None if rating is None else numbers(table, rating, np.float32),
        None if time is None else times(table, time),
        codes,
        table.label,
    )


def _note_unused(table: Table, used: Collection[str], notes: list[str]) -> None:
    unused = [c for c in table.frame.columns if c not in used]
    if unused:
        notes.append(f"{Path(table.label).name}: columns not used: {', '.join(unused)}")


def _optional(pairs: Sequence[_Pairs], column: str) -> Any:
    """A column that every table has, or none."""
    have = [getattr(p, column) is not None for p in pairs]
    if not any(have):
        return None
    if not all(have):
        with_it, without = pairs[have.index(True)].label, pairs[have.index(False)].label
        raise DataError(f"{without}: no column {column!r}, but {with_it} has it; add or remove it")
    return np.concatenate([getattr(p, column) for p in pairs])


def _listed(
    table: Table | None, column: tuple[str, ...], notes: list[str] | None = None
) -> tuple[list[str], dict[str, str]]:
    """The ids of a table in its order, and the names it gives them; `notes` what else it has."""
    if table is None:
        return [], {}
    ids = table.ids(*column)
    distinct(table, ids)
    name = table.column(*NAME)
    texts = ids.to_list()
    if notes is not None:
        used = [ids.name] if name is None else [ids.name, name.name]
        _note_unused(table, used, notes)
    if name is None:
        return texts, {}
    return texts, {i: n for i, n in zip(texts, table.text(name).to_list(), strict=True) if n}


def _user_columns(table: Table | None, n_users: int) -> dict[str, list[str]]:
    """What else the users' table says, a text for each user; those it does not list come last."""
    if table is None:
        return {}
    used = {c.name for c in (table.column(*USER), table.column(*NAME)) if c is not None}
    out = {}
    for column in table.frame.columns:
        if column in used:
            continue
        values = table.frame[column]
        if values.dtype == pl.List(pl.String):
            values = values.list.join(SEPARATOR)
        texts = table.text(values).fill_null("").to_list()
        out[column] = [*texts, *([""] * (n_users - len(texts)))]
    return out


def _union(first: list[str], second: pl.Series) -> list[str]:
    known = set(first)
    return [*first, *(i for i in second.unique().to_list() if i not in known)]
