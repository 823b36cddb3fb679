"""PathSim between users, and between items, along meta-paths: the input of NeuACF.

For a symmetric meta-path with half-way counts B (x -> its ends), M = B B' counts the paths and

    s(x, y) = 2 M_xy / (M_xx + M_yy)

Aspects: purchase (user-item-user, item-user-item), and user-item-value-item-user with
item-value-item for each of the most frequent relations. Of every matrix the entries below the
median of its non-zeros are dropped and the k largest of each row kept. No matrix is ever dense: a
row is made, counted and cut before the next. n rows, k neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import Rows, Vectors
from cerec.threads import kernel_threads
from cerec_bench.systems.mcrec_paths import frequent

BINS = 1 << 12
"""The median is read off a histogram with so many bins over (0, 1]."""


@dataclass(frozen=True, slots=True, eq=False)
class Similarity:
    """The kept entries of one similarity matrix."""

    rows: Ragged
    weight: Vectors
    """PathSim of every entry of `rows`."""
    median: float
    """Entries below it were dropped."""
    n_all: int
    """Non-zeros of the whole matrix."""
    n_above: int
    """Those not below the median, before rows were cut to k."""


@dataclass(frozen=True, slots=True, eq=False)
class Aspect:
    """One aspect: how alike users are, and how alike items are."""

    relation: int | None
    """Relation row; None for purchases."""
    user: Similarity
    item: Similarity


@lru_cache(maxsize=1)
def aspects(known: Ragged, facts: Facts, *, relations: int, neighbours: int) -> list[Aspect]:
    """Purchase, then the most frequent relations; all from what is given, nothing held out.

    The last answer is kept: models that differ in their seed have the same similarities.
    """
    n_items = len(facts.of_item)
    taken = _ones(known, n_items)
    has = _ones(facts.of_item, facts.n_values)
    out = [Aspect(None, path_sim(taken, neighbours), path_sim(taken.T.tocsr(), neighbours))]
    for relation in frequent(facts, relations).tolist():
        low, high = np.searchsorted(facts.relation, [relation, relation + 1])
        ends = has[:, low:high].tocsr()
        out.append(Aspect(relation, path_sim(taken @ ends, neighbours), path_sim(ends, neighbours)))
    return out


def path_sim(half: sp.csr_matrix, neighbours: int) -> Similarity:
    """PathSim by the half-way counts `half` (n, ends), its median, and the k largest of each row
    that reach the median; equal ones in the order of the rows.
    """
    half = half.tocsr().astype(np.float32)
    half.sort_indices()
    back = half.T.tocsr()
    index, weight, bins = _rows(
        half.indptr.astype(np.int64),
        half.indices.astype(np.int32),
        half.data,
        back.indptr.astype(np.int64),
        back.indices.astype(np.int32),
        back.data,
        neighbours,
        kernel_threads(),
    )
    median, n_above = _median(bins.sum(axis=0))
    keep = (index >= 0) & (weight >= median)
    row, column = np.nonzero(keep)
    flat = index[row, column]
    order = np.lexsort((flat, row))
    rows = Ragged.from_pairs(row, flat, half.shape[0])
    return Similarity(rows, weight[row, column][order], median, int(bins.sum()), n_above)


def _ones(rows: Ragged, n_columns: int) -> sp.csr_matrix:
    return sp.csr_matrix(
        (np.ones(rows.size, np.float32), rows.indices, rows.indptr), shape=(len(rows), n_columns)
    )


def _median(bins: NDArray[np.int64]) -> tuple[float, int]:
    """The lower edge of the bin the upper median lies in, and how many entries reach it."""
    total = int(bins.sum())
    if total == 0:
        return 0.0, 0
    at = int(np.searchsorted(np.cumsum(bins), total // 2, side="right"))
    return at / BINS, int(bins[at:].sum())


@numba.njit(parallel=True, cache=True, error_model="numpy", nogil=True)
def _rows(
    indptr: NDArray[np.int64],
    ends: Rows,
    count: Vectors,
    back_indptr: NDArray[np.int64],
    back: Rows,
    back_count: Vectors,
    neighbours: int,
    parts: int,
) -> tuple[Rows, Vectors, NDArray[np.int64]]:
    """Columns and values (n, k) of the largest entries of each row, -1 for none, and the bins.

    Part p makes the rows p, p + parts, ...: what comes out does not depend on their number.
    """
    n = len(indptr) - 1
    norm = np.zeros(n, np.float32)
    for x in range(n):
        for e in range(indptr[x], indptr[x + 1]):
            norm[x] += count[e] * count[e]
    index = np.full((n, neighbours), -1, np.int32)
    weight = np.zeros((n, neighbours), np.float32)
    bins = np.zeros((parts, BINS), np.int64)
    for p in numba.prange(parts):
        paths = np.zeros(n, np.float32)
        for x in range(p, n, parts):
            for e in range(indptr[x], indptr[x + 1]):
                here, first, last = count[e], back_indptr[ends[e]], back_indptr[ends[e] + 1]
                for f in range(first, last):
                    paths[back[f]] += here * back_count[f]
            _cut(norm[x], paths, norm, index[x], weight[x], bins[p])
    return index, weight, bins


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _cut(
    own: float,
    paths: Vectors,
    norm: Vectors,
    index: Rows,
    weight: Vectors,
    bins: NDArray[np.int64],
) -> None:
    """Turn the path counts of a row into PathSim, count them, keep the largest, clear the row."""
    k, kept, least, lowest = len(index), 0, 0, np.float32(0)
    for y in range(len(paths)):
        if paths[y] == 0:
            continue
        s = np.float32(2) * paths[y] / (own + norm[y])
        paths[y] = 0
        bins[min(int(s * BINS), BINS - 1)] += 1
        if kept < k:
            index[kept], weight[kept] = y, s
            kept += 1
        elif s > lowest:
            index[least], weight[least] = y, s
        else:
            continue
        if kept == k:
            least = int(weight.argmin())
            lowest = weight[least]
