"""Questions in row numbers to explanations: by attributes, toward the agent's items, by history."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.errors import ConfigError, QuestionError
from cerec.explain import wording as w
from cerec.explain.by_agent import Agent, Proposer
from cerec.explain.by_history import by_history, carried, history_search
from cerec.explain.changes.answers import Question, relations_of
from cerec.explain.changes.values import Values
from cerec.explain.explanation import Explanation
from cerec.explain.history import Histories, HistoryAnswer
from cerec.explain.options import Options
from cerec.explain.phrases import opening_text, phrases
from cerec.explain.render import Assembler, kept_notes
from cerec.explain.robust import solve_robust
from cerec.explain.solver import Solved, Solver
from cerec.explain.wording import MOST_TOLD, NOT_ROBUST, fill
from cerec.recommend.subject import Subject

Rows = NDArray[np.integer]
_NEAREST = 256  # items that are looked at for the nearest answer


class RowExplainer:
    """Explains pairs of rows, in the order of their users."""

    compiled = True
    """Whether whole blocks of users go through compiled code."""

    def __init__(
        self,
        data: Dataset,
        subject: Subject,
        proposer: Proposer | None = None,
        history: Histories | None = None,
    ) -> None:
        self.data, self.subject = data, subject
        self.solver = Solver(data, subject)
        self.assembler = Assembler(data, self.solver)
        self._agent = (
            None if proposer is None else Agent(data, self.solver, self.assembler, proposer)
        )
        self._history = history

    @cached_property
    def history(self) -> Histories | None:
        """Who answers by history; None where the model does not score histories."""
        return self._history or history_search(self.subject)

    def explanations(
        self, user: Rows, item: Rows, asked: Options, *, why_not: bool = False
    ) -> list[Explanation]:
        """One explanation per pair."""
        self.check(asked, why_not=why_not)
        question, values = question_of(asked, why_not=why_not), self.solver.values(asked)
        notes = kept_notes(self.data, self.solver.kept_as_they_are(asked))
        if asked.robust is not None:
            return self._robust(user, item, values, asked, notes)
        if asked.by == "agent":
            return cast(Agent, self._agent).explanations(user, item, values, question, notes)
        if asked.prefer == "near":
            solved = self._nearest(user, item, values, question)
        else:
            solved = self.solver.asked(user, item, values, question)
        out = self.assembler.explanations(solved, notes=notes)
        if self.subject.source == "fitted":
            out = [self._with_fit(e, u, i) for e, u, i in zip(out, user, item, strict=True)]
        if self._agent is not None and asked.by != "history" and not why_not:
            out = self._agent.beside(out, user, item, asked.k)
        if asked.relations:
            out = self._by_relation(out, user, item, values, question)
        return self._with_history(out, solved, asked) if asked.by != "attributes" else out

    def _with_fit(self, e: Explanation, user: int, item: int) -> Explanation:
        """The answer with how far fitted effects are off for this user and item."""
        if e.status != "fitted" or e.score_before is None or e.score_after is None:
            return e
        s = self.subject
        scores, effects = s.both(np.array([user]))
        carried = np.bincount(
            s.of_item.row_of(), effects[0][s.of_item.indices], minlength=s.n_items
        )
        off = scores[0, item] - carried[item] - np.nanmean(scores[0] - carried)
        moved = abs(e.score_after - e.score_before)
        fields = {"off": f"{abs(off):.3g}", "moved": f"{moved:.3g}"}
        return replace(e, notes=(*e.notes, w.fill(w.FIT_OFF, fields)))

    def score(self, user: int, item: int, values: NDArray[np.int32]) -> float:
        """f(u, i | A) by rows of the facts; values without an effect are left out."""
        s = self.subject
        scores, effects = s.both(np.array([user]))
        has = np.zeros(s.facts.n_values, bool)
        has[values] = True
        after = effects[0, has[s.vocabulary]].sum() - effects[0, s.of_item.row(item)].sum()
        return float(scores[0, item] + s.scale[item] * after)

    def check(self, asked: Options, *, why_not: bool = False) -> None:
        """Refuse what this recommender cannot answer."""
        if asked.by == "agent" and self._agent is None:
            raise ConfigError("by='agent' needs a trained agent, and this run has none")
        if asked.by == "agent" and why_not:
            raise QuestionError("the agent walks away from listed items; ask why_not by attributes")
        if asked.robust is not None and why_not:
            raise QuestionError("robust= is for listed items; leave it out with why_not=")
        if asked.robust is not None and not self.solver.parts.told:
            raise ConfigError(
                "robust= needs the default recommender, whose spread is known; leave it out here"
            )
        if asked.by in ("history", "both") and self.history is None:
            raise ConfigError(
                f"by={asked.by!r} needs a recommender that scores histories (scores_from)"
            )

    def _with_history(
        self, out: list[Explanation], solved: Solved, asked: Options
    ) -> list[Explanation]:
        """Answers by history in place of those by attributes, or beside them, as asked for."""
        own = self.subject.source == "model"
        need = [
            n
            for n, e in enumerate(out)
            if e.status != "not_recommended"
            and (asked.by is not None or not (e.found and own and e.size <= MOST_TOLD))
        ]  # more changes are hard to follow
        if self.history is None or not need:
            return out
        first = np.flatnonzero(solved.answers.turn == 0)[need]
        user, item = solved.answers.user[first], solved.answers.item[first]
        if solved.direction == "out":
            found = self.history.why_many(user, item, asked.k)
        elif asked.by is None:
            return out
        else:
            pairs = zip(user.tolist(), item.tolist(), strict=True)
            found = [self.history.why_not(u, i, asked.k) for u, i in pairs]
        told = phrases(solved, self.assembler.labels)
        for n, row, answer in zip(need, first.tolist(), found, strict=True):
            opening = opening_text(self.assembler.labels, solved, told, row)
            out[n] = self._merged(out[n], answer, opening, asked)
        return out

    def _merged(
        self, e: Explanation, found: HistoryAnswer | None, opening: str, asked: Options
    ) -> Explanation:
        if asked.by == "history":
            return by_history(self.data, e, found, opening)
        if asked.by is None and not e.found:
            opening = e.text if e.status == "no_attributes" else opening + carried(e)
        other = by_history(self.data, e, found, opening)
        own = asked.by is None and e.status == "verified"
        if e.found and (asked.by == "both" or (own and other.found)):
            return replace(e, beside=_beside(other, opening))
        if not other.found or own:
            return e
        return replace(other, beside=_beside(e, opening) if e.found else None)

    def _robust(
        self, user: Rows, item: Rows, values: Values, asked: Options, notes: tuple[str, ...]
    ) -> list[Explanation]:
        """Answers that hold with the probability asked for."""
        p = cast(float, asked.robust)
        solved, proven = solve_robust(self.solver, user, item, values, question_of(asked), p)
        told, out = phrases(solved, self.assembler.labels), []
        for n, e in enumerate(self.assembler.explanations(solved, notes=notes)):
            if e.status == "not_found":
                opening = opening_text(self.assembler.labels, solved, told, n)
                text = fill(NOT_ROBUST, {"share": f"{100 * p:g}"})
                e = replace(e, text=f"{opening}{text}")
            out.append(replace(e, certificate=proven[n]) if e.found else e)
        return out

    def _nearest(self, user: Rows, item: Rows, values: Values, question: Question) -> Solved:
        """Of the answers as small as any toward one item, that toward the most similar one."""
        whole = replace(question, scope="item", alternatives=0)
        best = self.solver.asked(user, item, values, whole).answers
        toward = np.where(best.status == 0, best.toward, item)
        for n in np.flatnonzero(best.status == 0):
            near = self._similar(int(item[n]))
            many = np.full(len(near), user[n]), np.full(len(near), item[n])
            tried = self.solver.asked(*many, values, whole, toward=near).answers
            fits = np.flatnonzero((tried.status == 0) & (tried.size <= best.size[n]))
            toward[n] = near[fits[0]] if len(fits) else toward[n]
        return self.solver.asked(user, item, values, whole, toward=toward)

    def _similar(self, item: int) -> NDArray[np.int64]:
        """The items that share most values with an item, first those that share more."""
        holders, own = self.solver.holders, self.subject.of_item.row(item)
        shared = np.zeros(len(self.data.items), np.int64)
        for v in own.tolist():
            shared[holders.row(v)] += 1
        shared[item] = 0
        order = np.argsort(-shared, kind="stable")
        return order[: min(_NEAREST, int((shared > 0).sum()))]

    def _by_relation(
        self,
        out: list[Explanation],
        user: Rows,
        item: Rows,
        values: Values,
        question: Question,
    ) -> list[Explanation]:
        pair, relation = relations_of(item, values)
        alone = replace(question, alternatives=0)
        solved = self.solver.asked(user[pair], item[pair], values, alone, relation=relation)
        for n, e in zip(
            pair.tolist(), self.assembler.explanations(solved, reasons=False), strict=True
        ):
            if e.found:
                out[n] = replace(out[n], by_relation=(*out[n].by_relation, e))
        return out


def _beside(e: Explanation, opening: str) -> Explanation:
    """What stands beside another answer does not say again what that one says."""
    return replace(e, reasons=(), notes=(), text=e.text.removeprefix(opening).lstrip())


def question_of(asked: Options, *, why_not: bool = False) -> Question:
    """The question as the engine takes it."""
    return Question(
        k=asked.k,
        direction="in" if why_not else "out",
        changes=asked.changes,
        scope=asked.scope,
        max_changes=asked.max_changes,
        alternatives=asked.alternatives,
    )
