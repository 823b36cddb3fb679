"""Inverse relations are recognised by their triples and merged without loss."""

from __future__ import annotations

from hand import dataset, facts_of
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.filters import apply
from cerec.data.inverses import find_inverses
from cerec.settings.data import FilterConfig

ITEMS = list("abcdefgh")
PAIRS = [("u", i) for i in ITEMS]


def names(data):
    return [(data.relations[p.kept], data.relations[p.gone], p.turned) for p in find_inverses(data)]


def test_a_sequel_is_the_inverse_of_a_prequel() -> None:
    facts = [("b", "sequel_of", "a"), ("c", "sequel_of", "b")]
    facts += [("a", "prequel_of", "b"), ("b", "prequel_of", "c")]
    data = dataset(PAIRS, facts)
    assert names(data) == [("sequel_of", "prequel_of", True)]
    small, removed = apply(data)
    assert facts_of(small) == {("b", "sequel_of", "a"), ("c", "sequel_of", "b")}
    assert removed[0].examples == ("prequel_of",)
    assert (removed[1].kind, removed[1].count) == ("triples", 2)


def test_a_relation_turned_by_a_reader_is_compared_as_it_stands() -> None:
    facts = [(i, "actor", f"p{k}") for k, i in enumerate(ITEMS)]
    turned = [(i, "person.film^-1", f"p{k}") for k, i in enumerate(ITEMS)]
    assert names(dataset(PAIRS, facts + turned)) == [("actor", "person.film^-1", False)]


def test_a_turned_relation_within_a_larger_one_is_merged() -> None:
    facts = [(i, "actor", f"p{k}") for k, i in enumerate(ITEMS)]
    turned = [(i, "person.film^-1", f"p{k}") for k, i in enumerate(ITEMS[:5])]
    assert names(dataset(PAIRS, facts + turned)) == [("actor", "person.film^-1", False)]


def test_equal_relations_that_nobody_turned_stay() -> None:
    """Every film here was written by its director: two facts, not one."""
    facts = [(i, r, f"p{k}") for k, i in enumerate(ITEMS) for r in ("director", "writer")]
    data = dataset(PAIRS, facts)
    assert names(data) == []
    assert apply(data)[0] == data


def test_half_an_overlap_is_no_inverse() -> None:
    facts = [("b", "r", "a"), ("d", "r", "c"), ("a", "s", "b"), ("e", "s", "c")]
    assert names(dataset(PAIRS, facts)) == []


def test_a_symmetric_relation_is_no_inverse_of_itself() -> None:
    assert names(dataset(PAIRS, [("a", "like", "b"), ("b", "like", "a")])) == []


def test_facts_only_the_inverse_has_are_kept() -> None:
    forward = [(ITEMS[k], "r", ITEMS[k + 1]) for k in range(6)]
    back = [(t, "s", h) for h, _, t in forward] + [("h", "s", "g")]
    data = dataset(PAIRS, forward + back)
    small, _ = apply(data)
    merged = facts_of(small)
    assert {frozenset((h, t)) for h, _, t in merged} == {frozenset((h, t)) for h, _, t in back}
    assert len(small.relations) == 1


NODE = st.sampled_from("abcdefghxyz")
FACTS = st.lists(st.tuples(NODE, st.sampled_from(["r", "s", "t", "r^-1"]), NODE), max_size=40)


@settings(deadline=None)
@given(FACTS)
def test_merging_never_unlinks_two_nodes(facts) -> None:
    facts = [(t, r, h) if h in "xyz" and t not in "xyz" else (h, r, t) for h, r, t in facts]
    data = dataset(PAIRS, facts)
    small, _ = apply(data, FilterConfig())
    linked = {frozenset((h, t)) for h, _, t in facts_of(data)}
    assert {frozenset((h, t)) for h, _, t in facts_of(small)} == linked
    for pair in find_inverses(data):
        assert pair.kept != pair.gone
