"""The columnar engine against plain enumeration, on worlds of at most eleven values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from change_worlds import Best, World, draw, enumerate_best, ranked
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.ragged import Ragged
from cerec.errors import DataError
from cerec.explain.changes.answers import (
    STATUS,
    Answers,
    Question,
    answer_asked,
    answer_listed,
    relations_of,
)
from cerec.explain.changes.values import make_values

SEEDS = st.integers(0, 10**6)
KS = st.sampled_from([1, 2, 3, 5, 12])
NOBODY = Ragged(np.zeros(2, np.int64), np.zeros(0, np.int32))
MODES = st.sampled_from(["replace", "remove", "any"])


def changes(a: Answers, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    here = slice(a.indptr[n], a.indptr[n + 1])
    return (
        tuple(sorted(v for v in a.lost[here].tolist() if v >= 0)),
        tuple(sorted(v for v in a.gained[here].tolist() if v >= 0)),
    )


def check(world: World, a: Answers, n: int, question: Question, best: Best | None) -> None:
    """Row n says what enumeration found, and every number in it holds."""
    user, item, k = int(a.user[n]), int(a.item[n]), question.k
    sign = 1 if question.direction == "out" else -1
    before = ranked(world, user, world.scores[user])
    assert a.rank_before[n] == before.index(item) + 1
    assert a.score_before[n] == world.scores[user, item]
    last = k if sign > 0 else k - 1
    assert a.replacement[n] == (before[last] if last < len(before) else -1)
    if best is None:
        assert a.status[n] != 0
        assert a.size[n] == 0
        assert np.isnan(a.score_after[n])
        assert np.isnan(a.margin[n])
        assert a.rank_after[n] == 0
        return
    assert STATUS[a.status[n]] == "found"
    assert a.size[n] == best.size
    assert changes(a, n) in best.sets  # the most decisive of the smallest
    after = world.scores[user].copy()
    after[item] += world.scale[item] * best.total
    assert a.score_after[n] == after[item]
    order = ranked(world, user, after)
    assert a.rank_after[n] == order.index(item) + 1
    assert (a.rank_after[n] > k) == (sign > 0)
    came = set(order[:k]) ^ set(before[:k])
    assert came == {item, int(a.replacement[n])}
    assert a.cutoff[n] == world.scores[user, a.replacement[n]]
    assert a.margin[n] == sign * (a.cutoff[n] - a.score_after[n]) >= 0
    for loss, gain in zip(
        *(c[a.indptr[n] : a.indptr[n + 1]] for c in (a.lost, a.gained)), strict=True
    ):
        if loss >= 0 and gain >= 0:
            assert world.relation[loss] == world.relation[gain]


def listed(world: World, question: Question) -> Answers:
    return world.listed(question)


def unlisted(world: World, k: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = [
        (u, i) for u in range(len(world.scores)) for i in ranked(world, u, world.scores[u])[k:]
    ]
    user, item = np.array(pairs, np.int64).reshape(-1, 2).T
    return user, item


@settings(max_examples=60)
@given(SEEDS, st.booleans(), KS, MODES, st.sampled_from([None, 1, 2]))
def test_listed_items_by_enumeration(
    seed: int, coarse: bool, k: int, mode: Any, most: int | None
) -> None:
    world = draw(seed, coarse=coarse)
    question = Question(k=k, changes=mode, max_changes=most)
    a = listed(world, question)
    expected = [
        (u, i) for u in range(len(world.scores)) for i in ranked(world, u, world.scores[u])[:k]
    ]
    assert list(zip(a.user.tolist(), a.item.tolist(), strict=True)) == expected
    for n, (u, i) in enumerate(expected):
        check(world, a, n, question, enumerate_best(world, u, i, k, mode=mode, most=most))


@settings(max_examples=40)
@given(SEEDS, st.booleans(), st.sampled_from([1, 2, 3]), MODES)
def test_lifting_items_in_by_enumeration(seed: int, coarse: bool, k: int, mode: Any) -> None:
    world = draw(seed, coarse=coarse)
    question = Question(k=k, changes=mode, direction="in")
    user, item = unlisted(world, k)
    a = world.asked(user, item, question)
    for n, (u, i) in enumerate(zip(user, item, strict=True)):
        best = enumerate_best(world, u, i, k, mode=mode, direction="in")
        check(world, a, n, question, best)


@settings(max_examples=40)
@given(SEEDS, st.booleans(), st.sampled_from([1, 2, 4]), st.sampled_from(["out", "in"]))
def test_each_relation_alone_by_enumeration(
    seed: int, coarse: bool, k: int, direction: Any
) -> None:
    world = draw(seed, coarse=coarse)
    question = Question(k=k, direction=direction)
    if direction == "out":
        pairs = listed(world, Question(k=k))
        user, item = pairs.user, pairs.item
    else:
        user, item = unlisted(world, k)
    pair, relation = relations_of(item, world.values)
    for p, i in enumerate(item):
        expected = sorted({int(world.relation[v]) for v in world.own(i)})
        assert relation[pair == p].tolist() == expected
    a = world.asked(user[pair], item[pair], question, relation=relation)
    for n in range(len(a)):
        where = {"direction": direction, "only": int(relation[n])}
        best = enumerate_best(world, int(a.user[n]), int(a.item[n]), k, **where)  # type: ignore[arg-type]
        check(world, a, n, question, best)
    np.testing.assert_array_equal(a.relation, relation)


@settings(max_examples=40)
@given(
    SEEDS,
    st.booleans(),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(["replace", "any"]),
    st.sampled_from([None, 2]),
)
def test_one_real_item_by_enumeration(
    seed: int, coarse: bool, k: int, mode: Any, most: int | None
) -> None:
    world = draw(seed, coarse=coarse)
    question = Question(k=k, changes=mode, scope="item", max_changes=most)
    a = listed(world, question)
    others = range(world.scores.shape[1])
    for n in range(len(a)):
        u, i = int(a.user[n]), int(a.item[n])
        toward = {
            j: enumerate_best(world, u, i, k, mode=mode, toward=j, most=most)
            for j in others
            if j != i
        }
        found = [(b.size, b.total, j) for j, b in toward.items() if b is not None]
        check(world, a, n, question, toward[min(found)[2]] if found else None)
        assert a.toward[n] == (min(found)[2] if found else -1)


@settings(max_examples=40)
@given(SEEDS, st.booleans(), st.sampled_from([1, 3]), st.sampled_from(["out", "in"]), MODES)
def test_toward_a_given_item_by_enumeration(
    seed: int, coarse: bool, k: int, direction: Any, mode: Any
) -> None:
    world = draw(seed, coarse=coarse)
    user, item = unlisted(world, 0 if direction == "out" else k)
    toward = np.random.default_rng(seed).integers(0, world.scores.shape[1], len(item))
    question = Question(k=k, direction=direction, changes=mode)
    a = world.asked(user, item, question, toward=toward)
    np.testing.assert_array_equal(a.toward, toward)
    for n, (u, i, j) in enumerate(zip(user, item, toward, strict=True)):
        if direction == "out" and ranked(world, u, world.scores[u]).index(i) >= k:
            assert STATUS[a.status[n]] == "not_in_question"
            continue
        best = enumerate_best(world, u, i, k, direction=direction, mode=mode, toward=int(j))
        check(world, a, n, question, best)


@settings(max_examples=40)
@given(SEEDS, st.booleans(), MODES)
def test_alternatives_are_the_best_of_what_is_left(seed: int, coarse: bool, mode: Any) -> None:
    world = draw(seed, coarse=coarse)
    question = Question(k=2, changes=mode, alternatives=2)
    a = listed(world, question)
    n = 0
    while n < len(a):
        no_gain: frozenset[int] = frozenset()
        no_loss: frozenset[int] = frozenset()
        u, i = int(a.user[n]), int(a.item[n])
        for turn in range(3):
            best = enumerate_best(world, u, i, 2, mode=mode, no_gain=no_gain, no_loss=no_loss)
            here = n < len(a) and a.turn[n] == turn
            if best is None and turn:
                assert not here
                break
            assert here
            check(world, a, n, question, best)
            lost, gained = changes(a, n)
            n += 1
            if best is None:
                break
            no_gain |= set(gained)
            if not gained:
                no_loss |= set(lost)


def test_the_answer_by_hand() -> None:
    """Two relations; item 0 has the values 0 and 4, its rivals score 1 and 0.5.

    0 -> 2 is worth 1.5, 4 -> 5 is worth 1.5 too: the smaller relation goes first.
    """
    of_item = Ragged.from_pairs(np.array([0, 0, 1, 2]), np.array([0, 4, 1, 5]), 3)
    values = make_values(
        of_item, np.array([0, 0, 0, 0, 1, 1]), np.full(6, 5), np.ones(3), min_support=5
    )
    scores = np.array([[3.0, 1.0, 0.5]])
    effects = np.array([[1.0, 0.0, -0.5, -0.5, 1.0, -0.5]])
    a = answer_listed(np.array([0]), NOBODY, scores, effects, values, Question(k=1))
    assert a.lost.tolist() == [0, 4]
    assert a.gained.tolist() == [2, 5]  # 2 before 3, its equal
    assert (a.score_after[0], a.cutoff[0], a.margin[0]) == (0.0, 1.0, 1.0)
    assert (a.rank_after[0], a.replacement[0]) == (3, 1)
    one = answer_listed(
        np.array([0]), NOBODY, scores, effects, values, Question(k=1, max_changes=1)
    )
    assert STATUS[one.status[0]] == "not_found"
    locked = values._replace(mark=np.full(6, 6, np.uint8))
    assert STATUS[
        answer_listed(np.array([0]), NOBODY, scores, effects, locked, Question(k=1)).status[0]
    ] == ("nothing_changeable")


@settings(max_examples=30)
@given(SEEDS, st.booleans(), KS, MODES)
def test_statuses_say_why_there_is_no_answer(seed: int, coarse: bool, k: int, mode: Any) -> None:
    world = draw(seed, coarse=coarse)
    a = listed(world, Question(k=k, changes=mode))
    for n in range(len(a)):
        own = world.own(int(a.item[n]))
        assert (STATUS[a.status[n]] == "no_attributes") == (not own)
        if STATUS[a.status[n]] == "nothing_changeable" and mode == "remove":
            assert all(world.locked[v] for v in own)
        if a.replacement[n] < 0:
            assert a.status[n] != 0


@settings(max_examples=20)
@given(SEEDS, st.booleans(), st.sampled_from(["value", "item"]))
def test_one_pair_at_a_time_gives_the_same_bits(seed: int, coarse: bool, scope: Any) -> None:
    world = draw(seed, coarse=coarse, n_items=30, n_values=40, users=3)
    question = Question(k=4, scope=scope)
    together = listed(world, question)
    for n in range(len(together)):
        here = slice(n, n + 1)
        alone = world.asked(together.user[here], together.item[here], question)
        changed = slice(together.indptr[n], together.indptr[n + 1])
        for name in ("status", "rank_before", "score_after", "rank_after", "margin", "toward"):
            one, many = getattr(alone, name), getattr(together, name)[here]
            assert one.tobytes() == many.tobytes(), name
        np.testing.assert_array_equal(alone.lost, together.lost[changed])
        np.testing.assert_array_equal(alone.gained, together.gained[changed])


def test_more_gains_than_are_sorted_at_first() -> None:
    """An item that owns the twelve best gains of its relation, and more changes than four."""
    n = 60
    own = np.concatenate([np.arange(12), np.arange(40, 52)])
    of_item = Ragged.from_pairs(np.zeros(len(own), int), own, 2)
    several = np.array([True])
    values = make_values(of_item, np.zeros(n, int), np.full(n, 9), np.ones(2), several=several)
    effects = np.arange(n, dtype=np.float64)[None] / 4 - 7
    scores = np.array([[0.0, -57.0]])
    a = answer_listed(np.array([0]), NOBODY, scores, effects, values, Question(k=1))
    assert a.lost[:3].tolist() == [51, 50, 49]
    assert a.gained.tolist() == list(range(12, 12 + len(a.gained)))
    total = np.cumsum(effects[0, a.gained] - effects[0, a.lost])
    assert total[-1] < -57.0 <= total[-2]
    assert len(a.gained) > 4
    added = answer_listed(
        np.array([0]), NOBODY, scores, effects, values, Question(k=1, changes="any")
    )
    assert added.size[0] <= a.size[0]


def test_a_relation_with_many_good_changes_is_not_cut_short() -> None:
    """Six changes of one relation are worth 2 each, three of another 1 each; 10.5 are needed.

    Six of the first do it; four of the first and three of the second would do as well.
    """
    relation = np.repeat([0, 1], [12, 6])
    own = np.array([*range(6), 12, 13, 14])
    of_item = Ragged.from_pairs(0 * own, own, 2)
    values = make_values(of_item, relation, np.full(18, 5), np.ones(2))
    effects = np.repeat([1.0, -1.0, 0.5, -0.5], [6, 6, 3, 3])[None]
    scores = np.array([[10.5, 0.25]])
    a = answer_listed(np.array([0]), NOBODY, scores, effects, values, Question(k=1))
    assert a.lost.tolist() == [0, 1, 2, 3, 4, 5]
    assert a.gained.tolist() == [6, 7, 8, 9, 10, 11]
    assert a.score_after[0] == -1.5


def test_very_many_changes() -> None:
    """One value of its own, effect 0, and 400 others of effect -1 that can be added, 310 needed."""
    of_item = Ragged.from_pairs(np.zeros(1, int), np.zeros(1, int), 2)
    values = make_values(
        of_item, np.zeros(401, int), np.full(401, 9), np.ones(2), several=np.array([True])
    )
    effects = np.append(0.0, np.full(400, -1.0))[None]
    scores = np.array([[309.5, 0.0]])
    a = answer_listed(np.array([0]), NOBODY, scores, effects, values, Question(k=1, changes="any"))
    assert a.gained.tolist() == list(range(1, 311))
    assert set(a.lost.tolist()) == {-1}
    assert a.margin[0] == 0.5


def test_what_is_given_is_checked() -> None:
    world = draw(1, coarse=True)
    numbers = world.known, world.scores, world.effects, world.values, Question(k=1)
    with pytest.raises(DataError, match="order of their users"):
        answer_asked(np.array([1, 0]), np.array([0, 0]), *numbers)
    with pytest.raises(DataError, match="above 0"):
        make_values(world.of_item, world.relation, world.support, 0 * world.scale)
    with pytest.raises(DataError, match="order of their relations"):
        make_values(world.of_item, world.relation[::-1] - [*range(11)], world.support, world.scale)
    with pytest.raises(DataError, match="not of these users"):
        answer_listed(np.arange(1), *numbers)
    none = np.zeros(0, int)
    empty = world.known, world.scores[none], world.effects[none], world.values, Question(k=1)
    assert len(answer_listed(none, *empty)) == 0
