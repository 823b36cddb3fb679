"""KGAT's passes over whole tables, each fused into one loop; the products between them are BLAS.

N nodes, d width in and m width out of a layer, B pairs, n edges.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.recommend.base import Rows, Vectors
from cerec.recommend.draws import TRIES, below, holds

SLOPE = 0.01
"""Of LeakyReLU."""
_JIT = {
    "cache": True,
    "error_model": "numpy",
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz"},
}


@numba.njit(parallel=True, **_JIT)
def mix(e: Vectors, near: Vectors) -> tuple[Vectors, Vectors]:
    """(e + near, e * near) for the rows of `near`."""
    total, product = np.empty_like(near), np.empty_like(near)
    for r in numba.prange(len(near)):
        for k in range(near.shape[1]):
            total[r, k] = e[r, k] + near[r, k]
            product[r, k] = e[r, k] * near[r, k]
    return total, product


@numba.njit(inline="always")
def _kept(seed: np.uint32, at: np.uint32, least: np.uint32) -> np.bool_:
    """Whether dropout keeps the number at that place: a hash of seed and place."""
    x = np.uint32(at * np.uint32(0x9E3779B9) + seed)  # numba widens: cut after every step
    x = np.uint32((x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    x = np.uint32((x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35))
    x = np.uint32(x ^ (x >> np.uint32(16)))
    return x >= least


@numba.njit(parallel=True, **_JIT)
def activate(total: Vectors, product: Vectors, drop: float, seed: int) -> Vectors:
    """(N, m): LeakyReLU of both added up, a share `drop` of it left out."""
    n, m = total.shape
    out = np.empty_like(total)
    least, scale = np.uint32(drop * 4294967295.0), np.float32(1 / (1 - drop))
    slope, zero, key = np.float32(SLOPE), np.float32(0), np.uint32(seed)
    for r in numba.prange(n):
        for k in range(m):
            a, b = total[r, k], product[r, k]
            x = (a if a > zero else slope * a) + (b if b > zero else slope * b)
            keep = drop == 0.0 or _kept(key, np.uint32(r * m + k), least)
            out[r, k] = scale * x if keep else zero
    return out


@numba.njit(parallel=True, **_JIT)
def normalise(x: Vectors, out: Vectors) -> Vectors:
    """Unit rows of x into `out` (as many rows as that has); the lengths."""
    length = np.empty(len(out), np.float32)
    for r in numba.prange(len(out)):
        total = np.float32(0)
        for k in range(x.shape[1]):
            total += x[r, k] * x[r, k]
        length[r] = max(np.sqrt(total), np.float32(1e-12))
        for k in range(x.shape[1]):
            out[r, k] = x[r, k] / length[r]
    return length


@numba.njit(parallel=True, **_JIT)
def unnormalise(unit: Vectors, length: Vectors, d_unit: Vectors, d_x: Vectors) -> None:
    """Add the gradient by the rows that `normalise` took to `d_x`."""
    for r in numba.prange(len(unit)):
        along = np.float32(0)
        for k in range(unit.shape[1]):
            along += unit[r, k] * d_unit[r, k]
        for k in range(unit.shape[1]):
            d_x[r, k] += (d_unit[r, k] - along * unit[r, k]) / length[r]


@numba.njit(parallel=True, **_JIT)
def deactivate(total: Vectors, product: Vectors, d_out: Vectors, drop: float, seed: int) -> None:
    """`total` and `product` become the gradients by them, given that by `activate`'s result."""
    n, m = total.shape
    least, scale = np.uint32(drop * 4294967295.0), np.float32(1 / (1 - drop))
    slope, zero, one, key = np.float32(SLOPE), np.float32(0), np.float32(1), np.uint32(seed)
    for r in numba.prange(n):
        for k in range(m):
            keep = drop == 0.0 or _kept(key, np.uint32(r * m + k), least)
            d = scale * d_out[r, k] if keep else zero
            total[r, k] = d * (one if total[r, k] > zero else slope)
            product[r, k] = d * (one if product[r, k] > zero else slope)


@numba.njit(parallel=True, **_JIT)
def unmix(e: Vectors, near: Vectors, d_total: Vectors, d_product: Vectors) -> None:
    """`d_total` becomes the gradient by `e`, `d_product` that by `near`, given those of `mix`."""
    for r in numba.prange(len(near)):
        for k in range(near.shape[1]):
            a, b = d_total[r, k], d_product[r, k]
            d_total[r, k] = a + b * near[r, k]
            d_product[r, k] = a + b * e[r, k]


@numba.njit(**_JIT)
def push_pairs(
    e: Vectors, user: Rows, item: Rows, wrong: Rows, l2: float, scale: float, grad: Vectors
) -> float:
    """BPR of nodes (user, item, wrong): the loss; `scale` times its gradient is added to `grad`.

    Gradient of `softplus(e_u . e_j - e_u . e_i) + l2 / 2 (|e_u|^2 + |e_i|^2 + |e_j|^2)`.
    """
    loss, pull = 0.0, np.float32(scale * l2)
    for b in range(len(user)):
        u, i, j = e[user[b]], e[item[b]], e[wrong[b]]
        gap = np.float32(0)
        for k in range(len(u)):
            gap += u[k] * (j[k] - i[k])
        loss += max(gap, 0.0) + np.log1p(np.exp(-abs(gap)))
        c = np.float32(scale / (1.0 + np.exp(-gap)))
        d_u, d_i, d_j = grad[user[b]], grad[item[b]], grad[wrong[b]]
        for k in range(len(u)):
            d_u[k] += c * (j[k] - i[k]) + pull * u[k]
            d_i[k] += pull * i[k] - c * u[k]
            d_j[k] += pull * j[k] + c * u[k]
    return loss


@numba.njit(parallel=True, **_JIT)
def differences(node: Vectors, head: Rows, tail: Rows, wrong: Rows, out: Vectors) -> None:
    """Head minus tail and head minus wrong tail by turns, into `out` (2n, d)."""
    for e in numba.prange(len(head)):
        h, t, w = node[head[e]], node[tail[e]], node[wrong[e]]
        for k in range(len(h)):
            out[2 * e, k] = h[k] - t[k]
            out[2 * e + 1, k] = h[k] - w[k]


@numba.njit(**_JIT)
def energies(z: Vectors) -> float:
    """Mean softplus of |z|^2 of every right row minus that of the wrong row after it; `z` becomes
    the gradient.
    """
    n, loss = len(z) // 2, 0.0
    for e in range(n):
        right, left = z[2 * e], z[2 * e + 1]
        gap = np.float32(0)
        for k in range(len(right)):
            gap += right[k] * right[k] - left[k] * left[k]
        loss += max(gap, 0.0) + np.log1p(np.exp(-abs(gap)))
        c = np.float32(2.0 / (1.0 + np.exp(-gap)) / n)
        for k in range(len(right)):
            right[k] *= c
            left[k] *= -c
    return loss / max(n, 1)


@numba.njit(**_JIT)
def push_edges(
    node: Vectors, head: Rows, tail: Rows, wrong: Rows, d_apart: Vectors, pull: float, grad: Vectors
) -> None:
    """Add the gradient by the ends, given that by `differences`, and `pull` times the ends."""
    c = np.float32(pull)
    for e in range(len(head)):
        h, t, w = head[e], tail[e], wrong[e]
        right, left = d_apart[2 * e], d_apart[2 * e + 1]
        for k in range(len(right)):
            grad[h, k] += right[k] + left[k] + c * node[h, k]
            grad[t, k] += c * node[t, k] - right[k]
            grad[w, k] += c * node[w, k] - left[k]


@numba.njit(cache=True, error_model="numpy", nogil=True)
def wrong_tails(
    head: Rows, indptr: NDArray[np.int64], indices: Rows, state: NDArray[np.uint64]
) -> Rows:
    """A node that is no neighbour of each head (any node after `TRIES` draws)."""
    n = len(indptr) - 1
    out = np.empty(len(head), np.int32)
    for e in range(len(head)):
        for _ in range(TRIES):
            out[e] = below(state, n)
            if out[e] != head[e] and not holds(indptr, indices, head[e], out[e]):
                break
    return out
