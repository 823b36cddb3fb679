"""A caller's own re-scoring, additive or not: enumerated by size within the time."""

from __future__ import annotations

import pytest
from search_worlds import random_explainer

from cerec_bench.search import general
from cerec_bench.search.enumeration import OutOfTime, change_sets, smallest
from cerec_bench.search.explainer import Explainer


def test_change_sets_by_hand() -> None:
    assert list(change_sets([[1]], [[2]], 1)) == [((), (2,)), ((1,), ()), ((1,), (2,))]
    assert list(change_sets([[1], [3]], [[], []], 2)) == [((1, 3), ())]
    assert list(change_sets([[1]], [[2]], 2)) == []


def test_out_of_time_thins_the_full_set() -> None:
    lose, gain = [[1, 2, 3]], [[4]]
    found = smallest(lose, gain, lambda lost, gained: 2 in lost, deadline=0.0)
    assert found is not None
    assert (found.lost, found.gained, found.certificate) == ((2,), (), "irreducible")
    with pytest.raises(OutOfTime):
        smallest(lose, gain, lambda lost, gained: False, deadline=0.0)
    assert smallest(lose, gain, lambda lost, gained: False) is None


def pairwise(explainer: Explainer, weight: float) -> Explainer:
    """The same world, but values of different relations help each other: not additive."""
    plain = explainer

    def bonus(attributes: list[tuple[str, str]]) -> float:
        have = set(attributes)
        return weight * (("r00", "a01") in have) * (("r01", "a02") in have)

    def rescore(user: str, item: str, attributes: list[tuple[str, str]]) -> float:
        extra = bonus(attributes) - bonus(plain.attributes(item))
        return plain.rescore(user, item, attributes) + extra

    return Explainer(plain.data, plain.known, plain.facts, plain.scorer, rescore=rescore)


@pytest.mark.parametrize("pooling", ["mean", "sum"])
def test_an_additive_callable_gets_the_same_sizes(pooling: str) -> None:
    explainer = random_explainer(5, pooling)  # type: ignore[arg-type]
    same = pairwise(explainer, 0.0)
    for row in explainer.listed(1, 4):
        item = explainer.data.items[int(row)]
        quick = explainer.explain("u01", item, k=4, exhaustive=True)
        slow = same.explain("u01", item, k=4, exhaustive=True, budget=60.0)
        assert (slow.status, slow.size) == (quick.status, quick.size)


def test_scores_that_are_not_additive_are_verified() -> None:
    explainer = pairwise(random_explainer(6), 3.0)
    verified = 0
    for row in explainer.listed(0, 4):
        e = explainer.explain("u00", explainer.data.items[int(row)], k=4, budget=60.0)
        if e.status != "verified":
            continue
        verified += 1
        values = set(explainer.attributes(e.item))
        values -= {(c.relation, c.before) for c in e.changes if c.before}
        values |= {(c.relation, c.after) for c in e.changes if c.after}
        assert explainer.rescore("u00", e.item, values) == e.score_after
        assert e.certificate == "minimum"
        assert e.rank_after > 4
    assert verified


def test_without_time_an_answer_is_at_most_irreducible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(general, "_SECONDS", 1e-9)
    explainer = pairwise(random_explainer(6), 3.0)
    for row in explainer.listed(0, 4):
        e = explainer.explain("u00", explainer.data.items[int(row)], k=4)
        assert e.status == "timed_out" or e.certificate == "irreducible"
