"""A smaller Dataset from masks, with every row number mended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset, Interactions, Planted, Triples
from cerec.data.ids import IdTable, sort_ids

Mask = NDArray[np.bool_]


def restrict(
    data: Dataset,
    *,
    users: Mask | None = None,
    items: Mask | None = None,
    entities: Mask | None = None,
    relations: Mask | None = None,
    interactions: Mask | None = None,
    triples: Mask | None = None,
) -> Dataset:
    """The part of `data` that the masks keep (None: all).

    Interactions and facts of a user, item, entity or relation that goes, go with it.
    """
    user_table, user_row = _keep(data.users, users)
    item_table, item_row = _keep(data.items, items)
    entity_table, entity_row = _keep(data.entities, entities)
    relation_table, relation_row = _keep(data.relations, relations)
    entity_node = np.where(entity_row < 0, -1, entity_row + len(item_table))
    node_row = np.concatenate([item_row, entity_node])
    return replace(
        data,
        users=user_table,
        items=item_table,
        entities=entity_table,
        relations=relation_table,
        interactions=_interactions(data.interactions, user_row, item_row, interactions),
        triples=_triples(data.triples, node_row, relation_row, triples),
        planted=_planted(data.planted, user_row, relation_row, entity_row),
        user_columns=_user_columns(data.user_columns, user_row),
    )


def _user_columns(
    columns: Mapping[str, NDArray[np.str_]], user_row: NDArray[np.int64]
) -> dict[str, NDArray[np.str_]]:
    kept = np.flatnonzero(user_row >= 0)
    kept = kept[np.argsort(user_row[kept])]
    return {name: texts[kept] for name, texts in columns.items()}


def _keep(table: IdTable, mask: Mask | None) -> tuple[IdTable, NDArray[np.int64]]:
    """The kept ids in their order, and old row -> new row (-1: gone)."""
    if mask is None or mask.all():
        return table, np.arange(len(table))
    kept = np.flatnonzero(mask).tolist()
    # Ids that are numbers only once others are gone take the order of numbers.
    ids = sort_ids(table.ids[k] for k in kept)
    smaller = IdTable(table.kind, ids, {table.ids[k]: table.names[k] for k in kept})
    row = np.full(len(table), -1, np.int64)
    row[[table.row(i) for i in ids]] = np.arange(len(ids))
    return smaller, row


def _rising(row: NDArray[np.int64]) -> bool:
    """True if what is kept keeps its order, so that nothing needs sorting."""
    return bool((np.diff(row[row >= 0]) > 0).all())


def _interactions(
    table: Interactions,
    user_row: NDArray[np.int64],
    item_row: NDArray[np.int64],
    mask: Mask | None,
) -> Interactions:
    user, item = user_row[table.user], item_row[table.item]
    keep = (user >= 0) & (item >= 0)
    rows = np.flatnonzero(keep if mask is None else keep & mask)
    if not (_rising(user_row) and _rising(item_row)):
        rows = rows[np.lexsort((rows, item[rows], user[rows]))]
    return Interactions(
        user[rows].astype(np.int32),
        item[rows].astype(np.int32),
        rating=None if table.rating is None else table.rating[rows],
        time=None if table.time is None else table.time[rows],
        part=None if table.part is None else table.part[rows],
    )


def _triples(
    table: Triples,
    node_row: NDArray[np.int64],
    relation_row: NDArray[np.int64],
    mask: Mask | None,
) -> Triples:
    head, tail = node_row[table.head], node_row[table.tail]
    relation = relation_row[table.relation]
    keep = (head >= 0) & (tail >= 0) & (relation >= 0)
    rows = np.flatnonzero(keep if mask is None else keep & mask)
    if not (_rising(node_row) and _rising(relation_row)):
        rows = rows[np.lexsort((tail[rows], relation[rows], head[rows]))]
    return Triples(*(column[rows].astype(np.int32) for column in (head, relation, tail)))


def _planted(
    table: Planted | None,
    user_row: NDArray[np.int64],
    relation_row: NDArray[np.int64],
    entity_row: NDArray[np.int64],
) -> Planted | None:
    if table is None:
        return None
    user, relation = user_row[table.user], relation_row[table.relation]
    attribute = entity_row[table.attribute]
    rows = np.flatnonzero((user >= 0) & (relation >= 0) & (attribute >= 0))
    rows = rows[np.lexsort((attribute[rows], relation[rows], user[rows]))]
    return Planted(
        user=user[rows].astype(np.int32),
        relation=relation[rows].astype(np.int32),
        attribute=attribute[rows].astype(np.int32),
        sign=table.sign[rows],
    )
