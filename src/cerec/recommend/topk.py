"""Exact top-K lists for many users at once, streaming over blocks of users.

Scores are float32 matrix products. Among equal scores the order of the catalogue holds, as in
`scorer.top_k`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.base import Rows, Vectors
from cerec.threads import blas_threads, kernel_threads

T = TypeVar("T")
_WIDTH = 32  # items of a group, whose largest score is looked at first
_BLOCK_BYTES = 16 << 20  # scores held at once by a thread


def top_k_all(user: Vectors, item: Vectors, known: Ragged, k: int) -> Rows:
    """The k best items unknown to each user, best first, (U, k); -1 where there are fewer."""

    def lists(first: int, scores: Vectors) -> Rows:
        return _select(scores, len(item), first, known.indptr, known.indices, k)

    return np.concatenate([np.empty((0, k), np.int32), *over_blocks(user, item, lists)])


def over_blocks(user: Vectors, item: Vectors, work: Callable[[int, Vectors], T]) -> list[T]:
    """`work(first user, scores)` for one block of users after the other; it may write to them.

    Columns beyond the last item are padding, so that groups of items are whole. Blocks are shared
    among the kernel threads, each product made by one of them: the same bits for any number.
    """
    n_items, d = item.shape
    padded = np.zeros((-(-max(n_items, 1) // _WIDTH) * _WIDTH, d), np.float32)
    padded[:n_items] = item
    table = np.ascontiguousarray(padded.T)  # (d, I)
    size = max(16, _BLOCK_BYTES // (4 * table.shape[1]))
    mine = threading.local()  # one block of scores for every thread

    def block(first: int) -> T:
        if not hasattr(mine, "scores"):
            mine.scores = np.empty((size, table.shape[1]), np.float32)
        rows = user[first : first + size]
        return work(first, np.matmul(rows, table, out=mine.scores[: len(rows)]))

    firsts = range(0, len(user), size)
    threads = min(kernel_threads(), len(firsts))
    with blas_threads(1):
        if threads < 2:
            return [block(first) for first in firsts]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(block, firsts))


def top_k_matrix(matrix: Vectors, known: Ragged, k: int) -> Rows:
    """`top_k_all` for a (U, I) matrix of scores."""
    n_users, n_items = matrix.shape
    out = np.empty((n_users, k), np.int32)
    width = -(-max(n_items, 1) // _WIDTH) * _WIDTH
    size = max(16, _BLOCK_BYTES // (4 * width))
    scores = np.empty((size, width), np.float32)
    for first in range(0, n_users, size):
        n = min(size, n_users - first)
        scores[:n, :n_items] = matrix[first : first + n]
        out[first : first + n] = _select(scores[:n], n_items, first, known.indptr, known.indices, k)
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _select(
    scores: Vectors,
    n_items: int,
    first: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    k: int,
) -> Rows:
    """Lists of the users first, first + 1, ...; writes -inf over known and padding scores."""
    n, width = scores.shape
    out = np.full((n, k), -1, np.int32)
    rows = np.empty(width, np.int32)
    worst = np.float32(-np.inf)
    for r in range(n):
        row = scores[r]
        known = indices[indptr[first + r] : indptr[first + r + 1]]
        floor, best = floor_of(row, n_items, known, k)
        stride, count = len(best), 0
        for b in range(stride):
            if best[b] >= floor and best[b] > worst:
                for c in range(b, width, stride):
                    if row[c] >= floor and row[c] > worst:
                        rows[count] = c
                        count += 1
        found = np.sort(rows[:count])  # catalogue order, kept by the stable sort
        order = np.argsort(-row[found], kind="mergesort")[:k]
        out[r, : len(order)] = found[order]
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def floor_of(
    row: Vectors, n_items: int, known: NDArray[np.int32], k: int
) -> tuple[np.float32, Vectors]:
    """A score that k unknown items have at least, and the best score of each group of items.

    Group b holds the items b, b + stride, ...: maxima side by side. Writes -inf over known and
    padding scores of the row.
    """
    worst = np.float32(-np.inf)
    stride = len(row) // _WIDTH
    row[n_items:] = worst
    for at in known:
        row[at] = worst
    best = row[:stride].copy()
    for c in range(stride, len(row), stride):
        part = row[c : c + stride]
        for b in range(stride):
            best[b] = part[b] if part[b] > best[b] else best[b]
    if k > stride:
        return worst, best
    return _kth_largest(best, np.empty(k, np.float32)), best  # k groups: so have the k best items


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _kth_largest(values: Vectors, heap: Vectors) -> np.float32:
    """The len(heap)-th largest value; `heap` is scratch. Few values displace another: cheap."""
    k = len(heap)
    heap[:] = np.sort(values[:k])  # sorted is a heap with the least on top
    for x in values[k:]:
        if x <= heap[0]:
            continue
        at = 0
        while True:
            child = 2 * at + 1
            if child >= k:
                break
            if child + 1 < k and heap[child + 1] < heap[child]:
                child += 1
            if heap[child] >= x:
                break
            heap[at] = heap[child]
            at = child
        heap[at] = x
    return heap[0]
