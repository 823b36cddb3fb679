"""From tables as a reader found them to a `Dataset` in its one order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset, Interactions, Planted, Triples
from cerec.data.ids import IdTable, sort_ids
from cerec.data.names import INVERSE, relation_names
from cerec.data.ragged import distinct
from cerec.errors import DataError


def _nothing() -> NDArray[np.int32]:
    return np.zeros(0, np.int32)


@dataclass(slots=True)
class Raw:
    """Tables as found: numbers count into lists of distinct ids that stand in any order.

    Nodes of triples below `len(items)` are items, the others count into `entities`.
    """

    name: str
    users: Sequence[str]
    items: Sequence[str]
    user: NDArray[np.integer]
    item: NDArray[np.integer]
    entities: Sequence[str] = ()
    relations: Sequence[str] = ()
    head: NDArray[np.integer] = field(default_factory=_nothing)
    relation: NDArray[np.integer] = field(default_factory=_nothing)
    tail: NDArray[np.integer] = field(default_factory=_nothing)
    rating: NDArray[np.float32] | None = None
    time: NDArray[np.float64] | None = None
    part: NDArray[np.int8] | None = None
    planted: Planted | None = None
    user_columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Column -> a text for each of `users`."""
    names: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Kind ("users", "items", ...) -> id -> name."""
    notes: list[str] = field(default_factory=list)
    source: str = ""
    """The folder or file to name in errors, when it is not `name`."""


def assemble(raw: Raw) -> Dataset:
    """The dataset of `raw`, which has interactions, in the order of `in_order`."""
    if len(raw.user) == 0:
        where = raw.source or raw.name
        raise DataError(f"{where}: no interactions; expected at least one user-item pair")
    return in_order(raw)


def in_order(raw: Raw) -> Dataset:
    """The dataset of `raw`: rows in the order of ids, items as heads, no repeated triples."""
    entity_ids, entity_names = _apart(raw.entities, raw.items, raw.names.get("entities", {}))
    users, user_row = _table("user", raw.users, raw.names.get("users", {}))
    items, item_row = _table("item", raw.items, raw.names.get("items", {}))
    entities, entity_row = _table("entity", entity_ids, entity_names)
    node_row = np.concatenate([item_row, entity_row + np.int32(len(items))])
    turned = _turn(raw)
    relations, relation_row = _table("relation", turned.ids, turned.names)
    triples = sorted_triples(
        node_row[turned.head], relation_row[turned.relation], node_row[turned.tail],
        len(node_row), len(relations),
    )  # fmt: skip
    if len(triples) < len(raw.head):
        raw.notes.append(f"{len(raw.head) - len(triples):,} repeated triples left out")
    return Dataset(
        name=raw.name,
        users=users,
        items=items,
        entities=entities,
        relations=relations,
        interactions=_interactions(raw, user_row, item_row, len(items)),
        triples=triples,
        planted=_planted(raw.planted, user_row, relation_row[turned.row_of], entity_row),
        user_columns=_user_columns(raw, user_row),
        notes=tuple(raw.notes),
    )


def _user_columns(raw: Raw, user_row: NDArray[np.int32]) -> dict[str, NDArray[np.str_]]:
    order = np.argsort(user_row)
    return {c: np.array(texts, dtype=np.str_)[order] for c, texts in raw.user_columns.items()}


def _apart(
    entities: Sequence[str], items: Collection[str], names: Mapping[str, str]
) -> tuple[Sequence[str], Mapping[str, str]]:
    """Entity ids and names, ids that are also an item's moved out of the way."""
    clash = set(entities) & set(items)
    if not clash:
        return entities, names
    taken = (set(entities) - clash) | set(items)
    moved: dict[str, str] = {}
    for i in sorted(clash):
        free = f"entity:{i}"
        while free in taken:
            free = f"entity:{free}"
        moved[i] = free
        taken.add(free)
    renamed = {moved.get(i, i): name for i, name in names.items()}
    for i, free in moved.items():
        renamed.setdefault(free, i)
    return [moved.get(i, i) for i in entities], renamed


def _table(
    kind: str, ids: Sequence[str], names: Mapping[str, str]
) -> tuple[IdTable, NDArray[np.int32]]:
    """The table of `ids`, and the row of each of them."""
    if "" in ids:
        raise DataError(f"an empty {kind} id; give every {kind} an id")
    table = IdTable(kind, sort_ids(ids), names)
    if len(table) != len(ids):
        raise DataError(f"{kind} ids are not distinct; expected every id once")
    if table.ids == tuple(ids):
        return table, np.arange(len(ids), dtype=np.int32)
    return table, np.fromiter(map(table.rows.__getitem__, ids), np.int32, len(ids))


@dataclass(slots=True)
class _Turned:
    ids: list[str]
    names: dict[str, str]
    row_of: NDArray[np.int64]
    """Number of a relation as found -> its number in `ids`, or that of its inverse."""
    head: NDArray[np.integer]
    relation: NDArray[np.integer]
    tail: NDArray[np.integer]


def _turn(raw: Raw) -> _Turned:
    """Triples with an entity head and an item tail read backwards, under a relation of their own.

    A relation of which every triple was turned is replaced by its inverse.
    """
    ids = list(raw.relations)
    n_items = len(raw.items)
    back = (raw.head >= n_items) & (raw.tail < n_items)
    relation = np.asarray(raw.relation, np.int64).copy()
    inverse_of = np.arange(len(ids))
    turned = np.flatnonzero(np.bincount(relation[back], minlength=1)).tolist()
    for r in turned:
        inverse = ids[r] + INVERSE
        if inverse not in ids:
            ids.append(inverse)
        inverse_of[r] = ids.index(inverse)
        relation[back & (raw.relation == r)] = inverse_of[r]
    used = np.bincount(relation, minlength=len(ids)) > 0
    gone = {r for r in turned if not used[r]}
    keep = [r for r in range(len(ids)) if r not in gone]
    new = np.zeros(max(len(ids), 1), np.int64)
    new[keep] = np.arange(len(keep))
    row_of = np.array([new[inverse_of[r] if r in gone else r] for r in range(len(raw.relations))])
    head, tail = np.where(back, raw.tail, raw.head), np.where(back, raw.head, raw.tail)
    kept = [ids[r] for r in keep]
    names = relation_names(kept, raw.names.get("relations", {}))
    return _Turned(kept, names, row_of.astype(np.int64), head, new[relation], tail)


def sorted_triples(
    head: NDArray[np.integer], relation: NDArray[np.integer], tail: NDArray[np.integer],
    n_nodes: int, n_relations: int,
) -> Triples:  # fmt: skip
    """Facts in their order, each once."""
    if n_nodes * n_nodes * max(n_relations, 1) >= 2**63:
        order = np.lexsort((tail, relation, head))
        rows = np.stack([head, relation, tail])[:, order]
        fresh = np.ones(rows.shape[1], bool)
        fresh[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
        head, relation, tail = rows[:, fresh]
    else:
        key = distinct((head.astype(np.int64) * n_relations + relation) * n_nodes + tail)
        pair, tail = np.divmod(key, max(n_nodes, 1))
        head, relation = np.divmod(pair, max(n_relations, 1))
    return Triples(head.astype(np.int32), relation.astype(np.int32), tail.astype(np.int32))


def _interactions(
    raw: Raw, user_row: NDArray[np.int32], item_row: NDArray[np.int32], n_items: int
) -> Interactions:
    """The interactions in the order of (user, item, time, rating, part)."""
    key = user_row[raw.user].astype(np.int64) * n_items + item_row[raw.item]
    rating, time, part = raw.rating, raw.time, raw.part
    if rating is None and time is None:  # a sort of numbers, much faster than one of positions
        key, codes = np.divmod(np.sort(key * 4 + (0 if part is None else part)), 4)
        part = None if part is None else codes.astype(np.int8)
    else:
        ties: list[NDArray[Any]] = [t for t in (time, rating, part) if t is not None]
        order = _with_ties(np.argsort(key), key, ties)
        key = key[order]
        rating = None if rating is None else rating[order]
        time = None if time is None else time[order]
        part = None if part is None else part[order]
    user, item = np.divmod(key, n_items)
    return Interactions(user.astype(np.int32), item.astype(np.int32), rating, time, part)


def _with_ties(
    order: NDArray[np.int64], key: NDArray[np.int64], ties: list[NDArray[Any]]
) -> NDArray[np.int64]:
    """`order`, which is by `key`, with equal keys by each of `ties`; only they pay for it."""
    ranked = key[order]
    same = np.zeros(len(key), bool)
    same[1:] = ranked[1:] == ranked[:-1]
    same[:-1] |= same[1:]
    if same.any():
        rows = order[same]
        order[same] = rows[np.lexsort([*(t[rows] for t in reversed(ties)), key[rows]])]
    return order


def _planted(
    planted: Planted | None,
    user_row: NDArray[np.int32], relation_row: NDArray[np.int32], entity_row: NDArray[np.int32],
) -> Planted | None:  # fmt: skip
    if planted is None:
        return None
    user, relation = user_row[planted.user], relation_row[planted.relation]
    attribute = entity_row[planted.attribute]
    order = np.lexsort((planted.sign, attribute, relation, user))
    return Planted(user[order], relation[order], attribute[order], planted.sign[order])
