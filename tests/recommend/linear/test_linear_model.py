"""Scores, effects and contributions of the linear model against plain sums."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.linear.fit import Chosen, FitMaterial, build, split_popularity
from cerec.recommend.linear.folding import Folding, fit_factors, truncated_svd
from cerec.recommend.linear.model import Linear
from cerec.recommend.linear.values import KAPPA
from cerec.recommend.protocol import HasContributions, HasHistories, Recommender


def slow_user(model: Linear, history: NDArray[np.int32]) -> NDArray[np.float64]:
    """The user's vector by the formula."""
    v, (_, rest, pull) = model.arrays.item_vector, model.arrays.factor
    mine = v[history]
    system = rest * v.T @ v + mine.T @ mine + pull * np.eye(v.shape[1])
    return np.linalg.solve(system, mine.sum(axis=0))


def slow_effect(model: Linear, history: NDArray[np.int32], value: int) -> float:
    """e(u, a) by counting."""
    a = model.arrays
    n = len(history)
    count = sum(value in model.of_item.row(int(h)) for h in history)
    part = a.common[value] + a.unit[value] * (count - n * a.share[value]) / np.sqrt(max(n, 1))
    if a.item_vector.shape[1]:
        part += a.factor[0] * slow_user(model, history) @ a.value_vector[value]
    return float(part)


def slow_score(model: Linear, history: NDArray[np.int32], item: int) -> float:
    a = model.arrays
    values = model.of_item.row(item)
    score = a.own[item]
    for h in history.tolist():
        for p in range(a.pair_ptr[h], a.pair_ptr[h + 1]):
            score += a.strength[p] if a.pair[p] == item else 0.0
    score += a.scale[item] * sum(slow_effect(model, history, int(v)) for v in values)
    if a.item_vector.shape[1]:
        inner = a.scale[item] * a.value_vector[values].sum(axis=0)
        score += a.factor[0] * slow_user(model, history) @ (a.item_vector[item] - inner)
    return float(score)


def test_scores_and_effects_are_the_formula(model: Linear) -> None:
    users = np.array([0, 7, 31])
    scores, effects = model.both(users)
    for n, user in enumerate(users.tolist()):
        history = model.known(user)
        for item in (0, 11, 79):
            assert scores[n, item] == pytest.approx(slow_score(model, history, item), abs=1e-6)
        for value in (0, 5, len(model.vocabulary) - 1):
            assert effects[n, value] == pytest.approx(slow_effect(model, history, value), abs=1e-6)


def test_one_user_a_block_and_a_history_have_the_same_bits(
    model: Linear, monkeypatch: pytest.MonkeyPatch
) -> None:
    everybody = model.both(np.arange(60))
    monkeypatch.setenv("CEREC_THREADS", "1")
    for user in (3, 59):
        one = model.both(np.array([user]))
        told = model.both_from([model.known(user)])
        for whole, single, from_history in zip(everybody, one, told, strict=True):
            assert np.array_equal(whole[user], single[0])
            assert np.array_equal(whole[user], from_history[0])


def test_contributions_add_up_to_the_score(model: Linear) -> None:
    scores = model.scores(np.arange(60))
    for user, item in ((0, 3), (12, 50), (59, 79)):
        parts = model.contributions(user, item)
        assert parts.total == pytest.approx(scores[user, item], abs=1e-12)
        assert [i for i, _ in parts.history] == model.known(user).tolist()
        assert [v for v, _ in parts.values] == model.of_item.row(item).tolist()


def test_somebody_without_a_history_gets_what_everybody_likes(model: Linear) -> None:
    scores = model.scores_from([np.zeros(0, np.int32)])[0]
    assert np.allclose(scores, model.base)


def test_effects_are_on_a_grid_on_which_sums_are_exact(model: Linear) -> None:
    effect = model.effects(np.arange(60))
    bits = int(model.arrays.bits[0])
    whole = np.ldexp(effect, bits)
    assert np.array_equal(whole, np.rint(whole))
    assert np.abs(effect).max() * 2.0 ** (20 + bits) < 2.0**53


def test_a_changed_item_and_a_new_one_have_the_same_attribute_part(
    model: Linear,
) -> None:
    """For replacements: as many values as before, so the same scale."""
    users = np.arange(60)
    effect = model.effects(users)
    item = int(np.argmax(model.of_item.counts))
    others = np.setdiff1d(np.arange(len(model.vocabulary)), model.of_item.row(item))
    values = np.concatenate([model.of_item.row(item)[1:], others[:1]])
    a = model.arrays
    new = model.of_values(users, values) - a.own.mean()
    assert np.allclose(new, a.scale[item] * effect[:, values].sum(axis=1))


def test_it_follows_the_protocol(model: Linear) -> None:
    assert isinstance(model, Recommender)
    assert isinstance(model, HasContributions)
    assert isinstance(model, HasHistories)
    assert len(model.users) == 60
    assert model.scale(np.array([0, 1])).shape == (2,)


def test_shares_and_units_by_hand(material: FitMaterial) -> None:
    value, relation = 4, int(material.relation[4])
    taken = np.bincount(material.history.indices, minlength=material.n_items)
    has = np.array([value in material.of_item.row(i) for i in range(material.n_items)])
    assert material.share[value] == pytest.approx(taken[has].sum() / taken.sum())
    unit = material.unit({relation: 0.3})
    assert unit[value] == pytest.approx(0.3 / np.sqrt(material.share[value] + KAPPA))
    assert not unit[material.relation != relation].any()


def test_centred_counts_add_up_to_nothing_over_users(material: FitMaterial) -> None:
    """Weighed by sqrt(n_u), the count parts of a value sum to 0 over all users; c_a is 0 here."""
    arrays = build(material, Chosen(relations=dict.fromkeys(range(10), 1.0), popularity=0.0))
    model = Linear(arrays)
    root = np.sqrt(material.history.counts)
    total = (root[:, None] * model.effects(np.arange(60))).sum(axis=0)
    assert np.abs(total).max() < 1e-4


def test_popularity_splits_into_values_and_a_rest(material: FitMaterial) -> None:
    base = material.popularity()
    taken = np.arange(len(base)) > 4  # as if nobody had the first five
    common, own = split_popularity(material.values, base, taken)
    assert np.allclose((own + material.values @ common)[taken], base[taken])
    assert own[taken].var() < base[taken].var()
    assert own[~taken] == pytest.approx(own[taken].mean())


def test_rare_values_are_left_out(material: FitMaterial) -> None:
    counts = material.facts.holders.counts
    assert (counts[material.vocabulary] >= 5).all()
    assert (np.delete(counts, material.vocabulary) < 5).all()


def test_factors_fold_in_what_least_squares_says(material: FitMaterial) -> None:
    """With many sweeps, the user vectors minimise the loss given the item vectors."""
    folding = Folding(dim=6, rest=0.2, pull=1.5, prior=3.0, sweeps=2)
    found = fit_factors(material.matrix, material.values, material.start[:, :6], folding)
    history = Ragged(np.array([0, 3]), np.array([2, 5, 9], np.int32))
    vector = found.users(history, np.array([1.0, 2.0, 1.0]))[0]
    v, w = found.item[[2, 5, 9]], np.array([1.0, 2.0, 1.0])
    system = 0.2 * found.item.T @ found.item + v.T @ (w[:, None] * v) + 1.5 * np.eye(6)
    assert np.allclose(vector, np.linalg.solve(system, w @ v))


def test_value_vectors_are_the_ridge_of_the_item_vectors(material: FitMaterial) -> None:
    folding = Folding(dim=4, rest=0.1, pull=1.0, prior=2.0, sweeps=1)
    found = fit_factors(material.matrix, material.values, material.start[:, :4], folding)
    z = material.values.toarray()
    slow = np.linalg.solve(z.T @ z + 2.0 * np.eye(z.shape[1]), z.T @ found.item)
    assert np.allclose(found.value, slow, atol=1e-3)


def test_the_truncated_svd_spans_the_leading_directions(material: FitMaterial) -> None:
    x = material.matrix.toarray()
    users, items = x.sum(1), x.sum(0)
    normal = x / np.sqrt(np.maximum(users, 1e-12))[:, None] / np.sqrt(np.maximum(items, 1e-12))
    _, size, right = np.linalg.svd(normal)
    found = truncated_svd(material.matrix, 2)
    assert np.allclose(np.abs(found), np.abs(right[:2].T * np.sqrt(size[:2])), atol=0.05)
