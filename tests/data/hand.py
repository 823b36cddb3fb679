"""Small datasets written by hand, for the tests of this folder."""

from __future__ import annotations

import numpy as np

from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.ids import IdTable, sort_ids


def dataset(
    pairs,
    facts=(),
    *,
    users=(),
    items=(),
    entities=(),
    rating=None,
    time=None,
    part=None,
    name="hand",
) -> Dataset:
    """Pairs `(user, item)` and facts `(head, relation, tail)` by id; heads and tails that are no
    items are entities. Further ids may be named.
    """
    user_table = IdTable("user", sort_ids([*users, *(u for u, _ in pairs)]))
    item_table = IdTable("item", sort_ids([*items, *(i for _, i in pairs)]))
    nodes = {n for h, _, t in facts for n in (h, t)} - set(item_table)
    entity_table = IdTable("entity", sort_ids([*entities, *nodes]))
    relation_table = IdTable("relation", sort_ids(r for _, r, _ in facts))

    def node(n: str) -> int:
        if n in item_table:
            return item_table.row(n)
        return len(item_table) + entity_table.row(n)

    rows = sorted({(node(h), relation_table.row(r), node(t)) for h, r, t in facts})
    head, relation, tail = np.array(rows, np.int32).reshape(-1, 3).T
    user = np.array([user_table.row(u) for u, _ in pairs], np.int32)
    item = np.array([item_table.row(i) for _, i in pairs], np.int32)
    times = np.zeros(len(user)) if time is None else np.array(time, np.float64)
    order = np.lexsort((times, item, user))
    return Dataset(
        name=name,
        users=user_table,
        items=item_table,
        entities=entity_table,
        relations=relation_table,
        interactions=Interactions(
            user[order],
            item[order],
            rating=None if rating is None else np.array(rating, np.float32)[order],
            time=None if time is None else times[order],
            part=None if part is None else np.array(part, np.int8)[order],
        ),
        triples=Triples(head, relation, tail),
    )


def pairs_of(data: Dataset) -> set[tuple[str, str]]:
    """Interactions by id."""
    table = data.interactions
    return {(data.users[u], data.items[i]) for u, i in zip(table.user, table.item, strict=True)}


def facts_of(data: Dataset) -> set[tuple[str, str, str]]:
    """Triples by id."""
    nodes = [*data.items, *data.entities]
    fact = data.triples
    return {
        (nodes[h], data.relations[r], nodes[t])
        for h, r, t in zip(fact.head, fact.relation, fact.tail, strict=True)
    }
