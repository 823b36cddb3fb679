"""Effects fitted to finished item vectors, and how far they can be trusted."""

from __future__ import annotations

import numpy as np
import pytest

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import DataError
from cerec.recommend.effects import _conjugate_gradients, _Ridge, fit_effects, r_squared


def world(n_items: int, n_values: int, seed: int) -> Facts:
    rng = np.random.default_rng(seed)
    of_item = Ragged.from_pairs(
        rng.integers(0, n_items, 5 * n_items), rng.integers(0, n_values, 5 * n_items), n_items
    )
    none = np.zeros(n_values, np.int32)
    return Facts(none, np.arange(n_values, dtype=np.int32), of_item, of_item.transpose(n_values))


def planted(facts: Facts, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    effect = rng.normal(size=(facts.n_values, 4)).astype(np.float32)
    item = np.stack([effect[facts.of_item.row(i)].sum(axis=0) for i in range(len(facts.of_item))])
    return effect, (item + 3.0 + noise * rng.normal(size=item.shape)).astype(np.float32)


def test_r_squared_by_hand() -> None:
    # one dimension, users of Gram 1: residual 0.25 + 0.25 of a variance of 1 + 1
    true, guess = np.array([[1.0], [-1.0]]), np.array([[0.5], [-0.5]])
    got = r_squared(true, guess, np.zeros(1), np.eye(1))  # type: ignore[arg-type]
    assert got == pytest.approx(0.75)


def test_planted_effects_are_found() -> None:
    facts = world(400, 30, 0)
    effect, item = planted(facts, 0.01, 1)
    user = np.random.default_rng(2).normal(size=(50, 4)).astype(np.float32)
    fitted = fit_effects(item, facts, user=user, seed=0)
    assert fitted.fidelity > 0.95
    # the intercept takes up a common part of the effects; what a swap does is what counts
    difference = (fitted.effect - effect) - (fitted.effect - effect).mean(axis=0)
    assert np.abs(difference).max() < 0.2


def test_noise_has_no_fidelity_and_no_attributes_are_refused() -> None:
    facts = world(400, 200, 0)
    rng = np.random.default_rng(3)
    item, user = rng.normal(size=(400, 4)), rng.normal(size=(50, 4))
    fitted = fit_effects(item.astype(np.float32), facts, user=user.astype(np.float32), seed=0)
    assert fitted.fidelity < 0.1
    bare = world(10, 5, 0)
    empty = Ragged.from_pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), 10)
    with pytest.raises(DataError, match="no item has an attribute"):
        fit_effects(
            item[:10].astype(np.float32),
            Facts(bare.relation, bare.attribute, empty, empty.transpose(5)),
            user=user.astype(np.float32),
            seed=0,
        )


def test_iteration_agrees_with_factorisation() -> None:
    facts = world(300, 80, 4)
    _, item = planted(facts, 0.5, 5)
    ridge = _Ridge(facts, item)
    rows = np.arange(300)
    direct, mean = ridge.fit(rows, 5.0)
    x = ridge.incidence
    iterated = _conjugate_gradients(x, x.T @ (item - mean), 5.0)
    assert np.abs(direct - iterated).max() < 1e-2 * np.abs(direct).max()


def test_the_same_seed_gives_the_same_fit() -> None:
    facts = world(100, 30, 6)
    _, item = planted(facts, 1.0, 7)
    one, two = (fit_effects(item, facts, user=item[:9], seed=3) for _ in range(2))
    assert np.array_equal(one.effect, two.effect)
    assert one.fidelity == two.fidelity
