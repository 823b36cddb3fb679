"""The vocabulary of values."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.synthetic.generate import demo


def dataset(facts, items=4, entities=5, relations=3) -> Dataset:
    rows = np.array(sorted(set(facts)), np.int32).reshape(-1, 3)
    none = np.zeros(0, np.int32)
    return Dataset(
        name="hand",
        users=IdTable("user", []),
        items=IdTable("item", [str(k) for k in range(items)]),
        entities=IdTable("entity", [str(k) for k in range(entities)]),
        relations=IdTable("relation", [str(k) for k in range(relations)]),
        interactions=Interactions(none, none),
        triples=Triples(*rows.T),
    )


def test_one_person_in_two_roles_is_two_values() -> None:
    facts = Facts.build(dataset([(0, 0, 4), (0, 1, 4), (1, 1, 4), (1, 2, 0), (4, 2, 5)]))
    assert facts.relation.tolist() == [0, 1]
    assert facts.attribute.tolist() == [0, 0]
    assert facts.of_item.row(0).tolist() == [0, 1]
    assert facts.of_item.row(1).tolist() == [1]
    assert facts.holders.row(1).tolist() == [0, 1]
    assert facts.find(1, 0) == 1
    assert facts.find(2, 0) is None
    assert facts.find(0, 3) is None


def test_no_entities_no_values() -> None:
    facts = Facts.build(dataset([(0, 0, 1)], entities=0))
    assert facts.n_values == 0
    assert len(facts.of_item) == 4


NODE = st.integers(0, 8)


@settings(deadline=None)
@given(st.lists(st.tuples(NODE, st.integers(0, 2), NODE), max_size=30))
def test_values_are_the_slow_values(triples) -> None:
    triples = [(t, r, h) if h >= 4 > t else (h, r, t) for h, r, t in triples]
    facts = Facts.build(dataset(triples))
    known = sorted({(r, t - 4) for h, r, t in triples if h < 4 <= t})
    assert list(zip(facts.relation, facts.attribute, strict=True)) == known
    for item in range(4):
        own = {(r, t - 4) for h, r, t in triples if h == item and t >= 4}
        assert facts.of_item.row(item).tolist() == [v for v, k in enumerate(known) if k in own]
    for relation in range(3):
        for attribute in range(5):
            found = facts.find(relation, attribute)
            wanted = known.index((relation, attribute)) if (relation, attribute) in known else None
            assert found == wanted


def test_planted_tastes_are_values_of_the_demo() -> None:
    data = demo()
    facts, planted = Facts.build(data), data.planted
    assert planted is not None
    rows = zip(planted.relation.tolist(), planted.attribute.tolist(), strict=True)
    assert all(facts.find(r, a) is not None for r, a in set(rows))
