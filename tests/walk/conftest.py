"""Small graphs to walk on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged

Pairs = list[tuple[int, int]]


def build(n_users: int, n_items: int, n_entities: int, train: Pairs, facts: Pairs) -> Ckg:
    """A graph of (user, item) and (item, entity) pairs, one relation."""
    known = Ragged.from_pairs(*np.array(train, np.int32).reshape(-1, 2).T, n_users)
    has = Ragged.from_pairs(*np.array(facts, np.int32).reshape(-1, 2).T, n_items)
    data = Dataset(
        name="small",
        users=IdTable("user", [str(n) for n in range(n_users)]),
        items=IdTable("item", [str(n) for n in range(n_items)]),
        entities=IdTable("entity", [str(n) for n in range(n_entities)]),
        relations=IdTable("relation", ["0"]),
        interactions=Interactions(known.row_of(), known.indices),
        triples=Triples(
            has.row_of(), np.zeros(has.size, np.int32), has.indices + np.int32(n_items)
        ),
    )
    return Ckg.build(data, known)


@pytest.fixture(scope="session")
def make_graph() -> Callable[..., Ckg]:
    return build


@pytest.fixture(scope="session")
def random_graph() -> Callable[..., Ckg]:
    def make(seed: int, n_users: int = 6, n_items: int = 12, n_entities: int = 7) -> Ckg:
        rng = np.random.default_rng(seed)
        train = [(int(u), int(i)) for u in range(n_users) for i in rng.integers(0, n_items, 3)]
        facts = [(int(i), int(a)) for i in range(n_items) for a in rng.integers(0, n_entities, 3)]
        return build(n_users, n_items, n_entities, train, facts)

    return make
