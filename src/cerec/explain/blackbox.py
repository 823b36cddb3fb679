"""Recommenders that score changed items themselves, asked in batches within a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.errors import ConfigError
from cerec.explain.blackbox_search import Found, Search
from cerec.explain.changes.answers import Answers
from cerec.explain.changes.values import Values
from cerec.explain.explanation import Certificate, Explanation
from cerec.explain.history import Histories
from cerec.explain.lookup import Pair, pair_of
from cerec.explain.options import Options
from cerec.explain.render import Assembler, kept_notes
from cerec.explain.row_explainer import RowExplainer, question_of
from cerec.explain.wording import LATE, OUTCOME
from cerec.recommend.fitted import FittedScores, fitted
from cerec.recommend.protocol import Doubles
from cerec.recommend.rank import ranks_after
from cerec.recommend.subject import Subject
from cerec.rng import generator

Rescore = Callable[[int, int, Sequence[Sequence[Pair]]], Doubles]
"""(n,) scores of an item for a user, by rows, had it each of these sets of values."""
_SECONDS = 2.0  # for a question, where the asker sets no budget
_USERS, _BLOCK, _FIT = 100, 10, 2.0  # that are scored for the fit: together, seconds for all


class _Scores:
    """Scores of a model, with effects of nothing; those of the last users are kept."""

    def __init__(self, subject: Subject, n_values: int) -> None:
        self._subject, self._n = subject, n_values
        self._last: tuple[bytes, Doubles] | None = None

    def both(self, users: NDArray[np.integer]) -> tuple[Doubles, Doubles]:
        key, last = np.asarray(users, np.int64).tobytes(), self._last
        if last is None or last[0] != key:
            last = self._last = key, self._subject.scores(users)
        return last[1].copy(), np.zeros((len(users), self._n))


class BlackBox(RowExplainer):
    """Answers by asking f(user, item, attributes)."""

    compiled = False

    def __init__(
        self,
        data: Dataset,
        subject: Subject,
        rescore: Rescore,
        history: Histories | None = None,
    ) -> None:
        facts = subject.facts
        self._rescore, self._given = rescore, subject
        self.asked = 0
        """Sets of values that the model was asked to score."""
        inner = _Scores(subject, facts.n_values)
        model = subject.model
        if hasattr(model, "scores_from"):
            inner.scores_from, inner.histories = model.scores_from, model.histories  # type: ignore[attr-defined]
        asked = replace(
            subject,
            vocabulary=np.arange(facts.n_values, dtype=np.int32),
            of_item=facts.of_item,
            scale=np.ones(len(facts.of_item)),
            source="model",
            model=inner,
            fidelity=None,
        )
        super().__init__(data, asked, None, history)
        self.assembler = Assembler(data, self.solver, silent=True)

    def check(self, asked: Options, *, why_not: bool = False) -> None:
        """Refuse what can only be asked of additive effects."""
        super().check(asked, why_not=why_not)
        for name, value in (("prefer", "decisive"), ("scope", "value")):
            if getattr(asked, name) != value:
                raise ConfigError(
                    f"{name} must be {value!r} for a recommender that rescores items itself"
                )

    def score(self, user: int, item: int, values: NDArray[np.int32]) -> float:
        """What the recommender says."""
        return float(self.scores(user, item, [values.tolist()])[0])

    def scores(self, user: int, item: int, sets: Sequence[Sequence[int]]) -> Doubles:
        """(n,) what the recommender says of sets of values."""
        self.asked += len(sets)
        return self._rescore(user, item, [[self._pairs[v] for v in values] for values in sets])

    @cached_property
    def _pairs(self) -> list[Pair]:
        facts = self.subject.facts
        return [pair_of(self.data, facts, v) for v in range(facts.n_values)]

    @cached_property
    def _fit(self) -> tuple[NDArray[np.int32], FittedScores]:
        """Effects fitted to the scores of some users: what changes to try first."""
        users = np.unique(np.linspace(0, len(self.data.users) - 1, _USERS).astype(np.int64))
        end, made = time.monotonic() + _FIT, []
        users = generator(0, "blackbox/fit").permutation(users)
        for n in range(0, len(users), _BLOCK):
            made.append(self._given.scores(users[n : n + _BLOCK]))
            if time.monotonic() > end:
                break
        found = fitted(np.concatenate(made), self.subject.facts)
        return found.vocabulary, FittedScores(self._given.scores, found.basis, found.value)

    def explanations(
        self,
        user: NDArray[np.integer],
        item: NDArray[np.integer],
        asked: Options,
        *,
        why_not: bool = False,
    ) -> list[Explanation]:
        """One explanation per pair, each within its own time."""
        self.check(asked, why_not=why_not)
        values = self.solver.values(asked)
        return [
            self._one(np.array([u]), np.array([i]), values, asked, why_not=why_not)
            for u, i in zip(user.tolist(), item.tolist(), strict=True)
        ]

    def _one(
        self,
        user: NDArray[np.integer],
        item: NDArray[np.integer],
        values: Values,
        asked: Options,
        *,
        why_not: bool,
    ) -> Explanation:
        """The engine says where the item stands; the search what would flip it."""
        vocabulary, fit = self._fit  # once, outside the time of any question
        hints = np.zeros(self.subject.facts.n_values)
        hints[vocabulary] = fit.both(user)[1][0]
        end = time.monotonic() + (asked.budget or _SECONDS)
        question = replace(question_of(asked, why_not=why_not), alternatives=0)
        start = self.solver.asked(user, item, values, question)
        certificate: Certificate | None = "minimum"
        late = False
        if start.answers.status[0] == 1 and start.answers.replacement[0] >= 0:
            search = Search(
                self.scores, self.subject, start.answers, values, asked, end, why_not=why_not
            )
            found, late = search.run(hints), search.late
            if found is not None:
                certificate = found.certificate
                answers = self._answers(start.answers, found, why_not)
                numbers = self.subject.both(user)
                start = self.solver.solved(answers, question, user, *numbers)
        notes = kept_notes(self.data, self.solver.kept_as_they_are(asked))
        out = self.assembler.explanations(start, certificate=certificate, notes=notes)  # type: ignore[arg-type]
        if late and not out[0].found:
            text = out[0].text.removesuffix(OUTCOME[3]).removesuffix(OUTCOME[4]) + OUTCOME[LATE]
            out = [replace(out[0], status="timed_out", text=text)]
        return self._with_history(out, start, asked)[0] if asked.by != "attributes" else out[0]

    def _answers(self, a: Answers, found: Found, why_not: bool) -> Answers:
        lost, gained = np.array(found.moves, np.int32).T
        scores = self.subject.scores(a.user)
        known, zero = self.subject.known.take(a.user), np.zeros(1, np.int64)
        here = zero, a.item.astype(np.int64), np.array([found.score])
        rank = ranks_after(scores, known.indptr, known.indices, *here)
        sign = -1 if why_not else 1
        return replace(
            a,
            status=np.zeros(1, np.int8),
            indptr=np.array([0, len(lost)]),
            lost=np.ascontiguousarray(lost),
            gained=np.ascontiguousarray(gained),
            along=np.zeros(len(lost), np.int32),
            score_after=np.array([found.score]),
            rank_after=rank.astype(np.int32),
            margin=sign * (a.cutoff - found.score),
        )
