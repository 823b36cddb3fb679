"""The counterfactual reward, eq. (14) of the paper.

B walks, T steps. An item is *rational* when it would not make the list: its score is no higher
than that of the last item on it, f(u, e) <= f(u, Q_u[K]). That is the paper's test
P_u(e_t) - P_u(e_next) >= P_u(e_t) - P_u(Q_u[K]), without the softmax that can underflow.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.agent.returns import discounted
from cerec.data.ragged import Ragged
from cerec.recommend.base import Context, Rows, Vectors
from cerec.walk.paths import Walks


@numba.njit(cache=True, error_model="numpy", nogil=True)
def pair_scores(user: Rows, item: Rows, users: Vectors, items: Vectors) -> NDArray[np.float64]:
    """f(u, i) of each pair as a double summed in order of the factors, as `Scorer` sums it."""
    out = np.zeros(len(user))
    for p in range(len(user)):
        for k in range(users.shape[1]):
            out[p] += np.float64(users[user[p], k]) * np.float64(items[item[p], k])
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _among(user, item, indptr, indices):  # type: ignore[no-untyped-def]
    out = np.zeros(len(user), np.bool_)
    for p in range(len(user)):
        row = indices[indptr[user[p]] : indptr[user[p] + 1]]
        at = np.searchsorted(row, item[p])
        out[p] = at < len(row) and row[at] == item[p]
    return out


def list_items(context: Context, k: int) -> Ragged:
    """User -> the first k items of the list, sorted."""
    lists = context.lists[:, :k]
    user, _ = np.nonzero(lists >= 0)
    return Ragged.from_pairs(user, lists[lists >= 0], len(lists))


def cutoffs(context: Context, k: int) -> NDArray[np.float64]:
    """f(u, Q_u[K]) of every user, of the last item where fewer are left; -inf where none is."""
    lists = context.lists[:, :k]
    if context.above is not None:
        return np.zeros(len(lists))  # nobody asks: see `rationality`
    n = (lists >= 0).sum(axis=1)
    user = np.flatnonzero(n > 0).astype(np.int32)
    out = np.full(len(lists), -np.inf)
    out[user] = pair_scores(user, lists[user, n[user] - 1], context.user, context.item)
    return out


def rationality(
    user: Rows, item: Rows, context: Context, cutoff: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether the item is scored no higher than the last of the user's list."""
    if context.above is not None:
        return ~_among(user, item, context.above.indptr, context.above.indices)
    return np.asarray(pair_scores(user, item, context.user, context.item) <= cutoff[user])


def similarity(item: Rows, other: Rows, vectors: Vectors) -> NDArray[np.float64]:
    """Cosine of the (item) vectors of each pair; 0 where one has no length."""
    a, b = vectors[item].astype(np.float64), vectors[other].astype(np.float64)
    length = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    dot = np.einsum("bd,bd->b", a, b)
    return np.divide(dot, length, out=np.zeros(len(dot)), where=length > 0)


def rewards(
    walks: Walks, vectors: Vectors, context: Context, cutoff: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(T, B) reward of every step; 0 where the walk had ended. `vectors` are those of the items."""
    out = np.zeros(walks.log_p.shape)
    for t in range(len(out)):
        on = np.flatnonzero(walks.moved[t])
        user, here, there = walks.user[on], walks.item[t, on], walks.item[t + 1, on]
        out[t, on] = rationality(user, there, context, cutoff) + similarity(here, there, vectors)
    return out


def figures(walks: Walks, reward: NDArray[np.float64], gamma: float) -> dict[str, float]:
    """Mean and variance of the reward of a step, the discounted sum of a walk, the entropy."""
    moved = walks.moved
    started = moved[0]
    steps = reward[moved] if moved.any() else np.zeros(1)
    total = discounted(reward, gamma)[0][started] if started.any() else np.zeros(1)
    return {
        "reward": float(steps.mean()),
        "reward_var": float(steps.var()),
        "cumulative": float(total.mean()),
        "entropy": float(-walks.log_p[moved].mean()) if moved.any() else 0.0,
        "stuck": float(1.0 - started.mean()),
    }
