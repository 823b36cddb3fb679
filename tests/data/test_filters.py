"""Filters: hand cases, then fixpoints against slow versions."""

from __future__ import annotations

import pytest
from hand import dataset, facts_of, pairs_of
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.dataset import TEST, TRAIN
from cerec.data.filters import Removed, apply
from cerec.data.synthetic.generate import demo
from cerec.errors import ConfigError, DataError
from cerec.settings.data import FilterConfig

OFF = {"duplicates": False, "merge_inverses": False}


def test_defaults_leave_clean_data_as_it_is() -> None:
    data, removed = apply(demo())
    assert data == demo()
    assert removed == ()


def test_rating_threshold() -> None:
    data = dataset([("u", "a"), ("u", "b"), ("v", "a")], rating=[5, 2, 3])
    small, removed = apply(data, FilterConfig(min_rating=3))
    assert pairs_of(small) == {("u", "a"), ("v", "a")}
    assert removed == (Removed("rating below 3", "interactions", 1, ()),)
    assert small.notes == ("rating below 3: 1 interactions removed",)


def test_rating_threshold_without_ratings_says_so() -> None:
    with pytest.raises(DataError, match="needs ratings"):
        apply(dataset([("u", "a")]), FilterConfig(min_rating=3))


def test_the_earliest_duplicate_stays() -> None:
    data = dataset([("u", "a"), ("u", "a"), ("u", "b")], time=[9, 4, 1])
    small, removed = apply(data)
    assert small.interactions.time.tolist() == [4, 1]
    assert [(r.step, r.count) for r in removed] == [("duplicates", 1)]


def test_the_same_pair_in_train_and_test_is_a_leak_not_a_duplicate() -> None:
    data = dataset([("u", "a"), ("u", "a"), ("u", "a")], part=[TRAIN, TEST, TEST])
    small, _ = apply(data)
    assert sorted(small.interactions.part.tolist()) == [TRAIN, TEST]


def test_two_core_by_hand() -> None:
    """`w` has one item, so it goes; then `c` has one user, so it goes; then all have two."""
    pairs = [("u", "a"), ("u", "b"), ("v", "a"), ("v", "b"), ("v", "c"), ("w", "c")]
    data = dataset(pairs, [("c", "genre", "noir"), ("a", "genre", "war")])
    small, removed = apply(data, FilterConfig(k_core=2))
    assert pairs_of(small) == {("u", "a"), ("u", "b"), ("v", "a"), ("v", "b")}
    assert list(small.entities) == ["war"]
    told = {r.kind: (r.count, r.examples) for r in removed}
    assert told == {
        "users": (1, ("w",)),
        "items": (1, ("c",)),
        "entities": (1, ("noir",)),
        "interactions": (2, ()),
        "triples": (1, ()),
    }


def test_core_of_one_removes_users_and_items_without_interactions() -> None:
    data = dataset([("u", "a")], users=["v"], items=["b"])
    small, _ = apply(data, FilterConfig(k_core=1))
    assert (list(small.users), list(small.items)) == (["u"], ["a"])


def test_relations_left_out_by_pattern_take_their_entities_along() -> None:
    facts = [("a", "wiki.link", "x"), ("a", "wiki.page", "y"), ("a", "genre", "war")]
    small, removed = apply(dataset([("u", "a")], facts), FilterConfig(leave_out=("wiki.*",)))
    assert facts_of(small) == {("a", "genre", "war")}
    assert {r.kind: r.count for r in removed} == {"relations": 2, "entities": 2, "triples": 2}


def test_a_pattern_that_matches_nothing_is_refused_with_a_hint() -> None:
    data = dataset([("u", "a")], [("a", "genre", "war")])
    with pytest.raises(ConfigError, match="did you mean 'genre'"):
        apply(data, FilterConfig(leave_out=("gener",)))


def test_rare_entities_and_relations() -> None:
    facts = [("a", "genre", "war"), ("b", "genre", "war"), ("a", "actor", "ada")]
    data = dataset([("u", "a"), ("u", "b")], facts)
    small, _ = apply(data, FilterConfig(min_entity=2))
    assert facts_of(small) == {("a", "genre", "war"), ("b", "genre", "war")}
    small, _ = apply(data, FilterConfig(min_relation=2))
    assert (list(small.entities), list(small.relations)) == (["war"], ["genre"])


def test_items_without_attributes() -> None:
    data = dataset([("u", "a"), ("u", "b")], [("a", "genre", "war"), ("b", "sequel", "a")])
    small, _ = apply(data, FilterConfig(require_attributes=True))
    assert list(small.items) == ["a"]
    assert list(small.relations) == ["genre"]


def test_negative_thresholds_are_refused() -> None:
    with pytest.raises(ConfigError, match="k_core"):
        FilterConfig(k_core=-1)


def test_ids_that_become_all_numbers_are_sorted_as_numbers() -> None:
    data = dataset([("10", "a"), ("9", "a"), ("x", "b")], items=[])
    assert list(data.users) == ["10", "9", "x"]
    small, _ = apply(data, FilterConfig(k_core=1, **OFF))
    assert small == data
    small, _ = apply(
        dataset([("10", "a"), ("9", "a"), ("9", "b"), ("10", "b"), ("x", "b")]),
        FilterConfig(k_core=2),
    )
    assert list(small.users) == ["9", "10"]
    assert pairs_of(small) == {("10", "a"), ("9", "a"), ("9", "b"), ("10", "b")}


def slow_core(pairs: set[tuple[str, str]], k: int) -> set[tuple[str, str]]:
    while True:
        users = [u for u, _ in pairs]
        items = [i for _, i in pairs]
        kept = {(u, i) for u, i in pairs if users.count(u) >= k and items.count(i) >= k}
        if kept == pairs:
            return kept
        pairs = kept


PAIRS = st.lists(
    st.tuples(st.sampled_from("uvwxyz"), st.sampled_from("abcdefg")), min_size=1, max_size=30
)
FACTS = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.sampled_from("rst"), st.sampled_from("123456")),
    max_size=25,
)


@settings(deadline=None)
@given(PAIRS, st.integers(1, 4))
def test_k_core_is_the_slow_fixpoint(pairs, k) -> None:
    small, _ = apply(dataset(pairs), FilterConfig(k_core=k))
    assert pairs_of(small) == slow_core(set(pairs), k)


@settings(deadline=None)
@given(PAIRS, FACTS, st.integers(0, 3), st.integers(0, 3), st.integers(0, 4), st.booleans())
def test_all_thresholds_hold_at_once_and_again_changes_nothing(
    pairs, facts, k, entity, relation, described
) -> None:
    data = dataset(pairs, [f for f in facts if f[0] in {i for _, i in pairs}])
    config = FilterConfig(
        k_core=k, min_entity=entity, min_relation=relation, require_attributes=described
    )
    small, removed = apply(data, config)
    left = [f for f in facts_of(small)]
    rows = pairs_of(small)
    assert all(sum(u == v for v, _ in rows) >= k for u in small.users)
    assert all(sum(i == j for _, j in rows) >= k for i in small.items)
    assert all(sum(e == t for _, _, t in left) >= entity for e in small.entities)
    assert all(sum(r == s for _, s, _ in left) >= relation for r in small.relations)
    if described:
        assert {h for h, _, _ in left} >= set(small.items)
    for kind in ("users", "items", "entities", "relations", "triples"):
        gone = sum(r.count for r in removed if r.kind == kind)
        assert len(getattr(data, kind)) - len(getattr(small, kind)) == gone
    again, nothing = apply(small, config)
    assert again == small
    assert nothing == ()


def test_planted_tastes_follow_their_users_and_attributes() -> None:
    small, _ = apply(demo(), FilterConfig(k_core=20, leave_out=("studio",)))
    whole, left = by_id(demo()), by_id(small)
    assert left < whole
    assert left == {
        (u, r, a, s)
        for u, r, a, s in whole
        if u in small.users and r in small.relations and a in small.entities
    }


def by_id(data):
    table = data.planted
    columns = (table.user, table.relation, table.attribute, table.sign)
    return {
        (data.users[u], data.relations[r], data.entities[a], int(s))
        for u, r, a, s in zip(*columns, strict=True)
    }
