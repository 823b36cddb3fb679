"""From rows of answers to explanations with ids and names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.ids import IdTable
from cerec.explain import wording as w
from cerec.explain.changes.answers import STATUS
from cerec.explain.explanation import By, Certificate, Change, Explanation, Named, Status, Step
from cerec.explain.phrases import Labels, Phrases, opening_text, outcome_text, phrases
from cerec.explain.reasons import Reasons
from cerec.explain.solver import Solved, Solver

_NO_ANSWER: dict[str, Status] = {
    "not_found": "not_found",
    "no_attributes": "no_attributes",
    "nothing_changeable": "not_found",
    "not_in_question": "not_recommended",
}


class Assembler:
    """Turns answers about one subject into explanations."""

    def __init__(self, data: Dataset, solver: Solver, *, silent: bool = False) -> None:
        self._data, self._solver = data, solver
        self.labels = Labels(data, solver.subject, silent=silent)
        self.reasons = Reasons(solver, self.labels)

    def explanations(
        self,
        solved: Solved,
        *,
        by: By = "attributes",
        certificate: Certificate = "minimum",
        notes: tuple[str, ...] = (),
        reasons: bool = True,
    ) -> list[Explanation]:
        """One per question; further answers become its alternatives."""
        p = phrases(solved, self.labels)
        out: list[Explanation] = []
        for n in range(len(solved.answers)):
            first = solved.answers.turn[n] == 0
            e = self._one(solved, p, n, by, certificate, reasons=reasons and bool(first))
            if first:
                out.append(replace(e, notes=(*notes, *_together(e))))
            else:
                out[-1] = replace(out[-1], alternatives=(*out[-1].alternatives, e))
        return out

    def _one(
        self,
        solved: Solved,
        p: Phrases,
        n: int,
        by: By,
        certificate: Certificate,
        *,
        reasons: bool,
    ) -> Explanation:
        a, data = solved.answers, self._data
        user, item, found = int(a.user[n]), int(a.item[n]), a.status[n] == 0
        real = int(a.toward[n]) if found and by == "agent" else int(solved.described.real[n])
        if found and by == "attributes" and a.toward[n] >= 0:
            real = int(a.toward[n])
        replacement = int(a.replacement[n])
        told = a.rank_before[n] > 0
        return Explanation(
            user=data.users[user],
            item=data.items[item],
            k=solved.k,
            status=self._status(STATUS[a.status[n]]),
            counterfactual_item=data.items[real] if real >= 0 else None,
            replacement=data.items[replacement] if replacement >= 0 and told else None,
            changes=self._changes(solved, n),
            path=(),
            rank_before=int(a.rank_before[n]) if told else None,
            rank_after=int(a.rank_after[n]) if found else None,
            score_before=_number(a.score_before[n]),
            score_after=_number(a.score_after[n]),
            cutoff=_number(a.cutoff[n]) if told else None,
            certificate=certificate if found else None,
            text=opening_text(self.labels, solved, p, n) + outcome_text(self.labels, solved, p, n),
            seconds=0.0,
            question="why" if solved.direction == "out" else "why_not",
            by=by,
            names=self._names(user, item, real, replacement),
            reasons=self.reasons.of_row(solved, n)
            if reasons and told and not self.labels.silent
            else (),
            margin=_number(a.margin[n]),
            holds=_number(solved.holds[n]),
            fidelity=self._solver.subject.fidelity if found else None,
        )

    def _status(self, code: str) -> Status:
        if code != "found":
            return _NO_ANSWER[code]
        source = self._solver.subject.source
        return (
            "verified" if source == "model" else "canonical" if source == "canonical" else "fitted"
        )

    def _changes(self, solved: Solved, n: int) -> tuple[Change, ...]:
        a, d = solved.answers, solved.described
        here = range(int(a.indptr[n]), int(a.indptr[n + 1]))
        return tuple(
            self.change(int(a.lost[c]), int(a.gained[c]), int(d.values_before[c]), bool(a.along[c]))
            for c in here
        )

    def change(self, lost: int, gained: int, values_before: int, along: bool) -> Change:
        """A change of values, by their places in the vocabulary; -1 for none."""
        data, labels = self._data, self.labels
        relation = int(labels.value_relation[max(lost, gained)])
        before = int(labels.value_attribute[lost]) if lost >= 0 else None
        after = int(labels.value_attribute[gained]) if gained >= 0 else None
        return Change(
            relation=data.relations[relation],
            before=None if before is None else data.entities[before],
            after=None if after is None else data.entities[after],
            relation_name=data.relations.name(relation),
            before_name=None if before is None else data.entities.name(before),
            after_name=None if after is None else data.entities.name(after),
            values_before=values_before,
            support=int(self._solver.support[gained]) if gained >= 0 else None,
            along=along,
        )

    def _names(self, user: int, *items: int) -> tuple[Named, ...]:
        found = [named(self._data.users, user)]
        return (*found, *(named(self._data.items, row) for row in items if row >= 0))

    def with_path(self, e: Explanation, item: int, path: NDArray[np.int32]) -> Explanation:
        """The explanation with a walk of attributes and items from its item."""
        steps: list[Step] = []
        for attribute, to in path.tolist():
            if attribute < 0:
                break
            steps.append(
                Step(
                    item=named(self._data.items, item),
                    relation=self._relation(item, attribute, to),
                    attribute=named(self._data.entities, attribute),
                    to_relation=self._relation(to, attribute, item),
                    to_item=named(self._data.items, to),
                )
            )
            item = to
        return replace(e, path=tuple(steps))

    def _relation(self, item: int, attribute: int, other: int) -> Named:
        """By what an item has an attribute: the relation it shares with the other item, if any."""
        facts = self._solver.subject.facts
        mine, theirs = (
            {
                int(facts.relation[v])
                for v in facts.of_item.row(i)
                if facts.attribute[v] == attribute
            }
            for i in (item, other)
        )
        return named(self._data.relations, min(mine & theirs or mine))


def named(table: IdTable, row: int) -> Named:
    """Id and name of a row."""
    return Named(table[row], table.name(row))


def kept_notes(data: Dataset, relations: list[int]) -> tuple[str, ...]:
    """What is said of relations that were locked without being asked for."""
    names = [w.relation_label(data.relations.name(r)) for r in relations]
    text = w.KEPT[len(names) > 1]
    return (w.fill(text, {"relations": w.listing(names)}),) if names else ()


def _together(e: Explanation) -> tuple[str, ...]:
    """What is said of values that change along with others."""
    names = dict.fromkeys(w.relation_label(c.relation_name) for c in e.changes if c.along)
    return tuple(w.fill(w.TOGETHER, {"relation": name}) for name in names)


def _number(x: float) -> float | None:
    return None if np.isnan(x) else float(x)
