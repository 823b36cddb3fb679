"""Effects of item values on a finished recommender, fitted to its item vectors.

    V_i ~ mean + sum of x_v over the values v of item i        (ridge regression)

so that `f(u, i | A) = U_u . (V_i + phi(A) - phi(A_i))` with `phi(A)` the sum of x_v over A. How
far the values tell the score is measured on items left out of the fit, and kept as `fidelity`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.errors import DataError
from cerec.rng import generator

log = logging.getLogger(__name__)

PENALTIES = (1.0, 5.0, 25.0, 125.0)
"""Ridge penalties tried; the best on held-out items is taken."""
_DENSE = 4096  # up to this many items the kernel is factorised, above it is iterated on

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """Fitted effect vectors and how well they tell the scores of items they have not seen."""

    effect: NDArray[np.float32]
    """(V, d) effect vector of each value."""
    fidelity: float
    """R^2 of the users' scores of held-out items, around each user's mean."""


def fit_effects(
    item: NDArray[np.float32], facts: Facts, *, user: NDArray[np.float32], seed: int
) -> Effects:
    """Effects of every value on the item vectors (I, d), weighed by the users (U, d) who score.

    A tenth of the items with values choose the penalty, another tenth measure the fidelity; the
    final fit takes all. With fewer than 20 such items the fidelity is 0: nothing was measured.
    """
    ridge = _Ridge(facts, item)
    gram = user.astype(np.float64).T @ user.astype(np.float64)
    rows = np.flatnonzero(facts.of_item.counts)
    if len(rows) == 0:
        raise DataError("no item has an attribute, so no effects can be fitted; add item facts")
    rows = generator(seed, "effects/held out").permutation(rows)
    tenth = len(rows) // 10
    if tenth < 2:
        return Effects(ridge.fit(rows, 1.0)[0], 0.0)
    test, choose, train = rows[:tenth], rows[tenth : 2 * tenth], rows[2 * tenth :]

    def quality(penalty: float, seen: NDArray[np.int64], unseen: NDArray[np.int64]) -> float:
        effect, mean = ridge.fit(seen, penalty)
        return r_squared(item[unseen], mean + ridge.incidence[unseen] @ effect, mean, gram)

    tried = {penalty: quality(penalty, train, choose) for penalty in PENALTIES}
    best = max(tried, key=lambda p: tried[p])
    fidelity = quality(best, rows[tenth:], test)
    log.info("effects: penalty %g, held-out R2 %.3f", best, fidelity)
    return Effects(ridge.fit(rows, best)[0], fidelity)


def r_squared(true: Vectors, guess: Vectors, mean: Vectors, gram: NDArray[np.float64]) -> float:
    """1 - residual / total variance of the scores of items (n, d) under users of this Gram."""

    def energy(rows: Vectors) -> float:
        wide = rows.astype(np.float64)
        return float(((wide @ gram) * wide).sum())

    total = energy(true - mean)
    return 1.0 - energy(true - guess) / total if total > 0 else 0.0


class _Ridge:
    """Ridge regression of item vectors on item values, for any subset of the items."""

    def __init__(self, facts: Facts, item: NDArray[np.float32]) -> None:
        of_item = facts.of_item
        self.incidence = sp.csr_matrix(
            (np.ones(of_item.size, np.float32), of_item.indices, of_item.indptr),
            shape=(len(of_item), facts.n_values),
        )
        self._item = item
        self._kernel: Vectors | None = None
        if len(of_item) <= _DENSE:
            self._kernel = (self.incidence @ self.incidence.T).toarray()

    def fit(self, rows: NDArray[np.int64], penalty: float) -> tuple[Vectors, Vectors]:
        """Weights (V, d) and intercept (d,) by the items `rows`."""
        x, mean = self.incidence[rows], self._item[rows].mean(axis=0)
        centred = self._item[rows] - mean
        if self._kernel is None:
            return _conjugate_gradients(x, x.T @ centred, penalty), mean
        kernel = self._kernel[np.ix_(rows, rows)]
        kernel[np.diag_indices_from(kernel)] += penalty
        factor = scipy.linalg.cho_factor(kernel, overwrite_a=True, check_finite=False)
        return x.T @ scipy.linalg.cho_solve(factor, centred, check_finite=False), mean


def _conjugate_gradients(
    x: sp.csr_matrix, right: Vectors, penalty: float, steps: int = 60
) -> Vectors:
    """Solve (X'X + penalty) B = right for all columns at once, scaled by the diagonal.

    Stopped early it is a stronger penalty; the fidelity is measured on what comes out.
    """
    scale = (1.0 / (np.asarray(x.sum(axis=0)).ravel() + penalty)).astype(np.float32)[:, None]
    tiny = np.float32(1e-30)
    out = np.zeros_like(right)
    rest = right.copy()
    ready = scale * rest
    step = ready.copy()
    now = (rest * ready).sum(axis=0)
    goal = np.float32(1e-6) * now
    for _ in range(steps):
        moved = x.T @ (x @ step) + np.float32(penalty) * step
        rate = now / np.maximum((step * moved).sum(axis=0), tiny)
        out += rate * step
        rest -= rate * moved
        ready = scale * rest
        before, now = now, (rest * ready).sum(axis=0)
        if (now <= goal).all():
            break
        step = ready + now / np.maximum(before, tiny) * step
    return out
