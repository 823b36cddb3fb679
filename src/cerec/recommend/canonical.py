"""Effects of item values in a factor model that knows nothing of values, all scores kept.

How a trained item vector splits into an own part and a part of its values is not identified, so
one split is taken that does not depend on the training's accidents: item vectors are regressed on
the values,

    V_i ~ own_i + sum over values a of i of x_a        e(u, a) = U_u . x_a

by ridge with sums. Only values of at least `support` items take part. Free of penalty are the
intercept, how many values of each relation an item has, and whether it has any where that is
another thing. An item's popularity is no column: it is caused by taste, not beside it.

*Centred.* In each relation the mean of x over its values, each counted once for every item that
has it, is taken off. So a value without effect is what an item of the relation usually has, and
the relation's parts add up to nothing over all items. What is taken off is the same for all
values of a relation, hence a multiple of the count column: what the fit says of an item, and what
a replacement does, stay as they were.

*The penalty* makes the error of users' scores of items left out of the fit smallest, that is the
errors of item vectors weighed by U'U (`cerec.recommend.ridge`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import DataError, NotFinite
from cerec.lazy import Later
from cerec.recommend.linear.values import grid_bits, only, usable
from cerec.recommend.protocol import Doubles
from cerec.recommend.ridge import fit
from cerec.recommend.subject import Source, Subject
from cerec.threads import blas_threads, in_chunks

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Later("scipy.sparse")

log = logging.getLogger(__name__)

Table = NDArray[np.floating[Any]]
SUPPORT = 5
"""Items a value must have at least to have an effect."""
_BLOCK = 512  # numbers of a row made together: as many factors of them as fit near the core


@dataclass(frozen=True, slots=True, eq=False)
class Canonical:
    """Effects fitted to item vectors."""

    value: Doubles
    """(V, d) x."""
    vocabulary: NDArray[np.int32]
    """(V,) rows of the values in the facts, rising."""
    fidelity: float
    """R^2 of users' scores of items left out of the fit, around each user's mean."""
    penalty: float


class FactorScores:
    """s(u, i) = U_u . V_i + bias_i, and e(u, a) = U_u . x_a.

    Both are doubles, added up in the order of the factors, the bias last: the same bits for one
    user or many, and those of `scorer.score_all`. Effects are then moved to a grid on which sums
    are exact (docs/adr/0004-exact-scores.md).
    """

    def __init__(
        self,
        user: Table,
        item: Table,
        value: Table,
        *,
        bias: Table | None = None,
        gone_user: NDArray[np.integer] | None = None,
        gone_item: NDArray[np.integer] | None = None,
    ) -> None:
        """(U, d), (I, d), (V, d) and (I,); with a bias, `value` may have a column for it, last.

        `gone_user`, `gone_item`: rows without a vector, whose scores are nan.
        """
        if bias is not None:
            user, item = with_bias(user, item, bias)
            if value.shape[1] == user.shape[1] - 1:
                value = np.concatenate([value, np.zeros((len(value), 1))], axis=1)
        check(user, item)
        if value.shape[1] != user.shape[1]:
            raise DataError(
                f"effects have {value.shape[1]} columns and user factors {user.shape[1]}; "
                "both must come from the same model"
            )
        self.user = np.ascontiguousarray(user)
        self._item_t = np.ascontiguousarray(item.T)
        self._value_t = np.ascontiguousarray(value.T)
        self.bits = grid_bits(_longest(user) * _longest(value))
        self._gone = gone_user, gone_item

    def both(self, users: NDArray[np.integer]) -> tuple[Doubles, Doubles]:
        """(n, I) scores and (n, V) effects of user rows."""
        mine = self.user[np.asarray(users, np.int64)]
        scores = products(mine, self._item_t)
        gone_user, gone_item = self._gone
        if gone_user is not None:
            scores[np.isin(users, gone_user)] = np.nan
        if gone_item is not None:
            scores[:, gone_item] = np.nan
        return scores, products(mine, self._value_t, 2.0**self.bits)


def products(user: Table, table_t: Table, grid: float = 0.0) -> Doubles:
    """(n, m) products of rows (n, d) and columns (d, m), each number added up by itself.

    Then moved to the nearest multiple of 1 / grid, a power of two; 0: left as they are.
    """
    out = np.empty((len(user), table_t.shape[1]))
    in_chunks(len(user), lambda start, stop: _products(user, table_t, grid, start, stop, out))
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _products(user, table_t, grid, first, last, out):  # type: ignore[no-untyped-def]
    """Four factors in a go, one after the other: as `score_all`, with fewer trips to memory."""
    d, n = table_t.shape
    whole = d - d % 4
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        for u in range(first, last):
            row = out[u, start:stop]
            row[:] = 0.0
            for k in range(0, whole, 4):
                x0, x1 = np.float64(user[u, k]), np.float64(user[u, k + 1])
                x2, x3 = np.float64(user[u, k + 2]), np.float64(user[u, k + 3])
                t0, t1 = table_t[k, start:stop], table_t[k + 1, start:stop]
                t2, t3 = table_t[k + 2, start:stop], table_t[k + 3, start:stop]
                for i in range(stop - start):
                    total = row[i] + x0 * np.float64(t0[i])
                    total = total + x1 * np.float64(t1[i])
                    total = total + x2 * np.float64(t2[i])
                    row[i] = total + x3 * np.float64(t3[i])
            for k in range(whole, d):
                x = np.float64(user[u, k])
                t = table_t[k, start:stop]
                for i in range(stop - start):
                    row[i] += x * np.float64(t[i])
            if grid > 0.0:
                for i in range(stop - start):
                    row[i] = np.rint(row[i] * grid) / grid


def with_bias(user: Table, item: Table, bias: Table) -> tuple[Table, Table]:
    """The same scores without a bias: it is one more factor, the last, of which users have 1."""
    column = np.asarray(bias).reshape(-1, 1)
    one = np.ones((len(user), 1), user.dtype)
    return np.concatenate([user, one], axis=1), np.concatenate([item, column], axis=1)


def canonical(
    user: Table,
    item: Table,
    facts: Facts,
    support: int = SUPPORT,
    *,
    items: NDArray[np.bool_] | None = None,
) -> Canonical:
    """Effects of the values of at least `support` items, by item vectors (I, d) and users (U, d).

    `items`: those that take part, all by default. Items without such a value never do: there is
    nothing to tell them by. Up to 4,096 items or values, whichever are fewer, every item is left
    out once in closed form; above, a tenth of the items is, once, and equations are solved by
    conjugate gradients (`cerec.recommend.ridge.fit`).
    """
    check(user, item)
    vocabulary, of_item = vocabulary_of(facts, support)
    there = of_item.counts > 0
    rows = np.flatnonzero(there if items is None else there & items)
    d = item.shape[1]
    if len(rows) < 2:
        return Canonical(np.zeros((len(vocabulary), d)), vocabulary, 0.0, np.inf)
    shape = len(of_item), len(vocabulary)
    z = sp.csr_matrix((np.ones(of_item.size), of_item.indices, of_item.indptr), shape)[rows]
    relation = facts.relation[vocabulary]
    wide = user.astype(np.float64)
    with blas_threads(1):  # the same bits on any number of cores
        found = fit(z, free_columns(z, relation, support), item[rows].astype(float), wide.T @ wide)
    log.info("effects: penalty %.3g, R2 of items left out %.3f", found.penalty, found.fidelity)
    held = np.asarray(z.sum(axis=0)).ravel()
    return Canonical(
        centred(found.value, relation, held), vocabulary, found.fidelity, found.penalty
    )


def vocabulary_of(facts: Facts, support: int) -> tuple[NDArray[np.int32], Ragged]:
    """Rows of the values of at least `support` items; and item -> positions among these."""
    keep = usable(facts, support)
    kept = only(facts.of_item, keep)
    position = (np.cumsum(keep) - 1).astype(np.int32)
    vocabulary = np.flatnonzero(keep).astype(np.int32)
    return vocabulary, Ragged(kept.indptr, position[kept.indices])


def free_columns(z: sp.csr_matrix, relation: NDArray[np.int32], support: int) -> Doubles:
    """(n, p) intercept; values of each relation; whether there is any, where at least `support`
    items have none and as many have several: else it is another column but for a few items.
    """
    names, place = np.unique(relation, return_inverse=True)
    to = sp.csr_matrix((np.ones(len(place)), (np.arange(len(place)), place)))
    count = (z @ to).toarray() if len(names) else np.zeros((z.shape[0], 0))
    lacking, several = (count == 0).sum(axis=0), (count > 1).sum(axis=0)
    present = count[:, (lacking >= support) & (several >= support)] > 0
    return np.concatenate([np.ones((len(count), 1)), count, present], axis=1)


def centred(value: Doubles, relation: NDArray[np.int32], held: Doubles) -> Doubles:
    """`value` (V, d) less the mean of its relation, a value weighed by the items that hold it."""
    n = int(relation.max(initial=-1)) + 1
    to = sp.csr_matrix((held, (relation, np.arange(len(relation)))), (n, len(relation)))
    mean = (to @ value) / np.maximum(np.bincount(relation, held, n), 1e-300)[:, None]
    return np.asarray(value - mean[relation])


def factor_subject(
    user: Table,
    item: Table,
    facts: Facts,
    known: Ragged,
    *,
    bias: Table | None = None,
    support: int = SUPPORT,
) -> Subject:
    """A factor model as the explainer sees it: its scores, with canonical effects.

    Effect vectors are kept in the precision of the user factors.
    """
    if bias is not None:
        user, item = with_bias(user, item, bias)
    if len(user) != len(known) or len(item) != len(facts.of_item):
        raise DataError(
            f"{len(user)} user and {len(item)} item factors, expected {len(known)} and "
            f"{len(facts.of_item)}: one row for every id in the order of the data"
        )
    found = canonical(user, item, facts, support)
    model = FactorScores(user, item, found.value.astype(user.dtype))
    source: Source = "canonical" if len(found.vocabulary) else "none"
    fidelity = found.fidelity if len(found.vocabulary) else None
    scale = np.ones(len(item))
    of_item = vocabulary_of(facts, support)[1]
    return Subject(facts, known, found.vocabulary, of_item, scale, source, model, fidelity)


def check(user: Table, item: Table) -> None:
    """Refuse factors that do not fit together or hold what is no number."""
    for name, table in (("user", user), ("item", item)):
        if table.ndim != 2 or table.dtype not in (np.float32, np.float64):
            raise DataError(
                f"{name} factors must be a two-dimensional float32 or float64 array, "
                f"got {table.ndim} dimensions of {table.dtype}"
            )
        if not np.isfinite(table).all():
            row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
            raise NotFinite(
                f"{name} factors hold a number that is not finite in row {row}; "
                "train again with a lower rate, or leave that row out"
            )
    if user.shape[1] != item.shape[1]:
        raise DataError(
            f"user factors have {user.shape[1]} columns and item factors {item.shape[1]}; "
            "both must come from the same model"
        )


def _longest(rows: Table) -> float:
    """The largest Euclidean length of a row; 0 of none."""
    return float(np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64).max(initial=0.0)))
