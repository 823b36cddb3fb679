"""The inner loops of learning: the same bits whatever the thread count.

Gradients are gathered on one thread; `compose`, `spread` and `adagrad` share large tables among
threads, each row summed by one of them in one order.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.recommend.base import Rows, Vectors

Offsets = NDArray[np.int64]
Flags = NDArray[np.bool_]

_EPS = np.float32(1e-10)
# Sums may be reordered to fill vector registers: exact to rounding, and the same on every run.
_FAST = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, error_model="numpy", nogil=True)
def softplus(x: float) -> float:
    """ln(1 + e^x) without overflow."""
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


@numba.njit(cache=True, error_model="numpy", nogil=True)
def sigmoid(x: float) -> float:
    """1 / (1 + e^-x)."""
    return 1.0 / (1.0 + np.exp(-x))


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=_FAST)
def pair_gradients(
    user: Rows,
    item: Rows,
    negative: Rows,
    users: Vectors,
    items: Vectors,
    alone: float,
    l2: float,
    d_user: Vectors,
    d_item: Vectors,
) -> float:
    """Add the gradients of `softplus(f_uj - f_ui) + alone * softplus(-f_ui)`; the summed loss.

    `alone = 0` is BPR, `alone = 1` the paper's eq. 4 with one counterfactual per positive.
    The pull `l2 / 2 (|U_u|^2 + |V_i|^2 + |V_j|^2)` is in the gradients, not in the loss.
    """
    d = users.shape[1]
    loss = 0.0
    for p in range(len(user)):
        u, i, j = user[p], item[p], negative[p]
        if j < 0:
            continue
        f_i, f_j = np.float32(0), np.float32(0)
        for k in range(d):
            f_i += users[u, k] * items[i, k]
            f_j += users[u, k] * items[j, k]
        loss += softplus(f_j - f_i) + alone * softplus(-f_i)
        c_j = np.float32(sigmoid(f_j - f_i))
        c_i = c_j + np.float32(alone * sigmoid(-f_i))
        pull = np.float32(l2)
        for k in range(d):
            x, y, z = users[u, k], items[i, k], items[j, k]
            d_user[u, k] += c_j * z - c_i * y + pull * x
            d_item[i, k] += pull * y - c_i * x
            d_item[j, k] += pull * z + c_j * x
    return loss


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=_FAST)
def swap_gradients(
    user: Rows,
    item: Rows,
    lost: Rows,
    gained: Rows,
    weight: NDArray[np.float32],
    users: Vectors,
    values: Vectors,
    indptr: Offsets,
    d_user: Vectors,
    d_value: Vectors,
) -> float:
    """Add the gradients of `weight_u * softplus(f_ui' - f_ui)`, i' = i with one value swapped.

    `f_ui' - f_ui = U_u . (x_gained - x_lost) / |A_i|`: only the user and two values take part.
    """
    d = users.shape[1]
    loss = 0.0
    for p in range(len(user)):
        u, i, a, b = user[p], item[p], lost[p], gained[p]
        if a < 0 or b < 0:
            continue
        share = np.float32(1) / np.float32(indptr[i + 1] - indptr[i])
        gain = np.float32(0)
        for k in range(d):
            gain += users[u, k] * (values[b, k] - values[a, k])
        gain *= share
        loss += weight[u] * softplus(gain)
        c = np.float32(weight[u] * sigmoid(gain)) * share
        for k in range(d):
            x, y = users[u, k], values[b, k] - values[a, k]
            d_user[u, k] += c * y
            d_value[a, k] -= c * x
            d_value[b, k] += c * x
    return loss


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=_FAST)
def list_gradients(
    user: Rows,
    indptr: Offsets,
    indices: Rows,
    users: Vectors,
    items: Vectors,
    l2: float,
    d_user: Vectors,
    d_item: Vectors,
) -> float:
    """Add the gradients of the original CLiMF objective, positives only; the summed loss.

    Row p of the ragged rows holds the positives of `user[p]`:
    `-sum_i [ln s(f_i) + sum_k ln s(f_i - f_k)]`, k over the other positives.
    """
    d = users.shape[1]
    loss = 0.0
    for p in range(len(user)):
        u, first, n = user[p], indptr[p], indptr[p + 1] - indptr[p]
        score = np.zeros(n, np.float32)
        pull = np.zeros(n, np.float32)  # derivative by each score
        for a in range(n):
            i = indices[first + a]
            for k in range(d):
                score[a] += users[u, k] * items[i, k]
        for a in range(n):
            loss += softplus(-score[a])
            pull[a] -= np.float32(sigmoid(-score[a]))
            for b in range(a):
                gap = score[a] - score[b]
                loss += softplus(-gap) + softplus(gap)
                c = np.float32(sigmoid(gap) - sigmoid(-gap))
                pull[a] += c
                pull[b] -= c
        decay = np.float32(l2)
        for a in range(n):
            i, c = indices[first + a], pull[a]
            for k in range(d):
                x, y = users[u, k], items[i, k]
                d_user[u, k] += c * y + decay * x
                d_item[i, k] += c * x + decay * y
    return loss


@numba.njit(cache=True, error_model="numpy", nogil=True, parallel=True)
def compose(
    own: Vectors, values: Vectors, indptr: Offsets, indices: Rows, out: Vectors, chunks: int
) -> None:
    """out_i = own_i + mean of the vectors of the item's values; the same for any `chunks`."""
    d = own.shape[1]
    for c in numba.prange(chunks):
        for i in range(c * len(own) // chunks, (c + 1) * len(own) // chunks):
            n = indptr[i + 1] - indptr[i]
            share = np.float32(1) / np.float32(max(n, 1))
            for k in range(d):
                out[i, k] = 0
            for at in range(indptr[i], indptr[i + 1]):
                v = indices[at]
                for k in range(d):
                    out[i, k] += values[v, k]
            for k in range(d):
                out[i, k] = own[i, k] + share * out[i, k]


@numba.njit(cache=True, error_model="numpy", nogil=True, parallel=True)
def spread(
    d_item: Vectors,
    touched: Flags,
    item_indptr: Offsets,
    indptr: Offsets,
    indices: Rows,
    d_value: Vectors,
    marks: Flags,
    chunks: int,
) -> None:
    """Hand the gradient of each touched item on to its values, the transpose of `compose`.

    Gathered value by value from the items that hold it: the same for any `chunks`.
    """
    d, n_values = d_item.shape[1], len(marks)
    for c in numba.prange(chunks):
        for v in range(c * n_values // chunks, (c + 1) * n_values // chunks):
            for at in range(indptr[v], indptr[v + 1]):
                i = indices[at]
                if not touched[i]:
                    continue
                marks[v] = True
                share = np.float32(1) / np.float32(item_indptr[i + 1] - item_indptr[i])
                for k in range(d):
                    d_value[v, k] += share * d_item[i, k]


@numba.njit(cache=True, error_model="numpy", nogil=True)
def mark(rows: Rows, flags: Flags) -> None:
    """Flag the rows (those of at least 0)."""
    for r in rows:
        if r >= 0:
            flags[r] = True


@numba.njit(cache=True, error_model="numpy", nogil=True, parallel=True)
def adagrad(
    table: Vectors, gradient: Vectors, squares: Vectors, touched: Flags, rate: float, chunks: int
) -> None:
    """One Adagrad step on the touched rows; their gradient and flag are cleared."""
    d = table.shape[1]
    step = np.float32(rate)
    for c in numba.prange(chunks):
        for r in range(c * len(table) // chunks, (c + 1) * len(table) // chunks):
            if not touched[r]:
                continue
            touched[r] = False
            for k in range(d):
                g = gradient[r, k]
                squares[r, k] += g * g
                table[r, k] -= step * g / np.sqrt(squares[r, k] + _EPS)
                gradient[r, k] = 0
