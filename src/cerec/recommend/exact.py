"""Lists and ranks for many users at once, equal to the bit to those of one user.

Blocks of single-precision products say which items can matter; those few are scored again by the
one arithmetic of `Scorer`. A product of d factors in single precision, summed in any order, is off
by at most about d * 2**-24 * |u| |v|, so an item further than twice that below the k-th best is
not in the list.
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.base import Rows, Vectors
from cerec.recommend.scorer import Scorer, rank_of, top_k
from cerec.recommend.topk import floor_of, over_blocks

Scores = NDArray[np.float64]
_LARGEST = 1e37  # of a score, above which single precision may overflow


def exact_lists(scorer: Scorer, known: Ragged, k: int) -> Iterator[tuple[Rows, Scores]]:
    """Item rows and scores of every user's first k unknown items, user by user, as `top_k`."""
    k = min(k, scorer.n_items)
    off = _off_by(scorer)
    if off is None:
        for user in range(scorer.n_users):
            scores = scorer.scores(user)
            rows = top_k(scores, k, known.row(user)).astype(np.int32)
            yield rows, scores[rows]
        return

    def lists(first: int, products: Vectors) -> tuple[Rows, Scores]:
        rows = known.indptr, known.indices
        return _lists(products, first, *rows, k, off, scorer.user, scorer.item)

    for block in over_blocks(scorer.user, scorer.item, lists):
        for row, score in zip(*block, strict=True):
            there = row >= 0
            yield row[there], score[there]


def exact_ranks(scorer: Scorer, item: int, known: Ragged) -> tuple[Scores, NDArray[np.int64]]:
    """Score and rank of one item for every user, as `rank_of`."""
    off = _off_by(scorer)
    score = np.empty(scorer.n_users)
    rank = np.empty(scorer.n_users, np.int64)
    if off is None:
        for user in range(scorer.n_users):
            scores = scorer.scores(user)
            score[user], rank[user] = scores[item], rank_of(scores, item, known.row(user))
        return score, rank

    def ranks(first: int, products: Vectors) -> None:
        rows = slice(first, first + len(products))
        score[rows], rank[rows] = _ranks(
            products, first, known.indptr, known.indices, item, off, scorer.user, scorer.item
        )

    over_blocks(scorer.user, scorer.item, ranks)
    return score, rank


def _off_by(scorer: Scorer) -> Scores | None:
    """(U,) how far a product in single precision may be off; None where there is no use for it:
    scores that are a matrix need no product, and very large ones would overflow.
    """
    if scorer.matrix is not None:
        return None
    d = scorer.item.shape[1]
    lengths = [
        np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64))
        for rows in (scorer.user, scorer.item)
    ]
    largest = lengths[0] * lengths[1].max(initial=0.0)
    if largest.max(initial=0.0) > _LARGEST:
        return None
    # twice the bound: second-order terms, and numbers too small for single precision
    return np.asarray(2.0 * (d + 2) * (2.0**-24 * largest + 2.0**-126))


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _dot(user: Vectors, item: Vectors) -> float:
    """As `scorer.score_all` sums it."""
    out = 0.0
    for k in range(len(user)):
        out += np.float64(user[k]) * np.float64(item[k])
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _lists(
    products: Vectors,
    first: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    k: int,
    off: Scores,
    users: Vectors,
    items: Vectors,
) -> tuple[Rows, Scores]:
    """Lists of the users first, first + 1, ...; writes -inf over known and padding products."""
    n = len(products)
    out = np.full((n, k), -1, np.int32)
    scores = np.zeros((n, k))
    rows = np.empty(len(items), np.int32)
    for r in range(n):
        row, u = products[r], first + r
        floor, best = floor_of(row, len(items), indices[indptr[u] : indptr[u + 1]], k)
        least = np.float64(floor) - 2.0 * off[u]
        stride, count = len(best), 0
        for b in range(stride):
            if best[b] >= least and best[b] > -np.inf:
                for c in range(b, len(row), stride):
                    if row[c] >= least and row[c] > -np.inf:
                        rows[count] = c
                        count += 1
        found = np.sort(rows[:count])  # catalogue order, kept by the stable sort
        exact = np.empty(count)
        for at in range(count):
            exact[at] = _dot(users[u], items[found[at]])
        order = np.argsort(-exact, kind="mergesort")[:k]
        out[r, : len(order)] = found[order]
        scores[r, : len(order)] = exact[order]
    return out, scores


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _ranks(
    products: Vectors,
    first: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    item: int,
    off: Scores,
    users: Vectors,
    items: Vectors,
) -> tuple[Scores, NDArray[np.int64]]:
    n = len(products)
    scores, ranks = np.empty(n), np.empty(n, np.int64)
    for r in range(n):
        row, u = products[r], first + r
        row[indices[indptr[u] : indptr[u + 1]]] = -np.inf
        own = _dot(users[u], items[item])
        above, below, ahead = own + off[u], own - off[u], 0
        for c in range(len(items)):
            if row[c] < below or c == item:
                continue
            if row[c] > above:
                ahead += 1
                continue
            exact = _dot(users[u], items[c])
            ahead += exact > own or (exact == own and c < item)
        scores[r], ranks[r] = own, 1 + ahead
    return scores, ranks
