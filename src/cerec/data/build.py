"""Tables of any origin to a dataset."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.data.assemble import Raw, assemble
from cerec.data.columns import MISSING, Table, distinct, encode, numbers, times
from cerec.data.dataset import TEST, TRAIN, VALID, Dataset, Planted
from cerec.data.values import SEPARATOR, Reading
from cerec.errors import ConfigError, DataError, near_matches

PARTS = {"train": TRAIN, "valid": VALID, "test": TEST}
USER, ITEM = ("user", "id", "person"), ("item", "id", "thing")
"""Roles of the id in the tables of users and of items."""
ROLES = ("user", "item", "name", "rating", "timestamp")
"""What `columns` may say of a header."""


@dataclass(slots=True)
class SourceTables:
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


def build(name: str, tables: SourceTables) -> Dataset:
    """The dataset of `tables`."""
    _check_columns(tables)
    notes = tables.reading.notes
    pairs = _together([(t.label, _pairs(t, part, notes)) for t, part in tables.interactions])
    item_ids, item_names = _listed(tables.items, ITEM)
    user_ids, user_names = _listed(tables.users, USER)
    users, items = _union(user_ids, pairs["user"]), _union(item_ids, pairs["item"])
    if tables.items is not None and len(items) > len(item_ids):
        strangers = len(items) - len(item_ids)
        notes.append(f"{strangers:,} items are not in {tables.items.label}: kept without facts")
    listed, entity_names = _listed(tables.entities, ("entity",), notes)
    relation_ids, relation_names = _listed(tables.relations, ("relation",), notes)
    facts = _facts(tables, items, listed)
    ends = pl.concat([facts["head"], facts["tail"]])
    nodes = [f"i{i}" for i in items] + [f"e{i}" for i in listed]
    entities = [node[1:] for node in _union(nodes, ends)[len(items) :]]
    relations = _union(relation_ids, facts["relation"])
    head, tail = np.split(encode(ends, [*nodes[: len(items)], *(f"e{i}" for i in entities)]), 2)
    bare = facts.filter(pl.col("value").is_not_null() & ~pl.col("tail").str.slice(1).is_in(listed))
    called = bare.group_by("tail").agg(pl.col("value").min())  # two columns can make the same id
    own = zip(called["tail"].str.slice(1).to_list(), called["value"].to_list(), strict=True)
    raw = Raw(
        name=name,
        users=users,
        items=items,
        entities=entities,
        relations=relations,
        user=encode(pairs["user"], users),
        item=encode(pairs["item"], items),
        head=head,
        relation=encode(facts["relation"], relations),
        tail=tail,
        rating=_column(pairs, "rating"),
        time=_column(pairs, "time"),
        part=_column(pairs, "part"),
        user_columns=_user_columns(tables, len(users)),
        names={
            "users": user_names,
            "items": item_names,
            "entities": {**entity_names, **dict(own)},
            "relations": relation_names,
        },
        notes=notes,
        source=tables.interactions[0][0].label,
    )
    if tables.planted is not None:
        raw.planted = _planted(tables.planted, users, raw.relations, raw.entities)
    return assemble(raw)


def _column(pairs: pl.DataFrame, name: str) -> Any:
    return pairs[name].to_numpy() if name in pairs.columns else None


def _facts(tables: SourceTables, items: list[str], listed: list[str]) -> pl.DataFrame:
    """`head`, `relation` and `tail` of every fact; the id of an item after an "i", of an entity
    after an "e". The value `Drama` of column `genre` is the entity `genre:Drama` called "Drama"
    (its `value`), unless `Drama` is a listed entity.
    """
    frames = [pl.DataFrame(schema=dict.fromkeys(("head", "relation", "tail", "value"), pl.String))]
    value = pl.col("value")
    if (table := tables.items) is not None:
        ids, name = table.ids(*ITEM), table.column("name")
        for column in table.frame.columns:
            if column in (ids.name, None if name is None else name.name):
                continue
            row, values = tables.reading.cells(table, table.frame[column])
            own = pl.concat_str(pl.lit(f"e{column}:"), value)
            frames.append(
                pl.DataFrame({"head": ids.gather(row), "value": values}).select(
                    pl.concat_str(pl.lit("i"), "head").alias("head"),
                    pl.lit(column).alias("relation"),
                    pl.when(value.is_in(listed)).then(pl.concat_str(pl.lit("e"), value))
                    .otherwise(own).alias("tail"),
                    pl.when(~value.is_in(listed)).then(value),
                )
            )  # fmt: skip
    if (table := tables.triples) is not None:
        ends = {c: table.ids(c) for c in ("head", "relation", "tail")}
        nodes = [
            pl.concat_str(
                pl.when(pl.col(c).is_in(items)).then(pl.lit("i")).otherwise(pl.lit("e")), c
            )
            for c in ("head", "tail")
        ]
        kinds = pl.DataFrame([ids.alias(c) for c, ids in ends.items()]).with_columns(
            nodes[0].alias("head"), nodes[1].alias("tail")
        )
        frames.append(kinds.with_columns(pl.lit(None, pl.String).alias("value")))
    return pl.concat(frames)


def _check_columns(tables: SourceTables) -> None:
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


def _pairs(table: Table, part: int | None, notes: list[str]) -> pl.DataFrame:
    """The interactions of one table: `user`, `item`, and `rating`, `time`, `part` where told."""
    rating, time, own = (table.column(role) for role in ("rating", "timestamp", "part"))
    user, item = table.ids("user", "person"), table.ids("item", "thing")
    used = {user.name, item.name, *(c.name for c in (rating, time, own) if c is not None)}
    _note_unused(table, used, notes)
    said, out = [], [user.alias("user"), item.alias("item")]
    if rating is not None:
        out.append(pl.Series("rating", numbers(table, rating, np.float32)))
        said.append(f"{rating.name!r} is how much an interaction weighs")
    if time is not None:
        seconds, unit = times(table, time)
        out.append(pl.Series("time", seconds))
        said.append(f"{time.name!r} when it was ({unit})")
    if said and not table.exact:
        notes.append(f"{table.short}: {', '.join(said)}")
    if part is not None:
        out.append(pl.Series("part", np.full(len(user), part, np.int8)))
    elif own is not None:
        text = table.text(own)
        known = text.is_in(list(PARTS)).fill_null(False)
        table.refuse(~known, own, "train, valid or test as part", "mend the value")
        out.append(text.replace_strict(PARTS, return_dtype=pl.Int8).alias("part"))
    return pl.DataFrame(out)


def _together(parts: Sequence[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """One frame of several, which have the same columns."""
    (first, one), *others = parts
    for label, other in others:
        for column in {*one.columns} ^ {*other.columns}:
            without, having = (first, label) if column in other.columns else (label, first)
            raise DataError(
                f"{without}: no column {column!r}, but {having} has it; add or remove it"
            )
    return pl.concat([part for _, part in parts])


def _note_unused(table: Table, used: Collection[str], notes: list[str]) -> None:
    unused = [c for c in table.frame.columns if c not in used]
    if unused:
        notes.append(f"{table.short}: columns not used: {', '.join(unused)}")


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


def _user_columns(tables: SourceTables, n_users: int) -> dict[str, list[str]]:
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


def _planted(
    table: Table, users: Sequence[str], relations: Sequence[str], entities: Sequence[str]
) -> Planted:
    """The likes and dislikes of a `user,relation,attribute,sign` table."""
    sign = table.column("sign")
    if sign is None:
        raise DataError(f"{table.label}: no column 'sign'; expected 1 (like) or -1 (dislike)")
    value = table.numbers(sign).cast(pl.Int8, strict=False)
    table.refuse(~value.is_in([-1, 1]).fill_null(False), sign, "1 or -1 as sign", "mend it")
    return Planted(
        user=_known(table, "user", users),
        relation=_known(table, "relation", relations),
        attribute=_known(table, "attribute", entities),
        sign=value.to_numpy(),
    )


def _known(table: Table, column: str, known: Sequence[str]) -> NDArray[np.int32]:
    """Positions in `known` of a column of ids."""
    ids = table.ids(column)
    if not len(ids):
        return np.zeros(0, np.int32)
    position = {i: n for n, i in enumerate(known)}
    row = ids.replace_strict(position, default=-1, return_dtype=pl.Int32)
    table.refuse(row < 0, ids, f"a known {column}", "remove the row or add it to the data")
    return row.to_numpy()
