"""Greedy search, by hand and against enumeration and the judge."""

from __future__ import annotations

from itertools import combinations

from explanation_worlds import hand, learned, pairs_of
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec_bench.explainers.pairs import listed_pairs
from cerec_bench.explainers.protocol import Context, Method, Pairs
from cerec_bench.explainers.search import Greedy
from cerec_bench.explainers.verdict import judge


def answers(method: Method, context: Context, pairs: Pairs) -> list:
    method.fit(context)
    return method.explain(pairs)


# item 0 has values 0, 1, 2 and scores 1 + 2 + 4 = 7; item 1 scores 4; item 2 scores -3
SUM = hand([1.0, 2.0, 4.0, 4.0, -3.0], [[0, 1, 2], [3], [4]], [0, 0, 1, 1, 0])


def test_greedy_by_hand() -> None:
    (answer,) = answers(Greedy(), SUM, pairs_of(1, (0, 0, 1)))
    assert answer.lost.tolist() == [2]  # 3 is below 4
    assert answer.values.tolist() == [2]
    assert not len(answer.gained)


def test_greedy_goes_on_until_the_item_is_out() -> None:
    close = hand([1.0, 2.0, 4.0, 2.5], [[0, 1, 2], [3]], [0, 0, 0, 0])
    (answer,) = answers(Greedy(), close, pairs_of(1, (0, 0, 1)))
    assert answer.lost.tolist() == [2, 1]


def test_a_tie_goes_by_the_catalogue() -> None:
    level = hand([3.0, 3.0, 3.0], [[0, 1], [2]], [0, 0, 0])
    (answer,) = answers(Greedy(), level, pairs_of(1, (0, 0, 1)))
    assert answer.lost.tolist() == [0, 1]  # at 3 to 3 item 0 still comes first
    late = hand([3.0, 3.0, 3.0], [[2], [0, 1]], [0, 0, 0])
    (answer,) = answers(Greedy(), late, pairs_of(1, (0, 1, 1)))
    assert answer.lost.tolist() == [0]


def test_what_cannot_be_lowered_has_no_answer() -> None:
    sure = hand([-1.0, 5.0, -9.0], [[0], [2]], [0, 0, 0])
    alone = hand([1.0], [[0]], [0])  # nobody to take the place
    for context in (sure, alone):
        assert not answers(Greedy(), context, pairs_of(1, (0, 0, 1)))[0].found


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_what_greedy_finds_flips(seed: int) -> None:
    context = learned(seed)
    pairs = listed_pairs(context, 12)
    verdicts = judge(context, pairs, answers(Greedy(), context, pairs))
    assert (verdicts.flipped == verdicts.found).all()


def test_nothing_smaller_flips() -> None:
    context = learned(7)
    pairs = listed_pairs(context, 15)
    for at, answer in enumerate(answers(Greedy(), context, pairs)):
        item, standing = int(pairs.item[at]), context.standing(int(pairs.user[at]))
        own = context.facts.of_item.row(item)
        for size in range(len(answer.lost) or len(own) + 1):
            for lost in combinations(own.tolist(), size):
                score = float(standing.scores[item] - standing.effects[list(lost)].sum())
                assert standing.rank(item, score) <= pairs.k
