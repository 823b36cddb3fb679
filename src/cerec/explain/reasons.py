"""Where a score comes from, part by part.

The parts of `reasons` add up to the score less the mean score of the user's unseen items:

    sum over values + sum over the history + own + usual values + usual history

A value and an item of the history count in full; "usual values" and "usual history" take off what
they add to the average unseen item, and own is less the mean over those items. A
model that tells only the effects of values has one part `other` for the rest, less its mean.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cerec.explain.evidence import Evidence
from cerec.explain.explanation import Reason
from cerec.explain.parts import history_parts, make_person, turn_to
from cerec.explain.phrases import Labels
from cerec.explain.solver import Solved, Solver
from cerec.recommend.protocol import Doubles


class Reasons:
    """Tells the parts of scores for one subject."""

    def __init__(self, solver: Solver, labels: Labels) -> None:
        self._solver, self._labels = solver, labels

    def of_row(self, solved: Solved, n: int) -> tuple[Reason, ...]:
        """The parts of a row of answers, largest first."""
        a, e = solved.answers, solved.evidence
        user, item = int(a.user[n]), int(a.item[n])
        effect = solved.effects[np.searchsorted(solved.users, user)]
        score = float(a.score_before[n])
        if np.isnan(score):
            return ()
        out = self.parts(user, item, score, effect, less=e, n=n)
        out.append(Reason("usual values", -float(e.usual_values[n])))
        if self._solver.parts.told:
            out.append(Reason("usual history", -float(e.usual_history[n])))
        return _sorted(out)

    def parts(
        self,
        user: int,
        item: int,
        score: float,
        effect: Doubles,
        *,
        less: Evidence | None = None,
        n: int = 0,
    ) -> list[Reason]:
        """The parts of a score itself, which they add up to; own and other less those
        of the average item where row `n` of `less` tells them.
        """
        said, labels = self._solver.parts, self._labels
        values = self._solver.subject.of_item.row(item)
        part = float(said.scale[item]) * effect[values]
        out = self._values(user, values, part, effect[values])
        history, told = self._history(user, item)
        ids = labels.data.items.ids
        for h, x in zip(history.tolist(), told.tolist(), strict=True):
            out.append(Reason("history", x, ids[h], labels.item[h]))
        usual = (less.usual_own[n], less.usual_history[n]) if less else ()
        own, other = map(float, usual or (0.0, 0.0))
        if said.told:
            out.append(Reason("own", float(said.own[item]) - own))
        else:
            rest = score - float(part.sum()) - float(told.sum())
            out.append(Reason("other", rest - other))
        return out

    def compared(
        self, user: int, item: int, other: int, scores: Doubles, effect: Doubles
    ) -> tuple[Reason, ...]:
        """The parts in which two scores differ, largest first."""
        mine = self.parts(user, item, float(scores[item]), effect)
        theirs = {_key(r): r for r in self.parts(user, other, float(scores[other]), effect)}
        out = []
        for r in mine:
            rival = theirs.pop(_key(r), None)
            out.append(r if rival is None else _less(r, rival.part))
        out += [_less(r, 2 * r.part) for r in theirs.values()]
        return _sorted([r for r in out if r.part != 0.0])

    def _values(
        self, user: int, values: NDArray[np.int32], part: Doubles, effect: Doubles
    ) -> list[Reason]:
        counts = self._counts(user)
        held: list[int | None] = [None] * len(values)
        usual: list[float | None] = [None] * len(values)
        if counts is not None:
            (having, total), said = counts, self._solver.parts
            expected = total * said.share[values]
            carry = said.unit[values] * (having[values] - expected) / max(total, 1) ** 0.5
            carried = (carry * effect > 0) & (np.abs(carry) >= np.abs(effect) / 2)
            for at in np.flatnonzero(carried).tolist():
                held[at], usual[at] = int(having[values[at]]), float(expected[at])
        about = map(self._names.__getitem__, values.tolist())
        rows = zip(part.tolist(), about, held, usual, strict=True)
        return [Reason("value", x, *names, count, few) for x, names, count, few in rows]

    @cached_property
    def _names(self) -> list[tuple[str, str, str, str]]:
        """Of every value: id and name of its attribute, then of its relation."""
        labels, data = self._labels, self._labels.data
        pairs = zip(labels.value_attribute.tolist(), labels.value_relation.tolist(), strict=True)
        e, r = data.entities, data.relations
        return [(e.ids[a], e.names[a], r.ids[x], r.names[x]) for a, x in pairs]

    def _counts(self, user: int) -> tuple[NDArray[np.int64], int] | None:
        """(V,) items of the user that have each value, and all of them; None where untold."""
        said, subject = self._solver.parts, self._solver.subject
        if not said.told:
            return None
        history = said.history[said.history_at[user] : said.history_at[user + 1]]
        values = subject.of_item.take(history).indices
        return np.bincount(values, minlength=len(subject.vocabulary)), len(history)

    def _history(self, user: int, item: int) -> tuple[NDArray[np.int32], Doubles]:
        said = self._solver.parts
        if said.told:
            person = make_person(said, np.array([user]))
            turn_to(said, user, person)
            history = said.history[said.history_at[user] : said.history_at[user + 1]]
            return history, history_parts(said, person, user, np.array([item], np.int32))[0]
        told = self._solver.subject.contributions(user, item)
        pairs = () if told is None else told.history
        return np.array([h for h, _ in pairs], np.int32), np.array([x for _, x in pairs])


def _key(r: Reason) -> tuple[str, str | None, str | None]:
    return r.kind, r.relation, r.id


def _less(r: Reason, x: float) -> Reason:
    if x == 0.0:
        return r
    about = r.relation, r.relation_name, r.count, r.usual
    return Reason(r.kind, r.part - x, r.id, r.name, *about)


def _sorted(reasons: list[Reason]) -> tuple[Reason, ...]:
    return tuple(sorted(reasons, key=lambda r: -abs(r.part)))
