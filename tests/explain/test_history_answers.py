"""History answers against trying everything, and by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from history_worlds import (
    Only,
    by_hand,
    listed,
    rank_of,
    rank_without,
    scores_of,
    smallest,
    world,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.ragged import Ragged
from cerec.explain.history import Budget, Histories, HistoryAnswer
from cerec.recommend.linear.model import Linear

KINDS = [(False, False), (True, False), (False, True), (True, True)]


def check(model: Linear, user: int, item: int, k: int, answer: HistoryAnswer) -> None:
    """Every claim, through a model that knows only the shortened history."""
    if not answer.verified:
        assert answer.items == ()
        assert answer.certificate in ("none", "open")
        return
    assert set(answer.items) <= set(model.known(user).tolist())
    assert answer.rank_after == rank_without(model, user, item, answer.items) > k
    rows = model.known(user)
    keep = ~np.isin(rows, answer.items)
    start = int(model.arrays.history_ptr[user])
    weight = model.arrays.weight[start : start + len(rows)]
    scores = scores_of(model, rows[keep], weight[keep])
    assert answer.score_after == scores[item]
    seen = set(rows.tolist())
    after = sorted((i for i in range(len(scores)) if i not in seen), key=lambda i: (-scores[i], i))
    assert answer.cutoff == scores[after[k - 1]]
    before = listed(model, user, k)
    assert answer.replacement == next(i for i in after[:k] if i not in before)
    for n in range(len(answer.items)):
        fewer = answer.items[:n] + answer.items[n + 1 :]
        assert not fewer or rank_without(model, user, item, fewer) <= k


@pytest.mark.parametrize(("factors", "weights"), KINDS)
@pytest.mark.parametrize("k", [2, 5])
def test_sizes_are_those_of_trying_everything(factors, weights, k):
    seen = set()
    for seed in range(4):
        model = world(seed, factors=factors, weights=weights)
        ask = Histories(model)
        for user in range(6):
            for item in listed(model, user, k):
                answer = ask.why(user, item, k)
                assert answer is not None
                check(model, user, item, k, answer)
                truth = smallest(model, user, item, k, 3)
                seen.add(truth)
                if answer.certificate == "minimum":
                    assert len(answer.items) == truth or (truth == 0 and len(answer.items) > 3)
                if answer.certificate == "none":
                    assert truth == 0
                if truth in (1, 2):  # small worlds are always proven
                    assert answer.certificate == "minimum"
    assert {1, 2} <= seen


@pytest.mark.parametrize(("factors", "weights"), KINDS)
def test_a_batch_gives_the_answers_of_single_questions(factors, weights):
    model = world(7, factors=factors, weights=weights)
    ask, k = Histories(model), 3
    pairs = [(user, item) for user in range(20) for item in listed(model, user, k)][::-1]
    users, items = (np.array(column) for column in zip(*pairs, strict=True))
    many = ask.why_many(users, items, k)
    assert repr(many) == repr([ask.why(user, item, k) for user, item in pairs])
    assert ask.why_many(users[:0], items[:0], k) == []


def trap() -> tuple[Linear, int]:
    """k = 2, two rivals 1.15 behind the target: greedy takes four items, two are enough."""
    history, target, rivals = [0, 1, 2, 3, 4, 5], 6, [7, 8]
    direct = np.zeros((12, 12))
    for h, gain in zip(
        history, [(1, 0), (1, 0), (0, 1), (0, 1), (0.6, 0.6), (0.6, 0.6)], strict=True
    ):
        direct[h, rivals] = -np.array(gain)
    base = np.full(12, -50.0)
    base[target] = 10.0
    base[rivals] = 10.0 - 1.15 - direct[:, rivals].sum(axis=0)
    return by_hand(direct, base, history), target


def test_where_greedy_takes_four_two_are_found():
    model, target = trap()
    answer = Histories(model).why(0, target, k=2)
    assert answer is not None
    assert (answer.items, answer.rank_after, answer.certificate) == ((4, 5), 3, "minimum")
    brought = Histories(Only(model), histories=model.histories).why(0, target, k=2)
    assert brought is not None
    assert (brought.items, brought.certificate) == ((4, 5), "minimum")


def test_a_budget_of_nothing_still_gives_an_irreducible_answer():
    model, target = trap()
    answer = Histories(model, budget=Budget(work=0)).why(0, target, k=2)
    assert answer is not None
    assert answer.verified
    check(model, 0, target, 2, answer)


def test_equal_scores_keep_the_order_of_the_catalogue():
    direct = np.zeros((6, 6))
    direct[0, 3] = 1.0  # without item 0, items 2 to 5 are equal
    for target, out in [(3, True), (2, False)]:
        base = np.zeros(6)
        base[1], base[2] = -9.0, 0.5 * (target == 2)
        answer = Histories(by_hand(direct, base, [0, 1])).why(0, target, k=1 if out else 2)
        assert answer is not None
        assert answer.verified == out
        assert answer.items == ((0,) if out else ())
        assert answer.certificate == ("minimum" if out else "none")


def test_what_nothing_can_move_says_so():
    base = np.array([0.0, 0.0, 5.0, 1.0, 0.0])
    answer = Histories(by_hand(np.zeros((5, 5)), base, [0, 1])).why(0, 2, k=1)
    assert answer == HistoryAnswer((), 1, 1, 5.0, 1.0, -1, "none", False)
    brought = Histories(
        Only(by_hand(np.zeros((5, 5)), base, [0, 1])),
        histories=Ragged(np.array([0, 2]), np.array([0, 1], np.int32)),
    ).why(0, 2, k=1)
    assert brought is not None
    assert brought.certificate == "none"


def test_one_item_and_no_item():
    direct = np.zeros((4, 4))
    direct[0, 1] = 2.0
    one = by_hand(direct, np.array([0.0, 0.0, 1.0, 0.5]), [0])
    answer = Histories(one).why(0, 1, k=1)
    assert answer is not None
    assert (answer.items, answer.rank_after, answer.replacement) == ((0,), 3, 2)
    nobody = by_hand(direct, np.array([0.0, 0.0, 1.0, 0.5]), [])
    answer = Histories(nobody).why(0, 2, k=1)
    assert answer is not None
    assert answer.certificate == "none"


def test_what_is_not_listed_has_no_answer():
    model, target = trap()
    ask = Histories(model, known=Ragged(np.array([0, 1]), np.array([7], np.int32)))
    assert ask.why(0, 9, k=2) is None
    assert ask.why(0, 0, k=2) is None  # part of the history
    assert ask.why(0, 7, k=2) is None  # never listed
    answer = ask.why(0, target, k=1)
    assert answer is not None
    assert answer.replacement == 8


@pytest.mark.parametrize("factors", [False, True])
def test_a_brought_recommender_agrees_for_small_sets(factors):
    k = 3
    for seed in range(3):
        model = world(seed, factors=factors)
        ask = Histories(Only(model), histories=model.histories)
        for user in range(5):
            for item in listed(model, user, k):
                answer = ask.why(user, item, k)
                assert answer is not None
                check(model, user, item, k, answer)
                truth = smallest(model, user, item, k, 3)
                if answer.certificate == "minimum":
                    assert len(answer.items) == truth or (truth == 0 and len(answer.items) > 3)
                if truth in (1, 2):
                    assert (len(answer.items), answer.certificate) == (truth, "minimum")


def test_a_brought_recommender_is_not_asked_without_end():
    model = world(3, users=2, items=60, each=80)
    brought = Only(model)
    ask = Histories(brought, histories=model.histories, budget=Budget(asked=40))
    item = listed(model, 0, 2)[0]
    answer = ask.why(0, item, 2)
    assert answer is not None
    assert brought.asked <= 40 + 2 + len(model.known(0)) ** 2
    if answer.verified:
        check(model, 0, item, 2, answer)


def test_nan_is_never_listed():
    model = world(1)
    banned = listed(model, 0, 3)[0]
    ask = Histories(Only(model, banned=banned), histories=model.histories)
    assert ask.why(0, banned, 3) is None
    assert ask.why_not(0, banned, 3) is None
    item = listed(model, 0, 3)[1]
    answer = ask.why(0, item, 3)
    assert answer is not None
    assert answer.replacement != banned


def rank_with(model: Linear, user: int, item: int, more: tuple[int, ...]) -> int:
    rows = np.append(model.known(user), more).astype(int)
    start = int(model.arrays.history_ptr[user])
    weight = model.arrays.weight[start : start + len(model.known(user))]
    scores = scores_of(model, rows, np.append(weight, np.ones(len(more))))
    return rank_of(scores, item, set(rows.tolist()))


@pytest.mark.parametrize(("factors", "weights"), KINDS)
@pytest.mark.parametrize("brought", [False, True])
def test_the_way_in(factors, weights, brought):
    if brought and weights:
        pytest.skip("histories of a brought recommender have no weights")
    k, sizes = 3, []
    for seed in range(3):
        model = world(seed, factors=factors, weights=weights)
        ask = Histories(Only(model), histories=model.histories) if brought else Histories(model)
        for user in range(4):
            order = listed(model, user, 24)
            assert ask.why_not(user, order[0], k) is None
            for item in order[3::4]:
                answer = ask.why_not(user, item, k)
                assert answer is not None
                free = [i for i in order if i != item]
                pairs = [*((i,) for i in free), *combinations(free, 2)]
                truth = next((len(p) for p in pairs if rank_with(model, user, item, p) <= k), 0)
                if truth == 1:
                    assert answer.certificate == "minimum"
                if answer.verified:
                    assert set(answer.items) <= set(free)
                    assert answer.rank_after == rank_with(model, user, item, answer.items) <= k
                    sizes.append(len(answer.items))
                if answer.certificate == "minimum":
                    assert len(answer.items) == truth or (truth == 0 and len(answer.items) > 2)
                for n in range(len(answer.items)):
                    fewer = answer.items[:n] + answer.items[n + 1 :]
                    assert rank_with(model, user, item, fewer) > k
    assert {1} <= set(sizes)


def test_few_rivals_at_first_prove_the_same():
    for factors in (False, True):
        model = world(5, factors=factors, items=40, each=9)
        small = Histories(model, budget=Budget(rounds=((9, 2), (18, 3), (100, 32))))
        large = Histories(model)
        for user in range(8):
            for item in listed(model, user, 2):
                a, b = small.why(user, item, 2), large.why(user, item, 2)
                assert a is not None
                assert b is not None
                assert (len(a.items), a.certificate) == (len(b.items), b.certificate)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_tables_by_hand_against_trying_everything(data):
    """Coarse numbers: ties everywhere."""
    n_history, n_others = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 5))
    n_items = n_history + n_others
    numbers = st.integers(-2, 2).map(lambda x: x / 2)
    rows = st.lists(numbers, min_size=n_items, max_size=n_items)
    direct = np.array(data.draw(st.lists(rows, min_size=n_items, max_size=n_items)))
    base = np.array(data.draw(rows))
    np.fill_diagonal(direct, 0.0)
    model = by_hand(direct, base, list(range(n_history)))
    k = data.draw(st.integers(1, 3))
    for item in listed(model, 0, k):
        truth = smallest(model, 0, item, k, n_history)
        for ask in (Histories(model), Histories(Only(model), histories=model.histories)):
            answer = ask.why(0, item, k)
            assert answer is not None
            assert len(answer.items) == truth
            assert answer.certificate == ("minimum" if truth else "none")
            if answer.verified:
                assert answer.rank_after == rank_without(model, 0, item, answer.items)


@pytest.mark.parametrize("entries", [6_000_000, 1000])
def test_long_histories_end_in_time(entries):
    """Three thousand items; with few entries allowed the model is asked instead of searched."""
    rng = np.random.default_rng(0)
    n_history, n_items = 3000, 3300
    direct = np.zeros((n_items, n_items))
    near = np.arange(n_history, n_history + 60)
    direct[:n_history, near] = rng.random((n_history, 60)) * 1e-3
    model = by_hand(direct, np.zeros(n_items), list(range(n_history)))
    item = listed(model, 0, 5)[0]
    answer = Histories(model, budget=Budget(asked=100, entries=entries)).why(0, item, 5)
    assert answer is not None
    assert answer.verified
    assert answer.rank_after == rank_without(model, 0, item, answer.items) > 5
    assert (answer.certificate == "minimum") == (entries > 1000)


def test_sets_are_no_longer_than_allowed_unless_found_by_asking():
    base = np.array([0.0] * 6 + [5.0, 1.0, 0.0])
    model = by_hand(np.zeros((9, 9)), base, list(range(6)))
    answer = Histories(model, budget=Budget(most=2, asked=30)).why(0, 6, k=1)
    assert answer is not None
    assert answer.certificate == "open"  # larger sets were not looked at


def test_weights_of_a_user_count():
    model = world(2, weights=True)
    plain = Linear(replace(model.arrays, weight=np.ones(len(model.arrays.weight))))
    assert not np.array_equal(model.scores(np.arange(3)), plain.scores(np.arange(3)))
    answers = [
        [Histories(m).why(u, i, 3) for u in range(10) for i in listed(m, u, 3)]
        for m in (model, plain)
    ]
    assert answers[0] != answers[1]
