"""The user vector that a history has, item vectors fixed: what removing an action does to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from cerec.errors import ConfigError
from cerec.rng import generator
from cerec.threads import blas_threads

Array = NDArray[np.float64]
_STEPS = 60  # far more than Newton's method needs on a convex loss
_STILL = 1e-9  # a decrease of the loss, relative to it, that ends the search


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

    over liked items i and other items j (`others_of`). The problem is convex: one answer, whatever
    the start. `alone` as in `bpr.PairFactorisation`.
    """
    liked = np.unique(item_rows(liked))
    if not 0 <= l2 < np.inf:
        raise ConfigError(f"fold-in needs an l2 from 0, got {l2}")
    if len(liked) == 0 or liked[0] < 0 or liked[-1] >= len(item):
        raise ConfigError(
            f"fold-in needs at least one item row in 0..{len(item) - 1}, got {liked.tolist()}"
        )
    other = others_of(len(item), liked, sampled=sampled, seed=seed)
    return solve(item[liked].astype(np.float64), item[other].astype(np.float64), l2, alone).astype(
        np.float32
    )


def item_rows(liked: object) -> NDArray[np.integer]:
    """Rows of liked items, refused where they are something else, such as ids."""
    rows = np.asarray(liked)
    if rows.ndim != 1 or (rows.size and not np.issubdtype(rows.dtype, np.integer)):
        raise ConfigError(
            "fold-in takes rows of items, whole numbers in one dimension "
            f"(data.items.row(id) gives one), got {rows.dtype} of shape {rows.shape}"
        )
    return rows


def others_of(
    n_items: int, liked: NDArray[np.integer], *, sampled: int = 2000, seed: int = 0
) -> NDArray[np.int64]:
    """The items a history is set against: all that are not in it, or those of `sampled` ones.

    The draw is the same for every history, so that two of them differ in their items alone.
    """
    drawn = np.arange(n_items)
    if n_items > sampled:
        drawn = generator(seed, "foldin").choice(n_items, sampled, replace=False)
    return np.setdiff1d(drawn, liked)


def solve(
    good: NDArray[np.float64], rest: NDArray[np.float64], l2: float, alone: float = 0.0
) -> NDArray[np.float64]:
    """The minimum of the loss for vectors of liked items (n, d) and of others (J, d), by Newton's
    method with halved steps.
    """
    with blas_threads(1):  # products too small to share
        return _newton(good, rest, l2, alone)


def _newton(good: Array, rest: Array, l2: float, alone: float) -> Array:
    u = np.zeros(good.shape[1])
    now = _loss(u, good, rest, l2, alone)
    for _ in range(_STEPS):
        hessian, gradient = slopes(u, good, rest, l2, alone)
        step = np.linalg.solve(hessian, gradient.sum(0))
        size, new = 1.0, _loss(u - step, good, rest, l2, alone)
        while new > now and size > 1e-6:
            size /= 2
            new = _loss(u - size * step, good, rest, l2, alone)
        if not new < now:
            break
        u, before, now = u - size * step, now, new
        if before - now < _STILL * (1 + abs(now)):
            break
    return u


def _loss(u: Array, good: Array, rest: Array, l2: float, alone: float) -> float:
    f_i = good @ u
    gap = (rest @ u)[None, :] - f_i[:, None]  # (n, J)
    pairs = np.logaddexp(0.0, gap).sum() / max(len(rest), 1)
    return float(pairs + alone * np.logaddexp(0.0, -f_i).sum() + l2 / 2 * len(good) * u @ u)


def slopes(
    u: Array, good: Array, rest: Array, l2: float, alone: float = 0.0
) -> tuple[Array, Array]:
    """Hessian (d, d) of the loss, and the gradient (n, d) of each liked item's part of it."""
    n, share = len(good), 1.0 / max(len(rest), 1)
    f_i = good @ u
    push = expit((rest @ u)[None, :] - f_i[:, None])
    pull = alone * expit(-f_i)
    gradient = share * (push @ rest) - (share * push.sum(1) + pull)[:, None] * good + l2 * u
    bend = push * (1 - push) * share
    own = bend.sum(1) + pull * expit(f_i)
    cross = good.T @ bend @ rest
    hessian = (good.T * own) @ good + (rest.T * bend.sum(0)) @ rest - cross - cross.T
    # without a pull towards zero the loss may be flat somewhere
    flat = max(l2 * n, 1e-8) * np.eye(len(u))
    return hessian + flat, gradient
