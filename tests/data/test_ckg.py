"""The graph: one small case by hand, then a slow version with dictionaries."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.data.split import split
from cerec.data.synthetic.generate import demo
from cerec.errors import DataError

USERS, ITEMS, ENTITIES, RELATIONS = 3, 4, 5, 3


def dataset(facts) -> Dataset:
    """3 users, 4 items (nodes 0-3), 5 entities (nodes 4-8), 3 relations."""
    rows = np.array(sorted(set(facts)), np.int32).reshape(-1, 3)
    none = np.zeros(0, np.int32)

    def table(kind: str, n: int) -> IdTable:
        return IdTable(kind, [str(k) for k in range(n)])

    return Dataset(
        name="hand",
        users=table("user", USERS),
        items=table("item", ITEMS),
        entities=table("entity", ENTITIES),
        relations=table("relation", RELATIONS),
        interactions=Interactions(none, none),
        triples=Triples(*rows.T),
    )


def ragged(pairs, n_rows) -> Ragged:
    rows = np.array(sorted(pairs), np.int32).reshape(-1, 2)
    return Ragged.from_pairs(rows[:, 0], rows[:, 1], n_rows)


def test_a_graph_by_hand() -> None:
    """User 0 took items 0 and 1; items 0 and 1 share entity 0 (node 4); entity 0 - entity 1."""
    data = dataset([(0, 0, 4), (1, 0, 4), (1, 2, 4), (4, 1, 5), (0, 1, 1)])
    graph = Ckg.build(data, ragged([(0, 0), (0, 1)], USERS))
    assert graph.n_nodes == 12
    user, first, second, genre, other = 0, 3, 4, 7, 8
    assert graph.adjacency.row(user).tolist() == [first, second]
    assert graph.adjacency.row(first).tolist() == [user, second, genre]
    assert graph.adjacency.row(genre).tolist() == [first, second, other]
    assert graph.adjacency.counts.tolist() == [2, 0, 0, 3, 3, 0, 0, 3, 1, 0, 0, 0]
    assert graph.attributes.row(1).tolist() == [0]
    assert graph.items_of.row(0).tolist() == [0, 1]
    assert graph.items_of.row(1).tolist() == []
    weight = graph.weight[graph.adjacency.indptr[user] : graph.adjacency.indptr[user + 1]]
    assert weight == pytest.approx([6**-0.5, 6**-0.5])
    at = edges_from(graph, second)
    assert list(zip(graph.relation[at], graph.tail[at], strict=True)) == [(1, genre), (3, genre)]
    at = edges_from(graph, user)
    assert list(zip(graph.relation[at], graph.tail[at], strict=True)) == [(0, first), (0, second)]


def test_loops_leave_no_neighbour() -> None:
    graph = Ckg.build(dataset([(0, 0, 0)]), ragged([], USERS))
    assert graph.adjacency.size == 0


NODES = st.integers(0, ITEMS + ENTITIES - 1)
FACTS = st.lists(st.tuples(NODES, st.integers(0, RELATIONS - 1), NODES), max_size=25)
PAIRS = st.lists(st.tuples(st.integers(0, USERS - 1), st.integers(0, ITEMS - 1)), max_size=12)


@settings(deadline=None)
@given(FACTS, PAIRS)
def test_graph_is_the_slow_graph(facts, pairs) -> None:
    facts = [(t, r, h) if h >= ITEMS > t else (h, r, t) for h, r, t in facts]
    graph = Ckg.build(dataset(facts), ragged(set(pairs), USERS))
    neighbours, typed = defaultdict(set), set()
    attributes, items_of = defaultdict(set), defaultdict(set)
    edges = [(u, 0, i + USERS) for u, i in pairs] + [
        (h + USERS, r + 1, t + USERS) for h, r, t in facts
    ]
    for h, r, t in edges:
        typed.add((h, r, t))
        if h != t:
            neighbours[h].add(t)
            neighbours[t].add(h)
    for h, _, t in facts:
        if h < ITEMS <= t:
            attributes[h].add(t - ITEMS)
            items_of[t - ITEMS].add(h)
    for n in range(graph.n_nodes):
        assert graph.adjacency.row(n).tolist() == sorted(neighbours[n])
        for m, w in zip(
            graph.adjacency.row(n),
            graph.weight[graph.adjacency.indptr[n] : graph.adjacency.indptr[n + 1]],
            strict=True,
        ):
            expected = (len(neighbours[n]) * len(neighbours[m])) ** -0.5
            assert w == pytest.approx(expected, rel=1e-6)
        at = edges_from(graph, n)
        found = set(zip(graph.head[at], graph.relation[at], graph.tail[at], strict=True))
        assert found == {e for e in typed if e[0] == n}
    assert [graph.attributes.row(k).tolist() for k in range(ITEMS)] == [
        sorted(attributes[k]) for k in range(ITEMS)
    ]
    assert [graph.items_of.row(k).tolist() for k in range(ENTITIES)] == [
        sorted(items_of[k]) for k in range(ENTITIES)
    ]


def test_held_out_pairs_never_enter() -> None:
    data = demo()
    parts = split(data, seed=0)
    graph = Ckg.build(data, parts.train)
    taken = graph.relation == 0
    inside = set(zip(graph.head[taken], graph.tail[taken] - graph.n_users, strict=True))
    assert len(inside) == parts.train.size
    for held in (parts.valid, parts.test):
        pairs = set(zip(held.row_of(), held.indices, strict=True))
        assert not pairs & inside
        for user in range(0, graph.n_users, 50):
            near = set(graph.adjacency.row(user) - graph.n_users)
            assert not near & set(held.row(user))


@pytest.mark.parametrize("train", [ragged([], USERS + 1), ragged([(0, ITEMS)], USERS)])
def test_the_split_of_another_dataset_is_refused(train) -> None:
    with pytest.raises(DataError, match="split this dataset"):
        Ckg.build(dataset([]), train)


def edges_from(graph: Ckg, node: int) -> slice:
    """Where in `head`, `relation` and `tail` the typed edges that leave a node stand."""
    low, high = np.searchsorted(graph.head, [node, node + 1])
    return slice(int(low), int(high))
