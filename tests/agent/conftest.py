"""A small world whose best counterfactual items are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.recommend.base import Context
from cerec.recommend.topk import top_k_all


@dataclass(frozen=True)
class World:
    graph: Ckg
    facts: Facts
    context: Context
    user: np.ndarray
    item: np.ndarray


def build(
    train: list[tuple[int, int]],
    facts: list[tuple[int, int, int]],
    user: np.ndarray,
    item: np.ndarray,
    n_entities: int,
    k: int,
    n_values: int = 0,
) -> World:
    """`facts` are (item, relation, entity); factors are given."""
    n_users, n_items = len(user), len(item)
    known = Ragged.from_pairs(*np.array(train, np.int32).reshape(-1, 2).T, n_users)
    triples = np.array(sorted(set(facts)), np.int32).reshape(-1, 3)
    n_relations = int(triples[:, 1].max(initial=0)) + 1
    data = Dataset(
        name="small",
        users=IdTable("user", [str(n) for n in range(n_users)]),
        items=IdTable("item", [str(n) for n in range(n_items)]),
        entities=IdTable("entity", [str(n) for n in range(n_entities)]),
        relations=IdTable("relation", [str(n) for n in range(n_relations)]),
        interactions=Interactions(known.row_of(), known.indices),
        triples=Triples(triples[:, 0], triples[:, 1], triples[:, 2] + np.int32(n_items)),
    )
    table = Facts.build(data)
    lists = top_k_all(user, item, known, k)
    context = Context(known, table, user, item, lists)
    return World(Ckg.build(data, known), table, context, known.row_of(), known.indices)


def twins(seed: int = 0, n_users: int = 12, n_brands: int = 10, d: int = 32) -> World:
    """Items in brands of five: an original, its unpopular twin, and three strangers.

    A twin differs from its original in popularity alone, the last factor: scored low, yet alike.
    So the best way from an original is by its brand to its twin. Genres join items across brands.
    """
    rng = np.random.default_rng(seed)
    n_items = 5 * n_brands
    item = rng.standard_normal((n_items, d)).astype(np.float32)
    item[1::5] = item[::5]
    item[:, -1] = 0.0
    item[1::5, -1] = -3.0
    user = (0.3 * rng.standard_normal((n_users, d))).astype(np.float32)
    user[:, -1] = 3.0
    facts = [(i, 0, i // 5) for i in range(n_items)]
    facts += [(i, 1, n_brands + int(g)) for i in range(n_items) for g in rng.integers(0, 4, 2)]
    train = [(u, 5 * int(b)) for u in range(n_users) for b in rng.permutation(n_brands)[:4]]
    return build(train, facts, user, item, n_brands + 4, k=5)


@pytest.fixture(scope="session")
def make_world() -> Callable[..., World]:
    return build


@pytest.fixture(scope="session")
def make_twins() -> Callable[..., World]:
    return twins


@pytest.fixture(scope="session")
def twin_world() -> World:
    return twins()
