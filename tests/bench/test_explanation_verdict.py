"""The check of explanations: flips, necessity and sufficiency on a world one can do by hand."""

from __future__ import annotations

import numpy as np
import pytest
from explanation_worlds import context_of, learned, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec_bench.explainers.edits import Shares
from cerec_bench.explainers.pairs import listed_pairs
from cerec_bench.explainers.protocol import NO_ANSWER, Answer, Context, Pairs
from cerec_bench.explainers.registry import METHODS
from cerec_bench.explainers.verdict import judge


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
    return context_of(data, known, facts, one, item, effect, k=k)


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
    assert found.similarity[1] == 0.5  # good, of good and bad
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
    shares = Shares.of(context.standing(0), context.subject)
    every = rows(BAD, GOOD, PLAIN)
    ranks = [shares.rank(i, every, keep=False, everywhere=True) for i in (C, A, B)]
    assert ranks == [1, 2, 3]


@given(seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_all_values_suffice_and_none_are_not_necessary(seed: int) -> None:
    context, pairs = random_world(seed)
    every = np.arange(context.facts.n_values, dtype=np.int32)
    for user, places in pairs.by_user():
        shares = Shares.of(context.standing(user), context.subject)
        for at in places:
            item, rank = int(pairs.item[at]), int(pairs.rank[at])
            for everywhere in (True, False):
                kept = shares.rank(item, every, keep=True, everywhere=everywhere)
                same = shares.rank(item, every[:0], keep=False, everywhere=everywhere)
                assert kept == rank
                assert same == rank


@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_edits_agree_with_scoring_every_item_anew(seed: int) -> None:
    context, pairs = random_world(seed)
    rng = np.random.default_rng(seed)
    facts = context.facts
    for user, places in pairs.by_user():
        standing = context.standing(user)
        shares = Shares.of(standing, context.subject)
        position = {int(i): n for n, i in enumerate(standing.order)}
        for at in list(places)[:2]:
            item = int(pairs.item[at])
            chosen = rng.choice(facts.n_values, 4, replace=False).astype(np.int32)
            for keep in (True, False):
                new = np.array(
                    [
                        rescored(context, user, i, kept(facts.of_item.row(i), chosen, keep))
                        for i in range(len(facts.of_item))
                    ]
                )
                order = sorted(position, key=lambda i: (-new[i], position[i]))
                got = shares.rank(item, chosen, keep=keep, everywhere=True)
                assert got == order.index(item) + 1


def rescored(context: Context, user: int, item: int, values: np.ndarray) -> float:
    """f(u, i | A), from the vectors alone."""
    users, items = context.factors
    effect = context.subject.both(np.array([user]))[1][0]
    own = context.facts.of_item.row(item)
    return float(users[user].astype(float) @ items[item] + effect[values].sum() - effect[own].sum())


def kept(own: np.ndarray, chosen: np.ndarray, keep: bool) -> np.ndarray:
    return own[np.isin(own, chosen) == keep]


def random_world(seed: int) -> tuple[Context, Pairs]:
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
    known = Ragged.from_pairs(rows(0, 1, 2), rows(0, 1, 2), n_users)
    context = context_of(data, known, facts, user, item, effect, k=4)
    return context, listed_pairs(context)


@pytest.mark.parametrize("seed", range(3))
def test_what_cerec_verified_the_judge_finds_too(seed: int) -> None:
    context = learned(seed, epochs=1)
    pairs = listed_pairs(context, 40)
    size, found = {}, {}
    for name in ("cerec", "cerec-free"):
        method = METHODS[name].make()
        method.fit(context)
        verdicts = judge(context, pairs, method.explain(pairs))
        assert verdicts.found.any()
        assert (verdicts.flipped == verdicts.found).all()
        size[name], found[name] = verdicts.size, verdicts.found
    assert (found["cerec-free"] >= found["cerec"]).all()
    assert (size["cerec-free"] <= size["cerec"])[found["cerec"]].all()


def test_a_history_is_judged_by_forgetting() -> None:
    context = hand()
    verdicts = judge(context, one(C, 1, 1), [Answer(removed=rows(3))])
    assert verdicts.size.tolist() == [1]
    assert not verdicts.pn_all[0]


def test_answers_must_be_as_many_as_pairs() -> None:
    with pytest.raises(ConfigError, match="as many answers"):
        judge(hand(), one(C, 1, 1), [])
