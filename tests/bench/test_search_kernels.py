"""The compiled search against plain enumeration, which shares no code with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec_bench.search.enumeration import Values, smallest
from cerec_bench.search.goal import make_goal
from cerec_bench.search.kernels import NEVER, Goal
from cerec_bench.search.search import minima, solve


def goal_of(own: list[int], effect: np.ndarray, mean: bool, cutoff: float, tie: bool) -> Goal:
    return make_goal(
        score=0.0,
        own=effect[own],
        mean=mean,
        cutoff=cutoff,
        tie_flips=tie,
        largest=float(np.abs(effect).max()),
        bits=26,
    )


def slow_flips(goal: Goal, own: list[int], effect: np.ndarray):
    def flips(lost: Values, gained: Values) -> bool:
        values = sorted((set(own) - set(lost)) | set(gained))
        total = sum(float(effect[v]) for v in values)
        share = total / max(len(values), 1) if goal.mean else total
        score = goal.score + (share - goal.pooled)
        return score < goal.cutoff or (goal.tie_flips and score == goal.cutoff)

    return flips


def moves(own: list[int], other: list[int], relation: np.ndarray, locked: np.ndarray):
    def of(values: set[int], r: int) -> list[int]:
        return sorted(v for v in values if relation[v] == r and not locked[v])

    n = int(relation.max()) + 1 if len(relation) else 0
    lose = [of(set(own) - set(other), r) for r in range(n)]
    gain = [of(set(other) - set(own), r) for r in range(n)]
    return lose, gain


def run(own, other, relation, locked, effect, goal, limit=NEVER - 1):
    arrays = [np.array(own, np.int32), np.array(other, np.int32)]
    indptr = np.array([0, len(other)], np.int64)
    size = minima(
        goal,
        arrays[0],
        np.array([0], np.int32),
        indptr,
        arrays[1],
        relation,
        locked,
        effect,
        limit,
        True,
    )[0]
    before, after = solve(goal, *arrays, relation, locked, effect, limit)
    return int(size), before.tolist(), after.tolist()


def test_one_director_by_hand() -> None:
    # one relation: lose the 3, gain the -1: the sum falls from 3 to -1
    effect = np.array([3.0, -1.0])
    relation, locked = np.zeros(2, np.int32), np.zeros(2, bool)
    goal = goal_of([0], effect, False, -3.0, False)
    assert run([0], [1], relation, locked, effect, goal) == (1, [0], [1])


def test_two_relations_take_the_larger_benefit_first() -> None:
    # two losses of 5 (relation 1) lower the sum by 10, as replacements still by 7, which flips
    effect = np.array([1.0, 0.0, 5.0, 5.0, 1.0, 2.0])
    relation, locked = np.array([0, 0, 1, 1, 1, 1], np.int32), np.zeros(6, bool)
    goal = goal_of([0, 2, 3], effect, False, -7.0, True)
    assert run([0, 2, 3], [1, 4, 5], relation, locked, effect, goal) == (2, [2, 3], [4, 5])


def test_a_mean_may_rise_by_a_removal_and_fall_by_an_addition() -> None:
    # mean of 4 and 0 is 2; adding 0 once makes 4/3, twice 1: below 1.5 - 2 = -0.5 after one
    effect = np.array([4.0, 0.0, 0.0, 0.0])
    relation = np.zeros(4, np.int32)
    locked = np.array([True, True, False, False])
    goal = goal_of([0, 1], effect, True, -0.5, False)
    assert run([0, 1], [0, 1, 2, 3], relation, locked, effect, goal) == (1, [-1], [2])


def test_nothing_to_change_never_flips() -> None:
    effect = np.array([1.0])
    goal = goal_of([0], effect, True, -0.5, False)
    one = np.zeros(1, np.int32)
    assert run([0], [0], one, np.zeros(1, bool), effect, goal) == (NEVER, [], [])
    assert run([0], [], one, np.ones(1, bool), effect, goal) == (NEVER, [], [])


@st.composite
def cases(draw: st.DrawFn):
    n = draw(st.integers(1, 9))
    relation = np.array(sorted(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))), np.int32)
    number = st.one_of(
        st.integers(-3, 3).map(float),  # ties and zeros
        st.integers(-(2**20), 2**20).map(lambda x: x * 2.0**-16),
    )
    effect = np.array(draw(st.lists(number, min_size=n, max_size=n)))
    sides = draw(st.lists(st.sampled_from("iijjb"), min_size=n, max_size=n))
    own = [v for v in range(n) if sides[v] in "ib"]
    other = [v for v in range(n) if sides[v] in "jb"]
    locked = np.array(draw(st.lists(st.sampled_from([False] * 5 + [True]), min_size=n, max_size=n)))
    drop = draw(st.one_of(st.integers(0, 12).map(lambda x: x / 4), st.floats(0, 4)))
    tie = draw(st.booleans())
    return own, other, relation, locked, effect, drop, tie


def agree(case, mean: bool) -> None:
    own, other, relation, locked, effect, drop, tie = case
    if not own:
        return
    goal = goal_of(own, effect, mean, -drop, tie and drop > 0)
    flips = slow_flips(goal, own, effect)
    lose, gain = moves(own, other, relation, locked)
    found = smallest(lose, gain, flips)
    size, before, after = run(own, other, relation, locked, effect, goal)
    lost, gained = [v for v in before if v >= 0], [v for v in after if v >= 0]
    if found is None:
        assert (size, before, after) == (NEVER, [], [])
        return
    expected = sum(
        max(len(set(a) & set(found.lost)), len(set(b) & set(found.gained)))
        for a, b in zip(lose, gain, strict=True)
    )
    assert size == expected == len(before) == len(after)
    assert flips(tuple(lost), tuple(gained))
    assert set(lost) <= {v for part in lose for v in part}
    assert set(gained) <= {v for part in gain for v in part}
    assert len(set(lost)) == len(lost)
    assert len(set(gained)) == len(gained)
    for a, b in zip(before, after, strict=True):
        assert a < 0 or b < 0 or relation[a] == relation[b]
    assert run(own, other, relation, locked, effect, goal, size - 1)[0] == NEVER


@settings(max_examples=400, deadline=None)
@given(cases())
def test_a_minimum_by_sum_is_what_enumeration_finds(case) -> None:
    agree(case, mean=False)


@settings(max_examples=400, deadline=None)
@given(cases())
def test_a_minimum_by_mean_is_what_enumeration_finds(case) -> None:
    agree(case, mean=True)


@pytest.mark.slow
@pytest.mark.parametrize("mean", [False, True])
def test_thousands_of_random_pairs_agree_with_enumeration(mean: bool) -> None:
    rng = np.random.default_rng(7)
    for _ in range(4000):
        n = int(rng.integers(2, 12))
        relation = np.sort(rng.integers(0, 3, n)).astype(np.int32)
        scale = rng.choice([1.0, 2.0**-20])
        effect = rng.integers(-5, 6, n) * scale
        side = rng.integers(0, 5, n)
        own, other = np.flatnonzero(side < 3).tolist(), np.flatnonzero(side >= 2).tolist()
        locked = rng.random(n) < 0.1
        drop = float(rng.integers(0, 16)) / 4 * scale
        agree((own, other, relation, locked, effect, drop, bool(rng.integers(2))), mean)
