"""Stability, calibration and truth, on small worlds and by hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from cerec.data.synthetic.generate import WorldConfig
from cerec.data.synthetic.tastes import draw_tastes
from cerec.data.synthetic.world import draw_world
from cerec.errors import ConfigError
from cerec.explain.explainer import Explainer
from cerec.explain.holds import LAW, Spread, held
from cerec_bench.firmness.calibration import bins, fit, worst
from cerec_bench.firmness.stability import Stability, World, changes, stability
from cerec_bench.firmness.truth import truth
from cerec_bench.firmness.worlds import data_of

SOURCE = "world:3:users=60,items=80,interactions=1200"


@cache
def world() -> World:
    return World.of(data_of(SOURCE))


@cache
def measured() -> Stability:
    return stability(world(), users=20, folds=2, k=8)


def test_folds_are_disjoint_tenths() -> None:
    every, kept = world().history, [world().without(fold) for fold in range(10)]
    width = len(world().data.items)

    def keys(of) -> set[int]:  # type: ignore[no-untyped-def]
        return set((of.row_of().astype(np.int64) * width + of.indices).tolist())

    missing = [keys(every) - keys(of) for of in kept]
    assert sum(map(len, missing)) == len(keys(every)) == len(set().union(*missing))
    assert max(map(len, missing)) - min(map(len, missing)) <= 1


def test_outcomes_are_those_of_an_explainer_of_the_second_model() -> None:
    w, found = world(), measured()
    a, o = found.answers, found.outcomes[1]
    other = Explainer(w.data, w.subject(w.without(1)))
    assert 0 < o.holds.sum() <= o.listed.sum()
    for n in np.flatnonzero(a.status == 0)[:60]:
        user, item = w.data.users[int(a.user[n])], w.data.items[int(a.item[n])]
        again = other.explain(user, item, k=8, by="attributes")
        assert o.listed[n] == (again.status != "not_recommended")
        if not o.listed[n]:
            continue
        values = set(other.subject.of_item.row(int(a.item[n])).tolist())
        lost_gained = changes(a, n)
        values = values - {x for x, _ in lost_gained} | {x for _, x in lost_gained}
        facts = other.subject.facts
        rows = other.subject.vocabulary[sorted(values)]
        pairs = [
            (w.data.relations[facts.relation[v]], w.data.entities[facts.attribute[v]]) for v in rows
        ]
        assert o.holds[n] == (other.what_if(user, item, pairs, k=8).rank_after > 8)


def test_pooled_rows_and_summary() -> None:
    spread, said, outcome = measured().pooled()
    assert len(spread.margin) == len(said) == len(outcome)
    assert np.array_equal(said, held(spread, LAW))
    assert 0.0 <= measured().summary()["same"] <= measured().summary()["listed"] <= 1.0


def test_bins_have_equal_counts() -> None:
    said = np.linspace(0, 1, 1000)
    found = bins(said, said > 0.5)
    assert [b.answers for b in found] == [500, 500]
    assert [b.observed for b in found] == [0.0, 1.0]
    assert worst(found) == pytest.approx(0.25, abs=1e-3)


def test_a_law_is_found_again() -> None:
    rng = np.random.default_rng(0)
    one = np.ones(20_000)
    spread = Spread(one, one, 20 * one, 0.1 * one, rng.exponential(0.5, len(one)), 5 * one)
    outcome = rng.random(len(one)) < held(spread, LAW)
    assert np.abs(held(spread, fit([(spread, outcome)])) - held(spread, LAW)).max() < 0.02


def test_truth_in_a_small_world() -> None:
    config = WorldConfig(users=60, items=80, interactions=1200)
    found = truth(config, 3, k=8)
    assert 0.0 < found.planted <= found.either <= 1.0
    assert 0 < found.in_both <= found.pairs == 60 * 8


def test_strengths_are_those_the_world_was_drawn_with() -> None:
    """Every planted taste has its sign; the others are zero."""
    from cerec.data.facts import Facts
    from cerec_bench.firmness.truth import strengths_of

    config = WorldConfig(users=60, items=80, interactions=1200)
    data = data_of(SOURCE)
    facts = Facts.build(data)
    strengths = strengths_of(config, 3, facts)
    planted = data.planted
    assert planted is not None
    sign = {
        (int(u), int(r), int(a)): int(s)
        for u, r, a, s in zip(
            planted.user, planted.relation, planted.attribute, planted.sign, strict=True
        )
    }
    for u in range(60):
        for v in range(facts.n_values):
            key = u, int(facts.relation[v]), int(facts.attribute[v])
            assert np.sign(strengths[u, v]) == sign.get(key, 0)
    drawn = draw_world(config.items, None, config.relations, None, 3)
    tastes = draw_tastes(drawn, 60, config.circles, config.taste, 3, {})
    assert (strengths != 0).sum() == len(tastes.user)


def test_what_names_no_world_is_refused() -> None:
    for wrong in ("world:x", "world:1:size=3", "world:1:taste"):
        with pytest.raises(ConfigError, match="names no world"):
            data_of(wrong)
