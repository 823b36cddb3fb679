"""Where a score comes from, part by part.

The parts of `reasons` add up to the score less the mean score of the user's unseen items:

    sum over values + sum over the history + own + popularity + usual values + usual history

A value and an item of the history count in full; "usual values" and "usual history" take off what
they add to the average unseen item, and own and popularity are less the mean over those items. A
model that tells only the effects of values has one part `other` for the rest, less its mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerec.explain.columns.evidence import history_parts
from cerec.explain.explanation import Reason
from cerec.explain.phrases import Labels
from cerec.explain.solving import Solved, Solver
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
        parts = self.parts(user, item, score, effect)
        usual = {
            "own": e.usual_own[n],
            "popularity": e.usual_popularity[n],
            "other": e.usual_history[n],
        }
        out = [_less(r, float(usual.get(r.kind, 0.0))) for r in parts]
        out.append(Reason("usual values", -float(e.usual_values[n])))
        if self._solver.inside.told:
            out.append(Reason("usual history", -float(e.usual_history[n])))
        return _sorted(out)

    def parts(self, user: int, item: int, score: float, effect: Doubles) -> list[Reason]:
        """The parts of a score itself, which they add up to."""
        inside, labels = self._solver.inside, self._labels
        scale = float(self._solver.things.scale[item])
        values = self._solver.subject.of_item.row(item)
        out = [
            self._value(user, int(v), scale * float(effect[v]), float(effect[v])) for v in values
        ]
        history, told = self._history(user, item)
        for h, part in zip(history.tolist(), told.tolist(), strict=True):
            out.append(Reason("history", part, labels.data.items[h], labels.item[h]))
        if inside.told:
            out.append(Reason("own", float(inside.own[item])))
            out.append(Reason("popularity", float(inside.popularity[item])))
        else:
            out.append(Reason("other", score - sum(r.part for r in out)))
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

    def _value(self, user: int, v: int, part: float, effect: float) -> Reason:
        labels, data = self._labels, self._labels.data
        attribute, relation = labels.value_attribute[v], labels.value_relation[v]
        count, usual = self._counted(user, v, effect)
        return Reason(
            "value",
            part,
            data.entities[attribute],
            data.entities.name(attribute),
            data.relations[relation],
            data.relations.name(relation),
            count,
            usual,
        )

    def _counted(self, user: int, v: int, effect: float) -> tuple[int | None, float | None]:
        """How many of the user's items have a value, where counts carry half of its effect."""
        inside = self._solver.inside
        if not inside.told:
            return None, None
        history = inside.history[inside.history_at[user] : inside.history_at[user + 1]]
        count = int(np.isin(history, self._solver.holders.row(v)).sum())
        usual = len(history) * float(inside.share[v])
        part = inside.unit[v] * (count - usual) / np.sqrt(max(len(history), 1))
        carried = part * effect > 0 and abs(part) >= abs(effect) / 2
        return (count, usual) if carried else (None, None)

    def _history(self, user: int, item: int) -> tuple[NDArray[np.int32], Doubles]:
        inside = self._solver.inside
        if inside.told:
            through, _ = self._solver.through.parts(np.array([user]), np.array([item]))
            history = inside.history[inside.history_at[user] : inside.history_at[user + 1]]
            return history, history_parts(inside, user, item, through)
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
