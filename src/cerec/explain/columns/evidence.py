"""Why items stand where they stand, for blocks of users: the kinds of parts of a score against
those of the average unseen item, the parts that say most, and counts that bear them out.

    score = own + popularity + history + scale * (sum of the effects of its values)

A model that does not tell its inside has `other` in place of own, popularity and history.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.explain.columns.told import TOP, Inside
from cerec.recommend.rank import Doubles, Ints, lean

NONE, VALUE, HISTORY, POPULARITY, OWN, OTHER = range(6)
_HALF = 0.5  # of the largest part: what is named beside it; of an effect: what counts must carry
_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


@lean
def _direct(inside: Inside, h: int, item: int) -> float:
    """What the item h of a history says for the item."""
    low, high = inside.pair_at[h], inside.pair_at[h + 1]
    end = high
    for at in (low + item, low + item - 1):  # where it stands if nothing, or h alone, is left out
        if low <= at < high and inside.pair[at] == item:
            return float(inside.strength[at])
    high = min(high, low + item)
    while low < high:
        middle = (low + high) // 2
        if inside.pair[middle] < item:
            low = middle + 1
        else:
            high = middle
    return float(inside.strength[low]) if low < end and inside.pair[low] == item else 0.0


@lean
def _put(kind: int, row: int, part: float, kinds, rows, parts) -> None:  # type: ignore[no-untyped-def]
    """Insert into the largest parts, behind its equals."""
    to = len(parts) - 1
    if not part > parts[to]:
        return
    while to > 0 and parts[to - 1] < part:
        kinds[to], rows[to], parts[to] = kinds[to - 1], rows[to - 1], parts[to - 1]
        to -= 1
    kinds[to], rows[to], parts[to] = kind, row, part


@lean
def _averages(u, scores, effect, seen, things, inside, out, first, last):  # type: ignore[no-untyped-def]
    """Means over the unseen items of user u, into the rows from `first` to `last`."""
    n, total, own, popularity = 0, 0.0, 0.0, 0.0
    values = 0.0
    for v in range(len(effect)):
        values += effect[v] * things.total[v]
    for j in range(scores.shape[1]):
        if seen[j] == u + 1 or scores[u, j] != scores[u, j]:
            part = 0.0
            for p in range(things.at[j], things.at[j + 1]):
                part += effect[things.of_item[p]]
            values -= things.scale[j] * part
            continue
        n += 1
        total += scores[u, j]
        if inside.told:
            own += inside.own[j]
            popularity += inside.popularity[j]
    n = max(n, 1)
    for p in range(first, last):
        out.mean[p], out.usual_values[p] = total / n, values / n
        out.usual_own[p], out.usual_popularity[p] = own / n, popularity / n
        out.usual_history[p] = (total - values - own - popularity) / n


@lean
def _carried(count: float, total: float, value: int, effect: float, inside: Inside) -> bool:
    """Whether counts carry half of the effect of a value, with its sign."""
    usual = total * inside.share[value]
    part = inside.unit[value] * (count - usual) / np.sqrt(max(total, 1.0))
    return part * effect > 0.0 and abs(part) >= _HALF * abs(effect)


@lean
def _sums(p, item, score, effect, things, inside, out) -> None:  # type: ignore[no-untyped-def]
    """The kind that lifts the item most above the average, and its values among the parts."""
    values = 0.0
    for q in range(things.at[item], things.at[item + 1]):
        v = things.of_item[q]
        part = things.scale[item] * effect[v]
        values += part
        _put(VALUE, v, part, out.kind[p], out.row[p], out.part[p])
    own = popularity = 0.0
    if inside.told:
        own, popularity = inside.own[item], inside.popularity[item]
        best = own - out.usual_own[p]
        _put(OWN, -1, best, out.kind[p], out.row[p], out.part[p])
        best = popularity - out.usual_popularity[p]
        _put(POPULARITY, -1, best, out.kind[p], out.row[p], out.part[p])
    rest = score - values - own - popularity - out.usual_history[p]
    values -= out.usual_values[p]
    common = own + popularity - out.usual_own[p] - out.usual_popularity[p]
    if not inside.told:
        _put(OTHER, -1, rest, out.kind[p], out.row[p], out.part[p])
    out.main[p] = NONE
    if score > out.mean[p]:
        if values >= rest and values >= common:
            out.main[p] = VALUE
        elif rest >= common:
            out.main[p] = HISTORY if inside.told else OTHER
        else:
            out.main[p] = POPULARITY


@lean
def _keep_near(rows: Ints, parts: Doubles) -> None:
    """Drop what is not half of the largest, or does not lift."""
    for n in range(len(rows)):
        if not parts[n] > 0.0 or parts[n] < _HALF * parts[0]:
            rows[n] = -1


@lean
def _example(p, h, part, value, things, out, near) -> None:  # type: ignore[no-untyped-def]
    """Keep the two items of the history with the value that say most for the item."""
    if not part > near[1]:
        return
    for at in range(things.at[h], things.at[h + 1]):
        if things.of_item[at] == value:
            to = 0 if part > near[0] else 1
            if to == 0:
                out.example[p, 1], near[1] = out.example[p, 0], near[0]
            out.example[p, to], near[to] = h, part


@lean
def _through(p, item, low, high, value, things, inside, rows, best, out) -> None:  # type: ignore[no-untyped-def]
    """The history among the parts, and as the main reason or in examples."""
    best.near[:] = -np.inf
    for q in range(low, high):
        h = inside.history[q]
        part = inside.weight[q] * _direct(inside, h, item)
        if len(rows.through):
            part += rows.through[rows.through_at[p] + q - low]
        _put(HISTORY, h, part, out.kind[p], out.row[p], out.part[p])
        if out.main[p] == HISTORY:
            _put(HISTORY, h, part, best.kind, best.row, best.part)
        elif value >= 0:
            _example(p, h, part, value, things, out, best.near)


@lean
def _name(p, item, effect, things, best, out) -> None:  # type: ignore[no-untyped-def]
    """The values that lift an item most; two are enough to say."""
    best.kind[:] = 0
    best.row[:] = -1
    best.part[:] = -np.inf
    if out.main[p] == VALUE:
        for q in range(things.at[item], things.at[item + 1]):
            v = things.of_item[q]
            _put(VALUE, v, effect[v], best.kind, best.row, best.part)
        best.row[2], best.part[2] = -1, -np.inf


@lean
def _counts(p, value, total, count, effect, inside, rows, out) -> None:  # type: ignore[no-untyped-def]
    """How many of the user's items have the value named, and those that changes gain."""
    if value >= 0:
        out.usual[p] = total * inside.share[value]
        if _carried(count[value], total, value, effect[value], inside):
            out.held[p] = int(count[value])
    for c in range(rows.change_at[p], rows.change_at[p + 1]):
        v = rows.gained[c]
        if v >= 0:
            out.change_usual[c] = total * inside.share[v]
            if _carried(count[v], total, v, effect[v], inside):
                out.change_count[c] = int(count[v])


class _Best(NamedTuple):
    """The largest parts of the main kind, and of the examples."""

    kind: NDArray[np.int8]
    row: Ints
    part: Doubles
    near: Doubles


@_jit
def weigh(  # type: ignore[no-untyped-def]
    users, scores, effects, known_at, known, things, inside, rows, out
) -> None:
    """Fill `out` for the rows of a block of users."""
    seen, count = np.zeros(scores.shape[1], np.int64), np.zeros(effects.shape[1])
    best = _Best(np.zeros(TOP, np.int8), np.zeros(TOP, np.int32), np.zeros(TOP), np.zeros(2))
    for u, user in enumerate(users):
        seen[known[known_at[u] : known_at[u + 1]]] = u + 1
        _averages(u, scores, effects[u], seen, things, inside, out, rows.at[u], rows.at[u + 1])
        low = inside.history_at[user] if inside.told else np.int64(0)
        high = inside.history_at[user + 1] if inside.told else np.int64(0)
        count[:] = 0.0
        for q in range(low, high):
            h = inside.history[q]
            for at in range(things.at[h], things.at[h + 1]):
                count[things.of_item[at]] += 1.0
        for p in range(rows.at[u], rows.at[u + 1]):
            item = rows.item[p]
            _sums(p, item, scores[u, item], effects[u], things, inside, out)
            _name(p, item, effects[u], things, best, out)
            value = best.row[0]
            _through(p, item, low, high, value, things, inside, rows, best, out)
            _keep_near(best.row, best.part)
            out.named[p] = best.row
            out.of[p] = high - low
            if inside.told:
                _counts(p, value, float(high - low), count, effects[u], inside, rows, out)


@_jit
def history_parts(inside: Inside, user: int, item: int, through: Doubles) -> Doubles:
    """What each item of a user's history adds to the score of an item."""
    low, high = inside.history_at[user], inside.history_at[user + 1]
    out = np.empty(high - low)
    for q in range(low, high):
        out[q - low] = inside.weight[q] * _direct(inside, inside.history[q], item)
        if len(through):
            out[q - low] += through[q - low]
    return out
