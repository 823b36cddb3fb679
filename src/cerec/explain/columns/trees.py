"""Values that imply each other, such as a category and its parent: they change together.

Value c implies value p of the same relation where every item that has c has p. A relation is a
*tree* where most of its values imply another one, more often than chance would have it. There an
answer makes one change at most, of whole branches: what it loses goes with all that implies it,
and with what nothing else of the item implies; what it gains comes with all that it implies. A
parent that both branches have stays. So a changed item never has a child without its parent, one
change is worth `sum of e over the lost branch - sum of e over the gained one`, and the sort of
`slots` stays exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.rank import Doubles, Ints, Longs, lean

OWN, NO_GAIN, NO_LOSS, GOES = 1, 2, 4, 8  # bits of Room.mark
_MOST, _CHANCE = 2 / 3, 0.01
_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


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


@_jit
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


@lean
def implies(at: Longs, above: Ints, child: int, parent: int) -> bool:
    """Whether all that has the child has the parent."""
    found = False
    for q in range(at[child], at[child + 1]):
        found |= above[q] == parent
    return found


@lean
def cut(
    values: Values, mark: NDArray[np.uint8], effect: Doubles, start: int, end: int, v: int
) -> Any:
    """Mark the branch that goes with the own value v of the relation at `start` to `end`; the sum
    of its effects, and whether all of it may go.
    """
    total, may = 0.0, True
    for q in range(start, end):
        mark[values.of_item[q]] &= OWN | NO_GAIN | NO_LOSS
    for q in range(start, end):
        w = values.of_item[q]
        goes = w == v or implies(values.above_at, values.above, w, v)
        if not goes and implies(values.above_at, values.above, v, w):
            goes = True
            for p in range(start, end):
                x = values.of_item[p]
                kin = x == v or implies(values.above_at, values.above, x, v)
                if not kin and not implies(values.above_at, values.above, v, x):
                    goes &= not implies(values.above_at, values.above, x, w)
        if goes:
            mark[w] |= GOES
            total += effect[w]
            may &= not mark[w] & NO_LOSS
    return total, may


@lean
def grafts(values: Values, mark: NDArray[np.uint8], g: int) -> bool:
    """Whether g may be gained with all that it implies, in place of the branch that goes."""
    if mark[g] & (OWN | NO_GAIN):
        return False
    for q in range(values.above_at[g], values.above_at[g + 1]):
        m = mark[values.above[q]]
        if m & NO_GAIN or (m & OWN and not m & GOES):
            return False
    return True


@lean
def spread(
    values: Values, room: Any, item: int, lost: int, gained: int, out: Any, used: int
) -> int:
    """Write one change of a tree value by value, deepest first, from `used` on; how many."""
    r = values.relation[max(lost, gained)]
    start, end = values.at[item], values.at[item + 1]
    while start < end and values.relation[values.of_item[start]] != r:
        start += 1
    while end > start and values.relation[values.of_item[end - 1]] != r:
        end -= 1
    n_lose = n_gain = 0
    if lost >= 0:
        cut(values, room.mark, room.effect, start, end, lost)
    for q in range(start, end):
        w = values.of_item[q]
        kept = gained >= 0 and implies(values.above_at, values.above, gained, w)
        if lost >= 0 and room.mark[w] & GOES and not kept:
            _deepest(values, room.lose, n_lose, w)
            n_lose += 1
    if gained >= 0:
        room.gain[0], n_gain = gained, 1
        for q in range(values.above_at[gained], values.above_at[gained + 1]):
            if not room.mark[values.above[q]] & OWN:
                _deepest(values, room.gain, n_gain, values.above[q])
                n_gain += 1
    n = max(n_lose, n_gain)
    for m in range(n):
        out[0, used + m] = room.lose[m] if m < n_lose else -1
        out[1, used + m] = room.gain[m] if m < n_gain else -1
        out[2, used + m] = m > 0
    return n


@lean
def _deepest(values: Values, rows: Ints, to: int, v: int) -> None:
    """Insert behind those that imply as much or more."""
    depth = values.above_at[v + 1] - values.above_at[v]
    while to > 0:
        w = rows[to - 1]
        if values.above_at[w + 1] - values.above_at[w] >= depth:
            break
        rows[to] = w
        to -= 1
    rows[to] = v
