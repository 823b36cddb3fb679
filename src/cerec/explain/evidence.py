"""Why items stand where they stand, for blocks of users: the kinds of parts of a score against
those of the average unseen item, the parts that say most, and counts that bear them out.

    score = own + history + scale * (sum of the effects of its values)

A model that does not say its parts has `other` in place of own and history.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.explain.changes.answers import Answers
from cerec.explain.parts import Parts, history_parts, make_person, turn_to
from cerec.recommend.rank import Doubles, Ints, Longs, lean

NONE, VALUE, HISTORY, OWN, OTHER = range(5)
TOP = 3
"""Parts of a score that are named."""
_HALF = 0.5  # of the largest part: what is named beside it; of an effect: what counts must carry


class Evidence(NamedTuple):
    """A row per pair. Sums are relative to the average unseen item of the user."""

    mean: Doubles  # (n,) score of that item
    values: Doubles  # what the values of the item add
    usual_values: Doubles
    usual_history: Doubles
    usual_own: Doubles
    main: NDArray[np.int8]  # the kind with the largest sum, NONE where nothing is above average
    named: Ints  # (n, 3) the largest parts of that kind, -1 for none
    kind: NDArray[np.int8]  # (n, 3) the largest parts of all kinds
    row: Ints
    part: Doubles
    held: Ints  # the user's items with the first named value; -1: counts do not carry it
    of: Ints  # items of the user
    usual: Doubles
    example: Ints  # (n, 2) items of the user that have that value, -1 for none
    change_count: Ints  # of each change, as for the first named value
    change_usual: Doubles


def evidence(
    parts: Parts, users: Longs, scores: Doubles, effects: Doubles, known: Ragged, a: Answers
) -> Evidence:
    """Evidence for answers about these users, rising; `scores` and `effects` by user."""
    n, m = len(a), len(a.lost)
    means = [np.zeros(n) for _ in range(5)]
    named, row, example = (np.full((n, w), -1, np.int32) for w in (TOP, TOP, 2))
    kinds, part = np.zeros((n, TOP), np.int8), np.full((n, TOP), -np.inf)
    counts = np.full(n, -1, np.int32), np.zeros(n, np.int32), np.zeros(n), example
    of_changes = np.full(m, -1, np.int32), np.zeros(m)
    columns = *means, np.zeros(n, np.int8), named, kinds, row, part, *counts, *of_changes
    out = Evidence._make(columns)
    at = np.searchsorted(a.user, np.append(users, users[-1:] + 1))
    mine = known.take(users)
    listed = at, a.item, a.indptr, a.gained
    _evidence(parts, users, scores, effects, mine.indptr, mine.indices, *listed, out)
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _evidence(  # type: ignore[no-untyped-def]
    parts, users, scores, effects, known_at, known, rows, items, change_at, gained, out
):
    """Fill `out`; rows `rows[u]` to `rows[u + 1]` belong to the u-th user."""
    seen, person = (
        np.zeros(scores.shape[1], np.int64),
        make_person(parts, users if parts.told else users[:0]),
    )
    best = _Best(np.zeros(TOP, np.int8), np.zeros(TOP, np.int32), np.zeros(TOP), np.zeros(2))
    for u, user in enumerate(users):
        first, last = rows[u], rows[u + 1]
        seen[known[known_at[u] : known_at[u + 1]]] = u + 1
        _averages(u, scores, effects[u], seen, parts, out, first, last)
        history, by_history = parts.history[:0], np.zeros((last - first, 0))
        if parts.told:
            turn_to(parts, user, person)
            history = parts.history[parts.history_at[user] : parts.history_at[user + 1]]
            by_history = history_parts(parts, person, user, items[first:last])
        for p in range(first, last):
            _sums(p, items[p], scores[u, items[p]], effects[u], parts, out)
            _name(p, items[p], effects[u], parts, best, out)
            value = best.row[0]
            _by_history(p, history, by_history[p - first], value, parts, best, out)
            _keep_near(best.row, best.part)
            out.named[p] = best.row
            out.of[p] = len(history)
            if parts.told:
                changes = gained[change_at[p] : change_at[p + 1]], change_at[p]
                _counts(p, value, len(history), person.value_at, effects[u], parts, changes, out)


class _Best(NamedTuple):
    """The largest parts of the main kind, and of the examples."""

    kind: NDArray[np.int8]
    row: Ints
    part: Doubles
    near: Doubles


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
def _averages(u, scores, effect, seen, parts, out, first, last):  # type: ignore[no-untyped-def]
    """Means over the unseen items of user u, into the rows from `first` to `last`."""
    n, total, own = 0, 0.0, 0.0
    values = 0.0
    for v in range(len(effect)):
        values += effect[v] * parts.total[v]
    for j in range(scores.shape[1]):
        if seen[j] == u + 1 or scores[u, j] != scores[u, j]:
            part = 0.0
            for p in range(parts.at[j], parts.at[j + 1]):
                part += effect[parts.of_item[p]]
            values -= parts.scale[j] * part
            continue
        n += 1
        total += scores[u, j]
        if parts.told:
            own += parts.own[j]
    n = max(n, 1)
    for p in range(first, last):
        out.mean[p], out.usual_values[p] = total / n, values / n
        out.usual_own[p] = own / n
        out.usual_history[p] = (total - values - own) / n


@lean
def _sums(p, item, score, effect, parts, out) -> None:  # type: ignore[no-untyped-def]
    """The kind that lifts the item most above the average, and its values among the parts."""
    values = 0.0
    for q in range(parts.at[item], parts.at[item + 1]):
        v = parts.of_item[q]
        part = parts.scale[item] * effect[v]
        values += part
        _put(VALUE, v, part, out.kind[p], out.row[p], out.part[p])
    own = 0.0
    if parts.told:
        own = parts.own[item] - out.usual_own[p]
        _put(OWN, -1, own, out.kind[p], out.row[p], out.part[p])
    rest = score - values - own - out.usual_own[p] - out.usual_history[p]
    values -= out.usual_values[p]
    out.values[p] = values
    if not parts.told:
        _put(OTHER, -1, rest, out.kind[p], out.row[p], out.part[p])
    out.main[p] = NONE
    if score > out.mean[p]:
        if values >= rest and values >= own:
            out.main[p] = VALUE
        elif rest >= own:
            out.main[p] = HISTORY if parts.told else OTHER
        else:
            out.main[p] = OWN


@lean
def _name(p, item, effect, parts, best, out) -> None:  # type: ignore[no-untyped-def]
    """The values that lift an item most; two are enough to say."""
    best.kind[:] = 0
    best.row[:] = -1
    best.part[:] = -np.inf
    if out.main[p] == VALUE:
        for q in range(parts.at[item], parts.at[item + 1]):
            v = parts.of_item[q]
            _put(VALUE, v, effect[v], best.kind, best.row, best.part)
        best.row[2], best.part[2] = -1, -np.inf


@lean
def _by_history(p, history, part, value, parts, best, out) -> None:  # type: ignore[no-untyped-def]
    """The history among the parts, and as the main reason or in examples."""
    best.near[:] = -np.inf
    for q in range(len(history)):
        _put(HISTORY, history[q], part[q], out.kind[p], out.row[p], out.part[p])
        if out.main[p] == HISTORY:
            _put(HISTORY, history[q], part[q], best.kind, best.row, best.part)
        elif value >= 0 and part[q] > best.near[1]:
            _example(p, history[q], part[q], value, parts, out, best.near)


@lean
def _example(p, h, part, value, parts, out, near) -> None:  # type: ignore[no-untyped-def]
    """Keep the two items of the history with the value that say most for the item."""
    for at in range(parts.at[h], parts.at[h + 1]):
        if parts.of_item[at] == value:
            to = 0 if part > near[0] else 1
            if to == 0:
                out.example[p, 1], near[1] = out.example[p, 0], near[0]
            out.example[p, to], near[to] = h, part


@lean
def _keep_near(rows: Ints, parts: Doubles) -> None:
    """Drop what is not half of the largest, or does not lift."""
    for n in range(len(rows)):
        if not parts[n] > 0.0 or parts[n] < _HALF * parts[0]:
            rows[n] = -1


@lean
def _counts(p, value, total, at, effect, parts, changes, out) -> None:  # type: ignore[no-untyped-def]
    """How many of the user's items have the value named, and those that changes gain."""
    if value >= 0:
        out.usual[p] = total * parts.share[value]
        count = at[value + 1] - at[value]
        if _carried(count, total, value, effect[value], parts):
            out.held[p] = count
    gained, first = changes
    for c in range(len(gained)):
        v = gained[c]
        if v >= 0:
            out.change_usual[first + c] = total * parts.share[v]
            count = at[v + 1] - at[v]
            if _carried(count, total, v, effect[v], parts):
                out.change_count[first + c] = count


@lean
def _carried(count, total, value, effect, parts) -> bool:  # type: ignore[no-untyped-def]
    """Whether counts carry half of the effect of a value, with its sign."""
    usual = total * parts.share[value]
    part = parts.unit[value] * (count - usual) / np.sqrt(max(total, 1.0))
    return part * effect > 0.0 and abs(part) >= _HALF * abs(effect)
