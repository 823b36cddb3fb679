"""What there is to say of changes: how many values a relation holds, and real items with them."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from cerec.recommend.rank import Ints, Longs, lean

_MOST = 1024  # holders of a value that are looked at
_COMPARED = 32  # items with all that is gained, of which the most similar one is taken
_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


class Described(NamedTuple):
    """`real` by row, the others by change."""

    real: Ints
    """An item that has all that is gained: of the first ones that do the one that shares most
    values with the item; -1: none is known."""
    values_before: Ints
    """Values that the item has in the relation of the change."""
    lost: Ints
    """How many of them the answer takes away."""


@lean
def _has(at: Longs, of_item: Ints, item: int, value: int) -> bool:
    low, high = at[item], at[item + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if of_item[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < end and of_item[low] == value


@lean
def _rarest(start, end, gained, holder_at):  # type: ignore[no-untyped-def]
    """The gained value that fewest items have; -1: nothing is gained."""
    rarest, fewest = -1, 0
    for c in range(start, end):
        v = gained[c]
        if v >= 0:
            n = holder_at[v + 1] - holder_at[v]
            if rarest < 0 or n < fewest:
                rarest, fewest = v, n
    return rarest


@lean
def _has_all(start, end, gained, at, of_item, j):  # type: ignore[no-untyped-def]
    for c in range(start, end):
        if gained[c] >= 0 and not _has(at, of_item, j, gained[c]):
            return False
    return True


@lean
def _real(item, start, end, gained, at, of_item, holder_at, holder, mark, stamp):  # type: ignore[no-untyped-def]
    """The item for the changes `start` to `end`; own values bear `stamp` in `mark`."""
    rarest = _rarest(start, end, gained, holder_at)
    best, best_shared, left = -1, -1, _COMPARED
    if rarest < 0:
        return best
    first, last = holder_at[rarest], holder_at[rarest + 1]
    for p in range(first, min(last, first + _MOST)):
        j = holder[p]
        if j == item or not _has_all(start, end, gained, at, of_item, j):
            continue
        if left == 0:
            break
        left -= 1
        shared = 0
        for q in range(at[j], at[j + 1]):
            shared += 1 if mark[of_item[q]] == stamp else 0
        if shared > best_shared:
            best, best_shared = j, shared
    return best


@_jit
def describe(  # type: ignore[no-untyped-def]
    item, change_at, lost, gained, relation, at, of_item, holder_at, holder
):
    """Describe the changes `change_at[n]` to `change_at[n + 1]` of each row."""
    real = np.full(len(item), -1, np.int32)
    before, gone = np.zeros(len(lost), np.int32), np.zeros(len(lost), np.int32)
    mark = np.full(len(relation), -1, np.int64)
    for n in range(len(item)):
        i, start, end = item[n], change_at[n], change_at[n + 1]
        if start == end:
            continue
        for q in range(at[i], at[i + 1]):
            mark[of_item[q]] = n
        real[n] = _real(i, start, end, gained, at, of_item, holder_at, holder, mark, n)
        for c in range(start, end):
            r = relation[lost[c] if lost[c] >= 0 else gained[c]]
            for q in range(at[i], at[i + 1]):
                before[c] += 1 if relation[of_item[q]] == r else 0
            for d in range(start, end):
                gone[c] += 1 if lost[d] >= 0 and relation[lost[d]] == r else 0
    return real, before, gone
