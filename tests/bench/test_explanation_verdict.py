"""The check of explanations: flips, necessity and sufficiency on a world one can do by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.scorer import Scorer
from cerec_bench.explainers.edits import Shares
from cerec_bench.explainers.explained import explanations
from cerec_bench.explainers.pairs import listed_pairs
from cerec_bench.explainers.protocol import NO_ANSWER, AgentSetup, Answer, Context, Pairs
from cerec_bench.explainers.registry import METHODS
from cerec_bench.explainers.verdict import judge
from cerec_bench.search.explanation import Explanation


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def hand(k: int = 1) -> Context:
    """One user, who knows item d. Effects: good +3, plain +1, bad -2, summed over an item's values.

        a: good bad  = 1     b: plain = 1     c: good = 3     d: known

    So the list is c, a, b (a and b tie, catalogue order).
    """
    head, tail = [0, 0, 1, 2], [5, 4, 6, 5]
    data = Dataset(
        name="hand",
        users=IdTable("user", ["u"]),
        items=IdTable("item", ["a", "b", "c", "d"]),
        entities=IdTable("entity", ["bad", "good", "plain"]),
        relations=IdTable("relation", ["kind"]),
        interactions=Interactions(rows(0), rows(3)),
        triples=Triples(rows(*head), rows(0, 0, 0, 0), rows(*tail)),
    )
    facts = Facts.build(data)
    effect = np.array([[-2.0], [3.0], [1.0]], np.float32)
    item = np.array([[1.0], [1.0], [3.0], [0.0]], np.float32)
    one = np.ones((1, 1), np.float32)
    known = Ragged.from_pairs(rows(0), rows(3), 1)
    scorer = Scorer(one, item, effect, one, "sum")
    return Context(data, known, facts, scorer, k=k, seed=0, setup=AgentSetup(epochs=0))


BAD, GOOD, PLAIN = 0, 1, 2
A, B, C = 0, 1, 2


def one(item: int, rank: int, k: int) -> Pairs:
    return Pairs(rows(0), rows(item), rows(rank), k)


def test_flips_by_hand() -> None:
    context = hand()
    pairs = Pairs(rows(0, 0, 0, 0), rows(C, C, C, C), rows(1, 1, 1, 1), 1)
    answers = [
        Answer(values=rows(BAD), gained=rows(BAD)),  # 3 - 2 = 1: behind a and b, which tie with it
        Answer(values=rows(BAD), gained=rows(BAD), lost=rows(GOOD), counterfactual=A),  # -2
        Answer(values=rows(PLAIN), gained=rows(PLAIN)),  # 4: stays
        NO_ANSWER,
    ]
    found = judge(context, pairs, answers)
    assert found.flipped.tolist() == [True, True, False, False]
    assert found.rank_after.tolist() == [3, 3, 1, 1]
    assert found.found.tolist() == [True, True, True, False]
    assert found.size.tolist() == [1, 1, 1, 0]
    assert found.similarity[1] == 1.0
    assert np.isnan(found.similarity[[0, 2, 3]]).all()
    assert not found.ps_all[3]


def test_necessity_and_sufficiency_by_hand() -> None:
    """Taking `good` from all: a -2, b 1, c 0, so b leads. From c alone: a 1, b 1, c 0."""
    context = hand()
    answer = Answer(values=rows(GOOD), lost=rows(GOOD))
    found = judge(context, one(C, 1, 1), [answer])
    assert found.pn_all.tolist() == [True]
    assert found.pn_item.tolist() == [True]
    # nothing but `good`: a 3, b 0, c 3: a tie with a, which c was ahead of
    assert found.ps_all.tolist() == [True]
    assert found.ps_item.tolist() == [True]
    # `bad` on c: taken from all, a rises to 3 and ties with c, which keeps its place
    bad = judge(context, one(C, 1, 1), [Answer(values=rows(BAD), gained=rows(BAD))])
    assert bad.pn_all.tolist() == [False]
    assert bad.pn_item.tolist() == [False]


def test_ties_keep_the_order_before() -> None:
    """With no values at all the items tie at what is not explained by values: here 0 for all."""
    context = hand(k=2)
    shares = Shares.of(context.standing(0), context.facts, mean=False)
    every = rows(BAD, GOOD, PLAIN)
    ranks = [shares.rank(context.facts, i, every, keep=False, everywhere=True) for i in (C, A, B)]
    assert ranks == [1, 2, 3]


@given(seed=st.integers(0, 1000), mean=st.booleans())
@settings(max_examples=25, deadline=None)
def test_all_values_suffice_and_none_are_not_necessary(seed: int, mean: bool) -> None:
    context, pairs = random_world(seed, mean)
    every = np.arange(context.facts.n_values, dtype=np.int32)
    for user, places in pairs.by_user():
        shares = Shares.of(context.standing(user), context.facts, mean=mean)
        for at in places:
            item, rank = int(pairs.item[at]), int(pairs.rank[at])
            for everywhere in (True, False):
                kept = shares.rank(context.facts, item, every, keep=True, everywhere=everywhere)
                same = shares.rank(
                    context.facts, item, every[:0], keep=False, everywhere=everywhere
                )
                assert kept == rank
                assert same == rank


@given(seed=st.integers(0, 1000), mean=st.booleans())
@settings(max_examples=15, deadline=None)
def test_edits_agree_with_scoring_every_item_anew(seed: int, mean: bool) -> None:
    context, pairs = random_world(seed, mean)
    rng = np.random.default_rng(seed)
    facts, scorer = context.facts, context.scorer
    for user, places in pairs.by_user():
        standing = context.standing(user)
        shares = Shares.of(standing, facts, mean=mean)
        position = {int(i): n for n, i in enumerate(standing.order)}
        for at in list(places)[:2]:
            item = int(pairs.item[at])
            chosen = rng.choice(facts.n_values, 4, replace=False).astype(np.int32)
            for keep in (True, False):
                new = np.array(
                    [
                        scorer.rescore(user, i, kept(facts.of_item.row(i), chosen, keep), facts)
                        for i in range(len(facts.of_item))
                    ]
                )
                order = sorted(position, key=lambda i: (-new[i], position[i]))
                got = shares.rank(facts, item, chosen, keep=keep, everywhere=True)
                assert got == order.index(item) + 1


def kept(own: np.ndarray, chosen: np.ndarray, keep: bool) -> np.ndarray:
    return own[np.isin(own, chosen) == keep]


def random_world(seed: int, mean: bool) -> tuple[Context, Pairs]:
    rng = np.random.default_rng(seed)
    n_users, n_items, n_entities = 3, 9, 6
    has = np.argwhere(rng.random((n_items, n_entities)) < 0.4).astype(np.int32)
    data = Dataset(
        name="random",
        users=IdTable("user", [f"u{n}" for n in range(n_users)]),
        items=IdTable("item", [f"i{n}" for n in range(n_items)]),
        entities=IdTable("entity", [f"e{n}" for n in range(n_entities)]),
        relations=IdTable("relation", ["r", "s"]),
        interactions=Interactions(rows(0, 1, 2), rows(0, 1, 2)),
        triples=Triples(has[:, 0], (has[:, 1] % 2).astype(np.int32), has[:, 1] + n_items),
    )
    facts = Facts.build(data)
    user = rng.integers(-2, 3, (n_users, 2)).astype(np.float32)
    item = rng.integers(-2, 3, (n_items, 2)).astype(np.float32)
    effect = rng.integers(-2, 3, (facts.n_values, 2)).astype(np.float32)
    scorer = Scorer(user, item, effect, user, "mean" if mean else "sum")
    known = Ragged.from_pairs(rows(0, 1, 2), rows(0, 1, 2), n_users)
    context = Context(data, known, facts, scorer, k=4, seed=0, setup=AgentSetup(epochs=0))
    return context, listed_pairs(context)


@given(seed=st.integers(0, 300), mean=st.booleans())
@settings(max_examples=15, deadline=None)
def test_what_cerec_verified_the_judge_finds_too(seed: int, mean: bool) -> None:
    """And every method's answers become explanations with the same verdict."""
    context, pairs = random_world(seed, mean)
    found = {}
    exact = ("cerec", "cerec-decisive", "cerec-all", "cerec-all-decisive")
    for name in (*exact, "cerec-paper", "cerec-swap", "effects"):
        method = METHODS[name].make()
        method.fit(context)
        answers = method.explain(pairs)
        verdicts = judge(context, pairs, answers)
        if name in exact:
            assert (verdicts.flipped == verdicts.found).all()
            found[name] = verdicts
        told = explanations(context, pairs, answers, verdicts)
        assert [e.status == "verified" for e in told] == verdicts.flipped.tolist()
        for e, at in zip(told, range(len(pairs)), strict=True):
            assert Explanation.from_dict(e.to_dict()) == e
            if e.status == "verified":
                assert e.size == verdicts.size[at]
                assert e.rank_after == verdicts.rank_after[at]
                again = context.explainer.what_if(e.user, e.item, changed(context, e), k=pairs.k)
                assert again.rank_after == e.rank_after
    ours, clear, every = found["cerec"], found["cerec-decisive"], found["cerec-all"]
    assert (ours.found == clear.found).all()
    assert (ours.found == every.found).all()
    assert (clear.size == ours.size).all()
    assert (every.size <= ours.size).all()
    assert (found["cerec-all-decisive"].size == every.size).all()
    lower = clear.score_after[clear.found] <= ours.score_after[clear.found]
    assert lower.all()


def changed(context: Context, e: Explanation) -> list[tuple[str, str]]:
    values = set(context.explainer.attributes(e.item))
    values -= {(c.relation, c.before) for c in e.changes if c.before is not None}
    return sorted(values | {(c.relation, c.after) for c in e.changes if c.after is not None})


def test_a_history_is_judged_by_forgetting_and_told_in_words() -> None:
    context = hand()
    answer = Answer(removed=rows(3))
    verdicts = judge(context, one(C, 1, 1), [answer])
    assert verdicts.size.tolist() == [1]
    assert not verdicts.pn_all[0]
    (told,) = explanations(context, one(C, 1, 1), [answer], verdicts)
    assert (told.status == "verified") == bool(verdicts.flipped[0])
    if told.status == "verified":
        assert "Had you not taken *d*" in told.text


def test_answers_must_be_as_many_as_pairs() -> None:
    with pytest.raises(ConfigError, match="as many answers"):
        judge(hand(), one(C, 1, 1), [])
