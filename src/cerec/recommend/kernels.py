"""The inner loops of learning: the same bits whatever the thread count.

Gradients are gathered on one thread; `adagrad` shares large tables among threads, each row moved
by one of them.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.recommend.base import Rows, Vectors

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


@numba.njit(cache=True, error_model="numpy", nogil=True)
def mark(rows: Rows, flags: Flags) -> None:
    """Flag the rows (those of at least 0)."""
    for r in rows:
        if r >= 0:
            flags[r] = True


@numba.njit(cache=True, error_model="numpy", nogil=True)
def descend(table: Vectors, gradient: Vectors, touched: Flags, rate: float) -> None:
    """One step of plain gradient descent on the touched rows; gradient and flag are cleared."""
    for r in range(len(table)):
        if touched[r]:
            touched[r] = False
            table[r] -= np.float32(rate) * gradient[r]
            gradient[r] = 0


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
