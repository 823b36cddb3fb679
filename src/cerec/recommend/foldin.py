"""Recommending for someone who was not there in training, known by a handful of items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from cerec.errors import ConfigError
from cerec.recommend.scorer import Scorer
from cerec.rng import generator


def fold_in(
    item: NDArray[np.float32],
    liked: NDArray[np.integer],
    *,
    l2: float,
    alone: float = 0.0,
    sampled: int = 2000,
    seed: int = 0,
) -> NDArray[np.float32]:
    """The user vector (d,) that minimises the model's own loss with the item vectors fixed:

        sum_i [ mean_j softplus(f_j - f_i) + alone * softplus(-f_i) + l2 / 2 |u|^2 ]

    over liked items i and up to `sampled` other items j. The problem is convex: one answer,
    whatever the start. `alone` as in `bpr.PairFactorisation`.
    """
    liked = np.unique(liked)
    if len(liked) == 0 or liked[0] < 0 or liked[-1] >= len(item):
        raise ConfigError(
            f"fold-in needs at least one item row in 0..{len(item) - 1}, got {liked.tolist()}"
        )
    other = np.setdiff1d(np.arange(len(item)), liked)
    if len(other) > sampled:
        other = generator(seed, "foldin").choice(other, sampled, replace=False)
    good, rest = item[liked].astype(np.float64), item[other].astype(np.float64)

    def loss(u: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        f_i, f_j = good @ u, rest @ u  # (n,), (J,)
        gap = f_j[None, :] - f_i[:, None]  # (n, J)
        c = _sigmoid(gap) / max(len(rest), 1)
        by_item = -c.sum(1) - alone * _sigmoid(-f_i)
        value = np.logaddexp(0, gap).sum() / max(len(rest), 1) + l2 / 2 * len(good) * u @ u
        value += alone * np.logaddexp(0, -f_i).sum()
        return float(value), by_item @ good + c.sum(0) @ rest + l2 * len(good) * u

    start = np.zeros(item.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B").x.astype(np.float32)


def add_user(scorer: Scorer, liked: NDArray[np.integer], *, l2: float) -> tuple[Scorer, int]:
    """The scorer with one more user, and that user's row; the other users' scores are untouched."""
    if scorer.matrix is not None:
        raise ConfigError("this recommender has no item factors to fold a new user in with")
    vector = fold_in(scorer.item, liked, l2=l2)[None, :]
    user = np.concatenate([scorer.user, vector])
    same = scorer.effect_user.shape[1] == user.shape[1]
    effect_user = user if same else np.pad(scorer.effect_user, ((0, 1), (0, 0)))
    return replace(scorer, user=user, effect_user=effect_user), len(user) - 1


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / (1.0 + np.exp(-np.clip(x, -500, 500)))
