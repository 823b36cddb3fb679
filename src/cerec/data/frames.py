"""Data frames to a dataset: pandas, polars, or anything with named columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.data.assemble import Raw, assemble
from cerec.data.attributes import FactTable, read_planted
from cerec.data.columns import MISSING, Table, distinct, encode, numbers, times
from cerec.data.dataset import TEST, TRAIN, VALID, Dataset
from cerec.data.to_polars import to_polars
from cerec.data.values import SEPARATOR, Reading
from cerec.errors import ConfigError, DataError, near_matches

PARTS = {"train": TRAIN, "valid": VALID, "test": TEST}
USER, ITEM = ("user", "id", "person"), ("item", "id", "thing")
"""Roles of the id in the tables of users and of items."""
ROLES = ("user", "item", "name", "rating", "timestamp")
"""What `columns` may say of a header."""


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
    reading: Reading = field(default_factory=Reading)
    columns: Mapping[str, str] = field(default_factory=dict)
    """Role -> header."""

    @property
    def every(self) -> list[Table]:
        """All that are there."""
        side = (self.items, self.users, self.entities, self.relations, self.triples, self.planted)
        return [*(table for table, _ in self.interactions), *(t for t in side if t is not None)]


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
    lists: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    name: str = "frames",
) -> Dataset:
    """A dataset of pandas or polars frames, or of mappings from column to values.

    `interactions` has `user`, `item` and perhaps `rating`, `timestamp`, `part`; `items` has
    `item`, `name` and attribute columns. `users` has `user`, `name` and columns to look at groups
    of users by (`cerec audit --by`); nothing learns from them. `entities` and `relations` give
    names; `triples` has `head`, `relation`, `tail`.

    Usual other headers are known, others are named by `columns`, `{"user": "uid"}`. Several values
    stand in a cell as a list, or as `lists` says (`{"genre": "comma"}`). A column of numbers is put
    into ranges, as many as `bins` says; 0 leaves it as it is.
    """
    given = {
        "items": items,
        "users": users,
        "entities": entities,
        "relations": relations,
        "triples": triples,
        "planted": planted,
    }
    tables = Tables(
        [(_table("interactions", interactions), None)],
        reading=Reading(bins or {}, lists or {}),
        columns=columns or {},
    )
    for kind, frame in given.items():
        if frame is not None:
            setattr(tables, kind, _table(kind, frame))
    return build(name, tables)


def _table(label: str, source: Any) -> Table:
    return Table(label, to_polars(label, source), lambda row: f"{label}, row {row}")


def build(name: str, tables: Tables) -> Dataset:
    """The dataset of `tables`."""
    _check_columns(tables)
    notes = tables.reading.notes
    pairs = [_pairs(table, part, notes) for table, part in tables.interactions]
    user, item = pl.concat([p.user for p in pairs]), pl.concat([p.item for p in pairs])
    item_ids, item_names = _listed(tables.items, ITEM)
    user_ids, user_names = _listed(tables.users, USER)
    users, items = _union(user_ids, user), _union(item_ids, item)
    if tables.items is not None and len(items) > len(item_ids):
        strangers = len(items) - len(item_ids)
        notes.append(f"{strangers:,} items are not in {tables.items.label}: kept without facts")
    entity_ids, entity_names = _listed(tables.entities, ("entity",), notes)
    relation_ids, relation_names = _listed(tables.relations, ("relation",), notes)
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
        user_columns=_user_columns(tables, len(users)),
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


def _check_columns(tables: Tables) -> None:
    """Give every table the headers the caller named, and refuse what none of them has."""
    have = [c for table in tables.every for c in table.frame.columns]
    for role, header in tables.columns.items():
        if role not in ROLES:
            raise ConfigError(f"columns: no role {role!r}; it takes {', '.join(ROLES)}")
        if header not in have:
            close = near_matches(header, have) or have[:12]
            names = ", ".join(map(repr, close))
            raise DataError(f"columns: no table has {header!r} to take as {role}; there is {names}")
    for kind in ("items", "users", "entities", "relations", "triples", "planted"):
        table = getattr(tables, kind)
        if table is not None:
            setattr(tables, kind, replace(table, roles=tables.columns))
    tables.interactions = [(replace(t, roles=tables.columns), p) for t, p in tables.interactions]
    described = [t for t in (tables.items, tables.users) if t is not None]
    tables.reading.check([c for t in described for c in t.frame.columns])


def _add_facts(facts: FactTable, tables: Tables, items: list[str]) -> None:
    if tables.items is not None:
        ids, name = tables.items.ids(*ITEM), tables.items.column("name")
        skip = [ids.name] if name is None else [ids.name, name.name]
        facts.add_attributes(tables.items, encode(ids, items), skip, tables.reading)
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
    rating, time, own = (table.column(role) for role in ("rating", "timestamp", "part"))
    user, item = table.ids("user", "person"), table.ids("item", "thing")
    used = {user.name, item.name, *(c.name for c in (rating, time, own) if c is not None)}
    _note_unused(table, used, notes)
    seconds, unit = (None, "") if time is None else times(table, time)
    if not table.exact:
        read = [] if rating is None else [f"{rating.name!r} is how much an interaction weighs"]
        read += [] if time is None else [f"{time.name!r} when it was ({unit})"]
        notes += [f"{table.short}: {', '.join(read)}"] if read else []
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
        seconds,
        codes,
        table.label,
    )


def _note_unused(table: Table, used: Collection[str], notes: list[str]) -> None:
    unused = [c for c in table.frame.columns if c not in used]
    if unused:
        notes.append(f"{table.short}: columns not used: {', '.join(unused)}")


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
    table: Table | None, roles: tuple[str, ...], notes: list[str] | None = None
) -> tuple[list[str], dict[str, str]]:
    """The ids of a table in its order, and the names it gives them; `notes` what else it has."""
    if table is None:
        return [], {}
    ids = table.ids(*roles)
    distinct(table, ids)
    name = table.column("name")
    texts = ids.to_list()
    if notes is not None:
        used = [ids.name] if name is None else [ids.name, name.name]
        _note_unused(table, used, notes)
    if name is None:
        return texts, {}
    blank = () if table.exact else ("", *MISSING)
    names = zip(texts, table.text(name).to_list(), strict=True)
    return texts, {i: n for i, n in names if n and n.strip().lower() not in blank}


def _user_columns(tables: Tables, n_users: int) -> dict[str, list[str]]:
    """What else the users' table says, a text for each user; those it does not list come last."""
    table = tables.users
    if table is None:
        return {}
    used = {c.name for c in (table.column(*USER), table.column("name")) if c is not None}
    out = {}
    for column in table.frame.columns:
        if column in used:
            continue
        values = table.frame[column]
        if table.exact and column not in tables.reading.bins:
            if values.dtype == pl.List(pl.String):
                values = values.list.join(SEPARATOR)
            texts = table.text(values).fill_null("").to_list()
        else:
            texts = [""] * len(table.frame)
            for row, value in zip(*tables.reading.cells(table, values), strict=True):
                texts[row] += f"{SEPARATOR}{value}" if texts[row] else value
        out[column] = [*texts, *([""] * (n_users - len(texts)))]
    return out


def _union(first: list[str], second: pl.Series) -> list[str]:
    known = set(first)
    return [*first, *(i for i in second.unique().to_list() if i not in known)]
