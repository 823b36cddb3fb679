"""What there is to say of changes: how many values a relation holds, and real items with them."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from cerec.recommend.rank import Ints, lean

_MOST = 1024  # holders of a value that are looked at
_COMPARED = 32  # items with all that is gained, of which the most similar one is taken


class Described(NamedTuple):
    """`real` by row, the others by change."""

    real: Ints
    """An item that has all that is gained: of the first ones that do the one that shares most
    values with the item; -1: none is known."""
    values_before: Ints
    """Values that the item has in the relation of the change."""
    lost: Ints
    """How many of them the answer takes away."""


@numba.njit(cache=True, error_model="numpy", nogil=True)
def describe(  # type: ignore[no-untyped-def]
    item, change_at, lost, gained, relation, at, of_item, holder_at, holder
):
    """Describe the changes `change_at[n]` to `change_at[n + 1]` of each row."""
    real, mark = np.full(len(item), -1, np.int32), np.full(len(relation), -1, np.int64)
    before, gone = np.zeros(len(lost), np.int32), np.zeros(len(lost), np.int32)
    count = np.zeros((2, relation[-1] + 1 if len(relation) else 1), np.int32)
    for n in range(len(item)):
        first, last = change_at[n], change_at[n + 1]
        if first == last:
            continue
        count[:] = 0
        for q in range(at[item[n]], at[item[n] + 1]):
            mark[of_item[q]] = n
            count[0, relation[of_item[q]]] += 1
        for c in range(first, last):
            if lost[c] >= 0:
                count[1, relation[lost[c]]] += 1
        for c in range(first, last):
            r = relation[max(lost[c], gained[c])]
            before[c], gone[c] = count[0, r], count[1, r]
        real[n] = _real(item[n], n, gained[first:last], at, of_item, holder_at, holder, mark)
    return real, before, gone


@lean
def _real(item, stamp, gained, at, of_item, holder_at, holder, mark):  # type: ignore[no-untyped-def]
    """The item for what is gained; own values bear `stamp` in `mark`."""
    rarest, best, best_shared, left = -1, -1, -1, _COMPARED
    for v in gained:
        if v >= 0 and (
            rarest < 0
            or holder_at[v + 1] - holder_at[v] < holder_at[rarest + 1] - holder_at[rarest]
        ):
            rarest = v
    if rarest < 0:
        return best
    for p in range(holder_at[rarest], min(holder_at[rarest + 1], holder_at[rarest] + _MOST)):
        j = holder[p]
        if j == item or not _has_all(j, gained, at, of_item):
            continue
        if left == 0:
            break
        left -= 1
        shared = 0
        for q in range(at[j], at[j + 1]):
            shared += mark[of_item[q]] == stamp
        if shared > best_shared:
            best, best_shared = j, shared
    return best


@lean
def _has_all(item, gained, at, of_item):  # type: ignore[no-untyped-def]
    """Whether an item has all these values."""
    for v in gained:
        low, n = at[item], at[item + 1] - at[item]
        while v >= 0 and n > 1:
            half = n >> 1
            low += half * (of_item[low + half] <= v)
            n -= half
        if v >= 0 and (n == 0 or of_item[low] != v):
            return False
    return True
