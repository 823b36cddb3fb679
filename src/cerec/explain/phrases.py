"""Which templates say an answer: codes for whole blocks, from which text and columns are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import unescape

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
        return unescape(self.data.entities.names[self.value_attribute[v]])

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
    more: Ints
    """How many changes are not told one by one."""
    row: Ints
    """Of each change that is told, those of one relation together: the row,"""
    told: Ints
    """the change (of those left out, the first),"""
    change: Codes
    joint: Codes
    gained: Codes


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
    held = (e.held >= 0) & (why >= 1) & (why <= 3)
    counts = np.where(held, 1 + examples + ((examples == 2) & (e.held > 2)), 0).astype(np.int8)
    more = np.where(a.steps > w.MOST_TOLD, a.steps - w.FIRST_TOLD, 0)
    row, told, change, joint = _changes(solved, labels, why, more)
    few = (a.steps <= 2)[row]  # counts of more changes make a sentence hard to read
    count = e.change_count[told]
    gained = np.where((count >= 0) & few, np.where(count == 0, 1, 2), 0).astype(np.int8)
    outcome = _outcome(solved, labels, out=out)
    return Phrases(opening, why, counts, outcome, more, row, told, change, joint, gained)


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
    solved: Solved, labels: Labels, why: Codes, more: Ints
) -> tuple[Ints, Ints, Codes, Codes]:
    """Of every change that is told: its row, which it is, its template and its joint.

    What goes along with another change is not told.
    """
    a, e, d = solved.answers, solved.evidence, solved.described
    head = np.flatnonzero(a.along == 0)
    row = np.searchsorted(a.indptr, head, side="right") - 1
    place = np.arange(len(head)) - np.append(0, np.cumsum(a.steps))[row]
    cut = (more[row] > 0) & (place == w.FIRST_TOLD)
    keep = (more[row] == 0) | (place <= w.FIRST_TOLD)
    relation = labels.value_relation[np.maximum(a.lost, a.gained)[head]]
    key = np.where(cut, len(labels.relation), relation) + row * (len(labels.relation) + 1)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.lexsort((place, first[group], row))
    order = order[keep[order]]
    told, row, key, cut = head[order], row[order], key[order], cut[order]
    kind = np.where(a.lost < 0, w.ALSO, np.where(a.gained < 0, w.WITHOUT, w.BEEN))[told]
    code = np.where((kind == w.BEEN) & (d.lost < d.values_before)[told], w.INCLUDED, kind)
    begins = np.append(True, row[1:] != row[:-1])[: len(row)]
    again = ~np.append(True, (key[1:] != key[:-1]) | (kind[1:] != kind[:-1]))[: len(row)]
    for one, next_ in {w.BEEN: w.INSTEAD, w.WITHOUT: w.NOR, w.ALSO: w.TOO}.items():
        code[again & (kind == one)] = next_
    single = (a.steps[row] == 1) & (why[row] == 1) & (kind == w.BEEN)
    code[single & (a.lost[told] == e.named[row, 0])] = w.THAT
    code[cut] = w.MORE
    last = np.append(begins[1:], True)[: len(row)]
    joint = np.where(begins, 0, np.where(last, 2, 1))
    joint[code == w.NOR] = 3
    return row, told, code.astype(np.int8), joint.astype(np.int8)


def _change_text(labels: Labels, solved: Solved, p: Phrases, m: int) -> str:
    """The m-th change that is told, with what joins it to those before."""
    a, e, c = solved.answers, solved.evidence, p.told[m]
    lost, gained = int(a.lost[c]), int(a.gained[c])
    count = {
        "gained_count": int(e.change_count[c]),
        "gained_usual": w.number_text(float(e.change_usual[c])),
    }
    fields = {
        "relation": labels.relation_of(max(lost, gained)),
        "before": labels.value(lost) if lost >= 0 else "",
        "after": labels.value(gained) if gained >= 0 else "",
        "gained": w.fill(w.GAINED[p.gained[m]], count),
        "more": int(p.more[p.row[m]]),
    }
    return w.JOINT[p.joint[m]] + w.fill(w.CHANGE[p.change[m]], fields)


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
        "have": "has" if e.held[n] == 1 else "have",
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
    told = range(*np.searchsorted(p.row, [n, n + 1]).tolist())
    replacement = int(a.replacement[n])
    fields = {
        "changes": "".join(_change_text(labels, solved, p, m) for m in told),
        "after": int(a.rank_after[n]),
        "replacement": labels.item[replacement] if replacement >= 0 else "",
        "k": solved.k,
    }
    text = w.fill(w.OUTCOME[p.outcome[n]], fields)
    return text + (w.SOURCE[labels.subject.source] if a.status[n] == _FOUND else "")
