"""Which templates say an answer: codes for whole blocks, from which text and columns are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.explain import wording as w
from cerec.explain.changes.answers import STATUS
from cerec.explain.evidence import HISTORY, OTHER, OWN, VALUE
from cerec.explain.solver import Solved
from cerec.recommend.subject import Subject

Ints = NDArray[np.integer]
Codes = NDArray[np.int8]
_FOUND, _NOT_FOUND, _NO_ATTRIBUTES, _FIXED, _NOT_IN_QUESTION = range(len(STATUS))


class Labels:
    """Words for rows: items, relations and values of a subject."""

    def __init__(self, data: Dataset, subject: Subject, *, silent: bool = False) -> None:
        """`silent`: nothing is known of where scores come from, so nothing is said of it."""
        self.data, self.subject, self.silent = data, subject, silent
        items = data.items
        self.item = [w.item_label(i, n) for i, n in zip(items.ids, items.names, strict=True)]
        self.relation = [w.relation_label(name) for name in data.relations.names]
        facts, rows = subject.facts, subject.vocabulary
        self.value_relation = facts.relation[rows]
        self.value_attribute = facts.attribute[rows]

    def value(self, v: int) -> str:
        """The name of a value."""
        return self.data.entities.names[self.value_attribute[v]]

    def relation_of(self, v: int) -> str:
        """The relation of a value, as words."""
        return self.relation[self.value_relation[v]]

    @cached_property
    def rare(self) -> NDArray[np.bool_]:
        """(I,) items of which something is known, but nothing that counts."""
        s = self.subject
        return (s.facts.of_item.counts > 0) & (s.of_item.counts == 0)


@dataclass(frozen=True, slots=True, eq=False)
class Phrases:
    """Codes of templates by row, and by change. Numbers of things are in tenths."""

    opening: Codes
    why: Codes
    counts: Codes
    outcome: Codes
    change: Codes
    joint: Codes
    gained: Codes
    more: Ints
    """By change: how many are not told."""
    told: NDArray[np.bool_]
    """Whether a change is told; of those left out the first stands for all."""


def phrases(solved: Solved, labels: Labels) -> Phrases:
    """The codes of a block."""
    a, e = solved.answers, solved.evidence
    out = solved.direction == "out"
    listed = a.rank_before <= solved.k
    opening = np.where(a.rank_before == 0, 2, np.where(listed, 0, 1)).astype(np.int8)
    for n in np.flatnonzero(opening == 2):
        opening[n] = 2 if a.item[n] in labels.subject.known.row(int(a.user[n])) else 3
    why = np.where((opening == 0) & out & (not labels.silent), _why(solved, labels), 0).astype(
        np.int8
    )
    examples = (e.example >= 0).sum(axis=1)
    told = (e.held >= 0) & (why >= 1) & (why <= 3)
    counts = np.where(told, 1 + examples + ((examples == 2) & (e.held > 2)), 0).astype(np.int8)
    change, joint, told_change, more = _changes(solved, labels, why)
    few = np.repeat(a.size <= 2, a.size)  # counts of more changes make a sentence hard to read
    counted = np.where(e.change_count == 0, 1, 2)
    gained = np.where((e.change_count >= 0) & few, counted, 0).astype(np.int8)
    outcome = _outcome(solved, labels, out=out)
    return Phrases(opening, why, counts, outcome, change, joint, gained, more, told_change)


def _why(solved: Solved, labels: Labels) -> Ints:
    e = solved.evidence
    named = (e.named >= 0).sum(axis=1)
    relation = labels.value_relation
    first, second = e.named[:, 0], e.named[:, 1]
    same = np.zeros(len(named), bool)
    two = (e.main == VALUE) & (named > 1)
    same[two] = relation[first[two]] == relation[second[two]]
    out = np.zeros(len(named), np.int64)
    value = (e.main == VALUE) & (named > 0)
    out[value] = np.where(named[value] == 1, 1, np.where(same[value], 2, 3))
    history = (e.main == HISTORY) & (named > 0)
    out[history] = 3 + named[history]
    out[e.main == OWN] = 7
    out[e.main == OTHER] = 8
    return out


def _outcome(solved: Solved, labels: Labels, *, out: bool) -> Codes:
    a = solved.answers
    code = np.full(len(a), w.OUT if out else w.IN, np.int8)
    code[a.status == _NOT_FOUND] = w.STAYS if out else w.STAYS_OUT
    code[(a.status == _NOT_FOUND) & (a.replacement < 0)] = w.ALONE
    code[a.status == _FIXED] = w.LOCKED
    nothing = a.status == _NO_ATTRIBUTES
    code[nothing] = np.where(labels.rare[a.item[nothing]], w.RARE, w.UNKNOWN)
    code[a.status == _NOT_IN_QUESTION] = 0
    return code


def _changes(
    solved: Solved, labels: Labels, why: Codes
) -> tuple[Codes, Codes, NDArray[np.bool_], Ints]:
    """Template, joint, whether it is told, and how many are left out, of every change."""
    a, e, d = solved.answers, solved.evidence, solved.described
    size, n = a.size, len(a.lost)
    row = np.repeat(np.arange(len(size)), size)
    place = np.arange(n) - np.repeat(a.indptr[:-1], size)
    kind = np.where(a.lost < 0, w.ALSO, np.where(a.gained < 0, w.WITHOUT, w.BEEN))
    every = d.lost >= d.values_before
    code = np.where((kind == w.BEEN) & ~every, w.INCLUDED, kind)
    relation = labels.value_relation[np.maximum(a.lost, a.gained)] if n else np.zeros(0, np.int32)
    again = np.zeros(n, bool)
    again[1:] = (place[1:] > 0) & (relation[1:] == relation[:-1]) & (kind[1:] == kind[:-1])
    later = {w.BEEN: w.INSTEAD, w.WITHOUT: w.NOR, w.ALSO: w.TOO}
    for first, next_ in later.items():
        code[again & (kind == first)] = next_
    single = (size[row] == 1) & (why[row] == 1) & (kind == w.BEEN)
    code[single & (a.lost == e.named[row, 0])] = w.THAT
    more = size[row] - (w.MOST_TOLD - 1)
    cut = (size[row] > w.MOST_TOLD) & (place == w.MOST_TOLD - 1)
    code[cut] = w.MORE
    told = (place < w.MOST_TOLD) | (size[row] <= w.MOST_TOLD)
    last = place == np.minimum(size[row], w.MOST_TOLD) - 1
    joint = np.where(place == 0, 0, np.where(last, 2, 1)).astype(np.int8)
    joint[code == w.NOR] = 3
    return code.astype(np.int8), joint, told, more


def change_text(labels: Labels, solved: Solved, p: Phrases, c: int) -> str:
    """One change, with what joins it to those before."""
    a, e = solved.answers, solved.evidence
    lost, gained = int(a.lost[c]), int(a.gained[c])
    count = {
        "gained_count": int(e.change_count[c]),
        "gained_usual": w.number_text(float(e.change_usual[c])),
    }
    fields = {
        "relation": labels.relation_of(max(lost, gained)),
        "before": labels.value(lost) if lost >= 0 else "",
        "after": labels.value(gained) if gained >= 0 else "",
        "gained": w.fill(w.GAINED[p.gained[c]], count),
        "more": int(p.more[c]),
    }
    return w.JOINT[p.joint[c]] + w.fill(w.CHANGE[p.change[c]], fields)


def opening_text(labels: Labels, solved: Solved, p: Phrases, n: int) -> str:
    """Where the item stands, and why."""
    a, e = solved.answers, solved.evidence
    label = labels.item[a.item[n]]
    named = [int(v) for v in e.named[n]]
    fields: dict[str, object] = {
        "start": w.at_start(label),
        "rank": int(a.rank_before[n]),
        "k": solved.k,
        "count": int(e.held[n]),
        "of": int(e.of[n]),
        "usual": w.number_text(float(e.usual[n])),
    }
    if e.main[n] == VALUE:
        for name, v in zip(("", "2"), named, strict=False):
            if v >= 0:
                fields |= {
                    f"relation{name}": labels.relation_of(v),
                    f"value{name}": labels.value(v),
                }
        fields["it"] = "it" if named[1] < 0 else fields.get("value")
    elif e.main[n] == HISTORY:
        fields |= {f"h{m}": labels.item[h] for m, h in enumerate(named, 1) if h >= 0}
    fields |= {f"e{m}": labels.item[h] for m, h in enumerate(e.example[n].tolist(), 1) if h >= 0}
    parts: Sequence[str] = (w.OPENING[p.opening[n]], w.WHY[p.why[n]], w.COUNTS[p.counts[n]])
    return "".join(w.fill(part, fields) for part in parts) + "."


def outcome_text(labels: Labels, solved: Solved, p: Phrases, n: int) -> str:
    """What would have been, or why there is no answer."""
    a = solved.answers
    told = [c for c in range(a.indptr[n], a.indptr[n + 1]) if p.told[c]]
    replacement = int(a.replacement[n])
    fields = {
        "changes": "".join(change_text(labels, solved, p, c) for c in told),
        "after": int(a.rank_after[n]),
        "replacement": labels.item[replacement] if replacement >= 0 else "",
        "k": solved.k,
    }
    text = w.fill(w.OUTCOME[p.outcome[n]], fields)
    return text + (w.SOURCE[labels.subject.source] if a.status[n] == _FOUND else "")
