"""Effects of item values for a recommender that gives scores and nothing else.

Scores around each user's mean are written as `c(u, .) ~ B p_u`, B (I, r) with orthonormal columns
found from a sample of users, and B is regressed on the values as the item vectors of a factor
model are (`cerec.recommend.canonical`); then e(u, a) = p_u . x_a. The scores themselves are the
recommender's own doubles; only the effects know of B.

*Missing.* A score that is nan (or -inf) may not be listed. It says nothing of taste: often it is
what the user has already. So it is left out of the fit, not taken for a low score. Coordinates p_u
are found by filling the gaps with B p_u and projecting anew, from the user's mean, in a few
rounds. Items that nobody may be shown have no part in the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import DataError
from cerec.recommend.canonical import SUPPORT, Table, canonical, products, vocabulary_of
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Subject
from cerec.rng import generator
from cerec.threads import blas_threads, in_chunks

Ask = Callable[[NDArray[np.integer]], Table]
"""(n,) user rows -> (n, I) scores."""

RANK = 64
"""Width of B."""
_SAMPLE = 1 << 24  # scores looked at together: 134 MB
_FILLS = 8  # times that gaps are filled
_GRID = 32  # bits of an effect; sums of 2**20 of them are exact


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Effects fitted to scores."""

    basis: Doubles
    """(I, r) B."""
    value: Doubles
    """(V, r) x."""
    vocabulary: NDArray[np.int32]
    """(V,) rows of the values in the facts, rising."""
    fidelity: float
    """R^2 of the scores of items left out: that of the canonical fit, times what B holds."""
    penalty: float


class FittedScores:
    """Scores of a recommender, asked for when they are needed, and effects fitted to them.

    Effects are the same bits for one user or many wherever the scores are. Each user's are on a
    grid of their own, 2**-32 of the largest, on which sums are exact.
    """

    def __init__(self, ask: Ask, basis: Doubles, value: Doubles) -> None:
        self._ask, self._basis = ask, np.ascontiguousarray(basis)
        self._value_t = np.ascontiguousarray(value.T)

    def both(self, users: NDArray[np.integer]) -> tuple[Doubles, Doubles]:
        """(n, I) scores, nan for what may not be listed, and (n, V) effects."""
        scores = asked(self._ask, users, len(self._basis))
        effect = products(coordinates(scores, self._basis), self._value_t)
        return scores, on_grid(effect)


class OwnEffects:
    """Scores and effects that a recommender gives, the latter moved to a grid."""

    def __init__(self, ask: Ask, effects: Ask) -> None:
        self._ask, self._effects = ask, effects

    def both(self, users: NDArray[np.integer]) -> tuple[Doubles, Doubles]:
        """(n, I) scores and (n, V) effects."""
        return np.array(self._ask(users), np.float64), on_grid(np.asarray(self._effects(users)))


def on_grid(effect: Doubles) -> Doubles:
    """(n, V) each row moved to a grid of its own, on which sums are exact."""
    largest = np.abs(effect).max(axis=1, initial=0.0)
    bits = (_GRID - np.frexp(largest)[1])[:, None]
    return np.asarray(np.ldexp(np.rint(np.ldexp(effect, bits)), -bits))


def asked(ask: Ask, users: NDArray[np.integer], n_items: int) -> Doubles:
    """The scores of these users as doubles, checked; -inf becomes nan."""
    scores = np.array(ask(users), np.float64, ndmin=2)  # a copy
    if scores.shape != (len(users), n_items):
        raise DataError(
            f"scores of {len(users)} users have shape {scores.shape}, expected one number for "
            f"each of the {n_items} items: ({len(users)}, {n_items})"
        )
    scores[scores == -np.inf] = np.nan
    if (scores == np.inf).any():
        row = int(users[np.flatnonzero((scores == np.inf).any(axis=1))[0]])
        raise DataError(f"a score of user row {row} is infinite; give nan for what is not listed")
    return scores


def coordinates(scores: Doubles, basis: Doubles) -> Doubles:
    """(n, r) p_u of scores (n, I), each user by itself; zeros where nothing is scored."""
    out = np.zeros((len(scores), basis.shape[1]))
    in_chunks(len(scores), lambda start, stop: _coordinates(scores, basis, start, stop, out))
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _coordinates(scores, basis, first, last, out):  # type: ignore[no-untyped-def]
    """Least squares of what is scored on B and a constant, in part: `_FILLS` rounds of it."""
    n, r = basis.shape
    gap = np.empty(n, np.int64)
    for u in range(first, last):
        mean, gaps = _mean(scores[u], gap)
        if gaps == n:
            continue
        seen, column = np.zeros(r), np.zeros(r)  # of what is scored: B'(s - mean), and B'1
        for i in range(n):
            if not np.isnan(scores[u, i]):
                c = scores[u, i] - mean
                for k in range(r):
                    seen[k] += c * basis[i, k]
                    column[k] += basis[i, k]
        now = out[u]
        now[:] = seen
        for _ in range(_FILLS if gaps else 0):
            shift = 0.0  # of the mean, given p
            for k in range(r):
                shift -= column[k] * now[k] / (n - gaps)
            part = _filled(basis, gap[:gaps], now)
            for k in range(r):
                now[k] = seen[k] - shift * column[k] + part[k]


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _mean(row, gap):  # type: ignore[no-untyped-def]
    """The mean of what is there, and how many are not; `gap` begins with their places."""
    total, gaps = 0.0, 0
    for i in range(len(row)):
        if np.isnan(row[i]):
            gap[gaps] = i
            gaps += 1
        else:
            total += row[i]
    return total / max(len(row) - gaps, 1), gaps


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _filled(basis, rows, p):  # type: ignore[no-untyped-def]
    """(r,) B'B p over these rows."""
    out = np.zeros(len(p))
    for i in rows:
        fill = 0.0
        for k in range(len(p)):
            fill += basis[i, k] * p[k]
        for k in range(len(p)):
            out[k] += fill * basis[i, k]
    return out


def fitted(
    scores: Table | Ask,
    facts: Facts,
    *,
    n_users: int | None = None,
    support: int = SUPPORT,
    rank: int = RANK,
) -> Fitted:
    """Effects fitted to a matrix of scores (U, I), or to a callable for `n_users` users.

    At most `_SAMPLE` scores are held, of users spread evenly over all rows.
    """
    ask, n_users = _asking(scores, n_users)
    n_items = len(facts.of_item)
    n = max(1, min(n_users, _SAMPLE // max(n_items, 1)))
    rows = np.unique(np.linspace(0, max(n_users - 1, 0), n).astype(np.int64))[:n_users]
    table = asked(ask, rows, n_items) if n_users else np.zeros((0, n_items))
    listed = np.asarray(~np.isnan(table).all(axis=0))
    with blas_threads(1):
        basis = low_rank(table, min(rank, *table.shape))
        user = coordinates(table, basis)
        kept = _kept(table, user, basis)
    found = canonical(user, basis, facts, support, items=listed)
    return Fitted(basis, found.value, found.vocabulary, found.fidelity * kept, found.penalty)


def low_rank(scores: Doubles, rank: int) -> Doubles:
    """(I, rank) orthonormal columns that hold most of the scores around each user's mean.

    By a random projection and rounds of powers; gaps are filled after each by what the first
    columns hold, fewer than an eighth of the users: more would say of gaps whatever they hold.
    """
    gap = np.isnan(scores)
    holes = bool(gap.any())
    c = _around_mean(scores, gap)
    width = min(rank + 16, *c.shape)
    side = generator(0, "fitted/low rank").normal(size=(c.shape[1], width))
    few = max(1, min(rank, min(c.shape) // 8))
    for _ in range(12 if holes else 4):
        side = np.linalg.qr(c.T @ np.linalg.qr(c @ side)[0])[0]  # (I, width)
        if holes:
            held = (c @ side[:, :few]) @ side[:, :few].T
            c = _around_mean(scores - held, gap)
            c += held
    right = np.linalg.svd(c @ side, full_matrices=False)[2]
    return np.ascontiguousarray(side @ right[:rank].T)


def _around_mean(scores: Doubles, gap: NDArray[np.bool_]) -> Doubles:
    """Scores less the mean of those that the user has, 0 in the gaps."""
    there = np.maximum((~gap).sum(axis=1, keepdims=True), 1)
    out = np.where(gap, 0.0, scores)
    out -= out.sum(axis=1, keepdims=True) / there
    out[gap] = 0.0
    return out


def _kept(scores: Doubles, user: Doubles, basis: Doubles) -> float:
    """Share of the variance of the scores that there are which the low-rank form holds."""
    lost = total = 0.0
    for start in range(0, len(scores), 256):
        part = scores[start : start + 256]
        gap = np.isnan(part)
        rest = part - user[start : start + 256] @ basis.T
        total += float(np.square(_around_mean(part, gap)).sum())
        lost += float(np.square(_around_mean(rest, gap)).sum())
    return max(0.0, 1.0 - lost / total) if total > 0.0 else 1.0


def score_subject(
    scores: Table | Ask,
    facts: Facts,
    known: Ragged,
    *,
    support: int = SUPPORT,
    rank: int = RANK,
) -> Subject:
    """A recommender of scores alone as the explainer sees it; rows in the order of the data."""
    n_items = len(facts.of_item)
    ask, _ = _asking(scores, len(known))
    if isinstance(scores, np.ndarray) and scores.shape != (len(known), n_items):
        raise DataError(
            f"scores have shape {scores.shape}, expected ({len(known)}, {n_items}): a row for "
            "every user and a column for every item in the order of the data"
        )
    vocabulary, of_item = vocabulary_of(facts, support)
    scale = np.ones(n_items)
    if len(vocabulary) == 0:
        none = FittedScores(ask, np.zeros((n_items, 0)), np.zeros((0, 0)))
        return Subject(facts, known, vocabulary, of_item, scale, "none", none)
    found = fitted(ask, facts, n_users=len(known), support=support, rank=rank)
    model = FittedScores(ask, found.basis, found.value)
    return Subject(facts, known, vocabulary, of_item, scale, "fitted", model, found.fidelity)


def _asking(scores: Table | Ask, n_users: int | None) -> tuple[Ask, int]:
    if isinstance(scores, np.ndarray):
        matrix = scores
        return lambda users: matrix[users], len(matrix)
    if n_users is None:
        raise DataError("a callable needs n_users, the number of users it knows")
    return scores, n_users
