"""Ground truths and the agreement with them, by hand first."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from explanation_worlds import context_of, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split, split
from cerec.data.synthetic.generate import WorldConfig, checkerboard, make_world
from cerec.errors import ConfigError
from cerec_bench.explainers.dns_truth import DnsConfig, dns_truth
from cerec_bench.explainers.measures import consistency, harmonic, jaccard, stability
from cerec_bench.explainers.pairs import listed_pairs
from cerec_bench.explainers.protocol import NO_ANSWER, Answer, Context, Pairs, touching
from cerec_bench.explainers.rdexp import RandomExplainer
from cerec_bench.explainers.truths import HeldoutConfig, Truth, heldout, planted


def truth_of(*sets: list[int], both: bool = False) -> Truth:
    indptr = np.cumsum([0, *map(len, sets)])
    return Truth("hand", Ragged(indptr, rows(*(v for s in sets for v in s))), both)


def test_agreement_by_hand() -> None:
    truth = truth_of([1, 2, 3, 4], [5], [], [6])
    answers = [
        Answer(values=rows(2, 9)),  # one of two is right, one of four is found
        Answer(values=rows(5)),
        Answer(values=rows(5)),  # nobody knows
        NO_ANSWER,  # counts, as nothing right
    ]
    found = consistency(truth, answers, np.arange(4))
    assert found.precision[:2].tolist() == [0.5, 1.0]
    assert found.recall[:2].tolist() == [0.25, 1.0]
    assert found.f1[:2].tolist() == pytest.approx([1 / 3, 1.0])
    assert np.isnan([found.precision[2], found.recall[2], found.f1[2]]).all()
    assert (found.precision[3], found.recall[3], found.f1[3]) == (0.0, 0.0, 0.0)


def test_strays_are_never_right() -> None:
    found = consistency(truth_of([1]), [Answer(values=rows(1), strays=3)], rows(0))
    assert found.precision.tolist() == [0.25]
    assert found.recall.tolist() == [1.0]


def test_a_truth_of_both_sides_asks_for_what_is_lost_too() -> None:
    answer = Answer(values=rows(7), gained=rows(7), lost=rows(2))
    one = consistency(truth_of([2, 7]), [answer], rows(0))
    two = consistency(truth_of([2, 7], both=True), [answer], rows(0))
    assert (one.precision[0], one.recall[0]) == (1.0, 0.5)
    assert (two.precision[0], two.recall[0]) == (1.0, 1.0)


sets = st.lists(st.integers(0, 12), unique=True, max_size=8)


@given(st.lists(st.tuples(sets, sets), min_size=1, max_size=6), st.randoms())
@settings(max_examples=60, deadline=None)
def test_agreement_is_bounded_and_blind_to_order(
    cases: list[tuple[list[int], list[int]]], random: object
) -> None:
    truth = truth_of(*(sorted(t) for _, t in cases))
    answers = [Answer(values=rows(*e)) for e, _ in cases]
    found = consistency(truth, answers, np.arange(len(cases)))
    for n, (e, t) in enumerate(cases):
        p, r, f = found.precision[n], found.recall[n], found.f1[n]
        if not t:
            assert math.isnan(p)
            continue
        hits = len(set(e) & set(t))
        assert p == (hits / len(e) if e else 0.0)
        assert r == hits / len(t)
        assert min(p, r) - 1e-12 <= f <= max(p, r) + 1e-12
        assert f == pytest.approx(harmonic(p, r))
    turned = [Answer(values=a.values[::-1]) for a in answers]
    again = consistency(truth, turned, np.arange(len(cases)))
    np.testing.assert_array_equal(found.f1, again.f1)
    order = np.arange(len(cases))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = consistency(truth, [answers[n] for n in order], order)
    np.testing.assert_array_equal(shuffled.precision, found.precision[order])


def test_stability_by_hand() -> None:
    a = [Answer(lost=rows(1), gained=rows(2)), NO_ANSWER]
    b = [Answer(lost=rows(1), gained=rows(3)), NO_ANSWER]
    assert jaccard(a, b).tolist() == [1 / 3, 0.0]
    assert jaccard(a, a).tolist() == [1.0, 0.0]
    assert stability([a, a, b]).tolist() == pytest.approx([(1 + 1 / 3 + 1 / 3) / 3, 0.0])
    assert np.isnan(stability([a])).all()


@pytest.fixture(scope="module")
def world() -> Dataset:
    return make_world(WorldConfig(users=60, items=80, interactions=1500), seed=5)


@pytest.fixture(scope="module")
def context(world: Dataset) -> Context:
    facts, parts = Facts.build(world), split(world, seed=0)
    rng = np.random.default_rng(0)
    user = rng.normal(size=(60, 4)).astype(np.float32)
    item = rng.normal(size=(80, 4)).astype(np.float32)
    value = rng.normal(size=(facts.n_values, 4)).astype(np.float32)
    return context_of(world, parts.train, facts, user, item, value, k=10)


def test_a_perfect_explainer_scores_one(world: Dataset, context: Context) -> None:
    pairs = listed_pairs(context)
    tastes = planted(world, context.facts)
    for both in (False, True):
        truth = tastes.truth("planted", context.facts, pairs, both=both)
        answers = [
            touching(truth.of_pair.row(n), context.facts.of_item.row(int(i)))
            for n, i in enumerate(pairs.item)
        ]
        found = consistency(truth, answers, np.arange(len(pairs)))
        known = truth.of_pair.counts > 0
        assert known.any()
        for numbers in (found.precision, found.recall, found.f1):
            assert (numbers[known] == 1.0).all()


def test_planted_dislikes_are_those_of_the_world(world: Dataset, context: Context) -> None:
    pairs = listed_pairs(context, 50)
    truth = planted(world, context.facts).truth("planted", context.facts, pairs, both=False)
    told = world.planted
    assert told is not None
    disliked = {
        (int(u), int(r), int(a))
        for u, r, a, s in zip(told.user, told.relation, told.attribute, told.sign, strict=True)
        if s < 0
    }
    facts = context.facts
    user, item, value = truth.rows(pairs)
    table = {
        (int(u), int(facts.relation[v]), int(facts.attribute[v]))
        for u, v in zip(user, value, strict=True)
    }
    assert table <= disliked
    assert set(item.tolist()) <= set(pairs.item.tolist())
    for u, r, a in disliked:
        if u in pairs.user and facts.find(r, a) is not None:
            assert (u, r, a) in table


def test_only_generated_worlds_have_planted_tastes(world: Dataset) -> None:
    plain = dataclasses.replace(world, planted=None)
    with pytest.raises(ConfigError, match="no planted tastes"):
        planted(plain, Facts.build(plain))


def test_held_out_items_speak_against_what_was_skipped() -> None:
    """The user takes 8 even items later and none of the odd ones, which are as popular."""
    data = checkerboard(40)
    facts = Facts.build(data)
    later = np.arange(0, 16, 2, dtype=np.int32)
    zero = np.zeros(0, np.int32)
    train = Ragged.from_pairs(np.full(40, 1, np.int32), np.arange(40, dtype=np.int32), 40)
    parts = Split(
        train,
        Ragged.from_pairs(zero, zero, 40),
        Ragged.from_pairs(np.zeros(8, np.int32), later, 40),
    )
    tastes = heldout(train, parts, facts, HeldoutConfig(), rows(0, 1))
    names = [data.entities[int(a)] for a in facts.attribute]
    assert [names[v] for v in tastes.disliked.row(0)] == ["light"]
    assert [names[v] for v in tastes.liked.row(0)] == ["dark"]
    assert len(tastes.disliked.row(1)) == 0  # nothing held out, nothing known


def test_what_every_item_holds_tells_nothing() -> None:
    data = checkerboard(8)
    facts = Facts.build(data)
    everyone = Ragged.from_pairs(
        np.arange(8, dtype=np.int32), np.zeros(8, np.int32), 8
    )  # one value, held by all
    held = dataclasses.replace(
        facts,
        relation=facts.relation[:1],
        attribute=facts.attribute[:1],
        of_item=everyone,
        holders=everyone.transpose(1),
    )
    parts = split(data, seed=0)
    tastes = heldout(parts.train, parts, held, HeldoutConfig(), rows(*range(8)))
    assert tastes.liked.size == 0
    assert tastes.disliked.size == 0


def test_dns_repeats_itself_and_keeps_off_the_item(context: Context) -> None:
    pairs = listed_pairs(context, 80)
    config = DnsConfig(rounds=6, kept=4, candidates=8)
    truth = dns_truth(context.train, context.facts, pairs, config)
    again = dns_truth(context.train, context.facts, pairs, config)
    other = dns_truth(
        context.train, context.facts, pairs, DnsConfig(rounds=6, kept=4, candidates=8, seed=1)
    )
    assert truth.of_pair.equals(again.of_pair)
    assert not truth.of_pair.equals(other.of_pair)
    counts = truth.of_pair.counts
    assert counts.min() >= 1
    assert counts.max() <= 4
    for n, item in enumerate(pairs.item):
        assert not np.isin(truth.of_pair.row(n), context.facts.of_item.row(int(item))).any()


def test_dns_takes_the_highest_scored(context: Context) -> None:
    """Among many candidates the sampler nearly always finds a user's top values, so truths of
    different seeds of one model agree more than those of one candidate, which are random."""
    pairs = listed_pairs(context, 100)

    def agreement(candidates: int) -> float:
        config = {"rounds": 8, "kept": 4, "candidates": candidates}
        one, two = (
            dns_truth(context.train, context.facts, pairs, DnsConfig(**config, seed=s))
            for s in (0, 1)
        )
        answers = [Answer(values=two.of_pair.row(n)) for n in range(len(pairs))]
        return float(consistency(one, answers, np.arange(len(pairs))).precision.mean())

    assert agreement(64) > 2 * agreement(1)


def test_dns_never_sees_what_was_held_out(world: Dataset, context: Context) -> None:
    """The truth is a function of train and facts; the signature admits nothing else. A world that
    differs in the held-out part alone gives the same truth."""
    pairs = listed_pairs(context, 30)
    config = DnsConfig(rounds=2, kept=1, candidates=4)
    parts = split(world, seed=0)
    before = dns_truth(parts.train, context.facts, pairs, config)
    emptied = Split(parts.train, parts.test, parts.valid)
    after = dns_truth(emptied.train, context.facts, pairs, config)
    assert before.of_pair.equals(after.of_pair)


@pytest.mark.parametrize("bad", [{"rounds": 0}, {"kept": 50}, {"candidates": 0}])
def test_dns_settings_are_checked(bad: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="dns"):
        DnsConfig(**bad)


def test_heldout_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="heldout needs"):
        HeldoutConfig(prior=0)


@pytest.mark.parametrize("pool", ["values", "own", "entities"])
def test_random_precision_is_its_expectation(pool: str, context: Context) -> None:
    """g of p members are right: precision g / p and recall n / p of them, over 200 draws."""
    facts = context.facts
    item = int(np.argmax(facts.of_item.counts))
    own = facts.of_item.row(item)
    size = {"values": 10, "own": 4, "entities": 10}[pool]
    p = {"values": facts.n_values, "own": len(own), "entities": facts.n_values + 80}[pool]
    right = own[:3]  # in every pool
    pairs = Pairs(rows(*[0] * 200), rows(*[item] * 200), rows(*[1] * 200), 10)
    truth = truth_of(*[right.tolist()] * 200)
    explainer = RandomExplainer(pool, size)  # type: ignore[arg-type]
    explainer.fit(context)
    means = []
    for number in range(40):
        found = consistency(truth, explainer.draw(pairs, number), np.arange(200))
        means.append((found.precision.mean(), found.recall.mean()))
    precision, recall = np.mean(means, axis=0)
    error = np.std(means, axis=0, ddof=1) / math.sqrt(len(means))
    assert abs(precision - 3 / p) < 4 * error[0]
    assert abs(recall - size / p) < 4 * error[1]
