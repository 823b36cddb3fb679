"""Items and their values as the search takes them, and which values imply each other.

Value c implies value p of the same relation where every item that has c has p, as a category and
its parent. A relation is a *tree* where most of its values imply another one, more often than
chance would have it. There an answer makes one change at most, of whole branches (`trees`).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.errors import DataError
from cerec.recommend.rank import Doubles, Ints, Longs

REPLACE, REMOVE, ANY = range(3)  # kinds of changes
OWN, NO_GAIN, NO_LOSS, GOES = 1, 2, 4, 8  # bits of a mark
_MOST, _CHANCE = 2 / 3, 0.01


class Values(NamedTuple):
    """Items and their values: I items, V values in the order of their R relations."""

    at: Longs  # (I + 1,) where the values of each item start in `of_item`
    of_item: Ints
    relation: Ints  # (V,)
    mark: NDArray[np.uint8]  # (V,) bits NO_LOSS, NO_GAIN
    gain_at: Longs  # (R + 1,) where each relation starts in `gain`
    gain: Ints  # the values that may be gained
    several: NDArray[np.bool_]  # (R,) whether a relation may hold more than one value
    scale: Doubles  # (I,) above 0
    longest: int  # most values of an item
    above_at: Longs  # (V + 1,) where what each value implies starts in `above`
    above: Ints
    tree: NDArray[np.bool_]  # (R,) whether values of a relation imply each other


def make_values(
    of_item: Ragged,
    relation: NDArray[np.integer],
    support: NDArray[np.integer],
    scale: Doubles,
    *,
    locked: NDArray[np.bool_] | None = None,
    several: NDArray[np.bool_] | None = None,
    above: Ragged | None = None,
    min_support: int = 5,
) -> Values:
    """The values of items: `relation` (V,) rises, `several` (R,) names relations that may hold more
    than one value (default: none). Locked values are neither lost nor gained, and none with fewer
    than `min_support` items is gained. `above`: what `implied` found.
    """
    if np.any(np.diff(relation) < 0):
        raise DataError("values must be in the order of their relations")
    if len(scale) != len(of_item) or not (np.isfinite(scale) & (scale > 0)).all():
        raise DataError("every item needs a scale: a finite number above 0")
    n_relations = int(relation[-1]) + 1 if len(relation) else 0
    if several is None:
        several = np.zeros(n_relations, bool)
    if above is None:
        above = Ragged(np.zeros(len(relation) + 1, np.int64), np.zeros(0, np.int32))
    tree = np.zeros(len(several), bool)
    tree[relation[above.indices]] = True
    may_lose = np.ones(len(relation), bool) if locked is None else ~locked
    may_gain = may_lose & (support >= min_support)
    gain = np.flatnonzero(may_gain).astype(np.int32)
    return Values(
        at=of_item.indptr,
        of_item=of_item.indices,
        relation=relation.astype(np.int32),
        mark=(NO_LOSS * ~may_lose + NO_GAIN * ~may_gain).astype(np.uint8),
        gain_at=np.searchsorted(relation[gain], np.arange(len(several) + 1)).astype(np.int64),
        gain=gain,
        several=several,
        scale=np.ascontiguousarray(scale, np.float64),
        longest=int(of_item.counts.max(initial=0)) + int(above.counts.max(initial=0)),
        above_at=above.indptr,
        above=above.indices,
        tree=tree,
    )


def implied(
    of_item: Ragged, relation: NDArray[np.integer], leave_out: NDArray[np.bool_], support: int
) -> Ragged:
    """Value -> what it implies; nothing where the relation is no tree, or is left out (R,)."""
    holders = of_item.transpose(len(relation))
    skip = leave_out[relation] | (holders.counts < support)
    args = of_item.indptr, of_item.indices, holders.indptr, holders.indices
    child, parent = _implications(*args, relation.astype(np.int32), skip)
    n_relations = len(leave_out)
    among = np.bincount(relation, ~skip, n_relations)
    holding = np.zeros(n_relations)
    for r in np.unique(relation[child]):
        has = relation[of_item.indices] == r
        holding[r] = len(np.unique(of_item.row_of()[has]))
    share = holders.counts[parent] / np.maximum(holding[relation[parent]], 1)
    tests = np.log(_CHANCE) - np.log(np.maximum(among, 1) ** 2)
    sure = holders.counts[child] * np.log(share) < tests[relation[child]]
    implying = np.bincount(relation[np.unique(child[sure])], minlength=n_relations)
    keep = (implying >= _MOST * among)[relation[child]]
    return Ragged.from_pairs(child[keep], parent[keep].astype(np.int32), len(relation))


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _implications(at, of_item, holder_at, holder, relation, skip):  # type: ignore[no-untyped-def]
    """All pairs of a value and another of its relation that all its items have."""
    child, parent = [np.int64(0)], [np.int64(0)]
    count = np.zeros(len(relation), np.int64)
    for c in range(len(relation)):
        if skip[c]:
            continue
        n = holder_at[c + 1] - holder_at[c]
        first = holder[holder_at[c]]
        for q in range(at[first], at[first + 1]):
            count[of_item[q]] = 1
        left = n
        for m in range(1, n):
            left = 0
            for q in range(at[holder[holder_at[c] + m]], at[holder[holder_at[c] + m] + 1]):
                v = of_item[q]
                if count[v] == m and relation[v] == relation[c]:
                    count[v] = m + 1
                    left += 1
            if left < 2:
                break
        for q in range(at[first], at[first + 1]):
            v = of_item[q]
            if left > 1 and v != c and count[v] == n and relation[v] == relation[c]:
                child.append(np.int64(c))
                parent.append(np.int64(v))
            count[v] = 0
    return np.array(child[1:], np.int64), np.array(parent[1:], np.int64)
