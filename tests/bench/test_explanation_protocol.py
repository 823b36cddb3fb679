"""The protocol every explainer follows, and RDExp through it."""

from __future__ import annotations

import numpy as np
import pytest
from explanation_worlds import context_of, learned, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.facts import Facts
from cerec.data.split import split
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError
from cerec_bench.explainers.pairs import listed_pairs
from cerec_bench.explainers.protocol import NO_ANSWER, Answer, Context, touching
from cerec_bench.explainers.rdexp import RandomExplainer
from cerec_bench.explainers.registry import METHODS, method


@pytest.fixture(scope="module")
def context() -> Context:
    return learned(0, epochs=1)


def test_a_replacement_is_one_change(context: Context) -> None:
    relation = context.facts.relation
    first, second = (
        np.flatnonzero(relation == r)[:2].astype(np.int32) for r in np.unique(relation)[:2]
    )
    answer = Answer(lost=first[:1], gained=first[1:])
    assert answer.size(context.facts) == 1
    assert Answer(lost=first[:1], gained=second).size(context.facts) == 3
    assert Answer(removed=rows(4, 5)).size(context.facts) == 2
    assert NO_ANSWER.size(context.facts) == 0
    assert not NO_ANSWER.found
    assert Answer(strays=1).found


def test_touching_parts_a_set_by_what_the_item_has() -> None:
    answer = touching(rows(9, 2, 5), rows(2, 3, 9))
    assert answer.values.tolist() == [9, 2, 5]
    assert answer.lost.tolist() == [9, 2]
    assert answer.gained.tolist() == [5]


def test_pairs_are_listed_and_the_same_for_every_seed(context: Context) -> None:
    every = listed_pairs(context)
    assert len(every) == 30 * 5
    for user, at in every.by_user():
        assert (every.user[at.start : at.stop] == user).all()
        assert every.rank[at.start : at.stop].tolist() == [1, 2, 3, 4, 5]
        expected = context.standing(user).order[:5]
        assert every.item[at.start : at.stop].tolist() == expected.tolist()
    some = listed_pairs(context, 30)
    assert len(some) == 30
    assert some.item.tolist() == listed_pairs(context, 30).item.tolist()
    with pytest.raises(ConfigError, match="at least 1 pair"):
        listed_pairs(context, 0)


def test_forgetting_nothing_changes_nothing(context: Context) -> None:
    assert (context.scores_without(0, rows()) == context.standing(0).scores).all()
    history = context.train.row(0)
    without = context.scores_without(0, history[:1])
    assert without[history[0]] < context.standing(0).scores[history[0]]
    assert np.isfinite(context.scores_without(0, history)).all()


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if "neuacf" in n else n for n in sorted(METHODS)],
)
def test_every_method_keeps_the_protocol(name: str, context: Context) -> None:
    """Distinct values, changes that can be made, and the same answers from the same seed."""
    pairs = listed_pairs(context, 12)
    entry = METHODS[name]
    found = []
    for _ in range(2):
        made = entry.make()
        made.fit(context)
        found.append(made.explain(pairs))
    assert len(found[0]) == len(pairs)
    for n, (answer, again) in enumerate(zip(*found, strict=True)):
        own = context.facts.of_item.row(int(pairs.item[n]))
        assert len(np.unique(answer.values)) == len(answer.values)
        assert np.isin(answer.lost, own).all()
        assert not np.isin(answer.gained, own).any()
        assert np.isin(answer.removed, context.train.row(int(pairs.user[n]))).all()
        assert answer.counterfactual != pairs.item[n]
        assert entry.acts_on == "history" or len(answer.removed) == 0
        assert entry.acts_on == "values" or len(answer.values) == 0
        for field in ("values", "lost", "gained", "removed"):
            assert getattr(answer, field).tolist() == getattr(again, field).tolist()


def test_an_unknown_method_is_told_with_a_near_one() -> None:
    with pytest.raises(ConfigError, match="did you mean 'rdexp-own'"):
        method("rdexp-owm")


@given(size=st.integers(1, 40), number=st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_random_sets_are_distinct_and_of_the_size(size: int, number: int) -> None:
    world = make_world(WorldConfig(users=4, items=12, interactions=20), seed=1)
    facts = Facts.build(world)
    zero = np.zeros((4, 1), np.float32)
    item, value = (np.zeros((n, 1), np.float32) for n in (12, facts.n_values))
    context = context_of(world, split(world, seed=0).train, facts, zero, item, value, k=3)
    pairs = listed_pairs(context)
    for pool in ("entities", "values", "own"):
        explainer = RandomExplainer(pool, size)
        explainer.fit(context)
        for answer, item in zip(explainer.draw(pairs, number), pairs.item, strict=True):
            most = {
                "entities": facts.n_values + 12,
                "values": facts.n_values,
                "own": len(facts.of_item.row(int(item))),
            }[pool]
            assert len(np.unique(answer.values)) == len(answer.values)
            assert len(answer.values) + answer.strays == min(size, most)
