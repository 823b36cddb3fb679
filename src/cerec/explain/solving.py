"""Blocks of questions to columns: answers of the engine, reasons, and real items behind them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.explain.columns.describe import Described, describe
from cerec.explain.columns.engine import (
    Answers,
    Question,
    Source,
    answer_asked,
    answer_listed,
    make_values,
)
from cerec.explain.columns.evidence import weigh
from cerec.explain.columns.inside import Through, inside_of, taken_of
from cerec.explain.columns.told import Evidence, Rows, Things, blank
from cerec.explain.columns.trees import Values, implied
from cerec.explain.holds import Firmness
from cerec.explain.lookup import locked_values, row_of
from cerec.explain.options import Options
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Subject

Ints = NDArray[np.int32]
_COMPUTED = re.compile(
    r"also[ _-]?(bought|viewed|buy|view|liked|watched|played)|(bought|buy)[ _-]?together"
    r"|(bought|buy)[ _-]?after[ _-]?view|similar([ _-]?(items?|artists?|products?|movies?|to))?$",
    re.IGNORECASE,
)
MIN_SUPPORT = 5
"""Items that must have a value before an answer may gain it."""


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A row per answer, in the order of `answers`."""

    answers: Answers
    evidence: Evidence
    described: Described
    holds: Doubles
    """Probability of each answer to outlast a tenth of the data; nan where it is not known."""
    relation: Ints
    """(V,) relation row of each value."""
    users: NDArray[np.integer]
    """Rows of the users of the block, rising."""
    effects: Doubles
    """(n, V) of these."""
    through: tuple[Doubles, NDArray[np.int64]]
    """What each item of the history adds by way of factors, row by row; where each row starts."""
    k: int
    direction: str


class Solver:
    """Answers questions about one subject in row numbers; safe to use from several threads."""

    def __init__(self, data: Dataset, subject: Subject) -> None:
        self.subject, self._data = subject, data
        self.inside, self.through = inside_of(subject), Through(subject)
        of_item, n_values = subject.of_item, len(subject.vocabulary)
        total = np.bincount(
            of_item.indices, np.repeat(subject.scale, of_item.counts), minlength=n_values
        )
        self.things = Things(
            of_item.indptr, of_item.indices, subject.scale, total.astype(np.float64)
        )
        self.firmness = Firmness(self.inside, self.things, taken_of(subject))
        self.relation = np.ascontiguousarray(subject.relation, np.int32)
        self.support = subject.support
        self.holders = of_item.transpose(n_values)
        self._several = _several(subject)
        self._kept: tuple[object, Values] | None = None
        self.computed = [r for r, name in enumerate(data.relations.names) if _looks(name)]
        """Relations that look computed from what people did."""

    @cached_property
    def above(self) -> Ragged:
        """Value -> those that all items with it have, where a relation is made so."""
        computed = np.zeros(len(self._several), bool)
        computed[[r for r in self.computed if r < len(computed)]] = True
        return implied(self.subject.of_item, self.relation, computed, MIN_SUPPORT)

    def values(self, asked: Options) -> Values:
        """The values as the engine takes them, with locks; the last ones are kept."""
        key = asked.lock, asked.unlock
        kept = self._kept
        if kept is None or kept[0] != key:
            self._kept = kept = key, self._values(asked)
        return kept[1]

    def _values(self, asked: Options) -> Values:
        s = self.subject
        locked = locked_values(self._data, s.facts, asked.lock)
        for r in self.kept_as_they_are(asked):
            locked |= s.facts.relation == r
        return make_values(
            s.of_item,
            self.relation,
            self.support,
            s.scale,
            locked=locked[s.vocabulary],
            several=self._several,
            above=self.above,
            min_support=MIN_SUPPORT,
        )

    def kept_as_they_are(self, asked: Options) -> list[int]:
        """Relation rows that are locked without being asked for."""
        free = {row_of(self._data.relations, name) for name in asked.unlock}
        return [r for r in self.computed if r not in free]

    def listed(self, users: NDArray[np.integer], values: Values, question: Question) -> Solved:
        """The lists of users, rising."""
        return self._solve(users, question, lambda s: answer_listed(users, s, values, question))

    def asked(
        self,
        user: NDArray[np.integer],
        item: NDArray[np.integer],
        values: Values,
        question: Question,
        *,
        toward: NDArray[np.integer] | None = None,
        relation: NDArray[np.integer] | None = None,
    ) -> Solved:
        """Pairs in the order of their users."""
        return self._solve(
            np.unique(user),
            question,
            lambda s: answer_asked(
                user, item, s, values, question, toward=toward, relation=relation
            ),
        )

    def _solve(
        self, users: NDArray[np.integer], question: Question, ask: Callable[[Source], Answers]
    ) -> Solved:
        s = self.subject
        scores, effects = s.both(users)
        first = int(users[0]) if len(users) else 0
        dense = len(users) and int(users[-1]) - first == len(users) - 1

        def part(table: Doubles) -> Callable[[NDArray[np.integer]], Doubles]:
            if dense:  # a view, not a copy
                return lambda some: table[some[0] - first : some[-1] - first + 1]
            return lambda some: table[np.searchsorted(users, some)]

        answers = ask(Source(s.known, part(scores), part(effects)))
        evidence, through = self.weigh(users, scores, effects, answers)
        rules = question.k, question.direction
        described = self._describe(answers)
        holds = self._holds(answers, *rules)
        known = self.relation, users, effects, through
        return Solved(answers, evidence, described, holds, *known, *rules)

    def restated(self, solved: Solved, answers: Answers) -> Solved:
        """The same questions with other answers."""
        scores = self.subject.scores(solved.users)
        evidence, through = self.weigh(solved.users, scores, solved.effects, answers)
        about, holds = self._describe(answers), self._holds(answers, solved.k, solved.direction)
        return replace(
            solved,
            answers=answers,
            evidence=evidence,
            described=about,
            holds=holds,
            through=through,
        )

    def _holds(self, a: Answers, k: int, direction: str) -> Doubles:
        return self.firmness.of(a, k) if direction == "out" else np.full(len(a), np.nan)

    def _describe(self, a: Answers) -> Described:
        t, holders = self.things, self.holders
        changes = a.item, a.indptr, a.lost, a.gained, self.relation
        return Described(*describe(*changes, t.at, t.of_item, holders.indptr, holders.indices))

    def weigh(
        self, users: NDArray[np.integer], scores: Doubles, effects: Doubles, answers: Answers
    ) -> tuple[Evidence, tuple[Doubles, NDArray[np.int64]]]:
        """Reasons of the rows of `answers`, whose users are in `users`; and what `through` is."""
        rows = np.searchsorted(answers.user, np.append(users, users[-1:] + 1))
        known = self.subject.known.take(users)
        through, through_at = self.through.parts(answers.user, answers.item)
        out = blank(len(answers), len(answers.lost))
        asked = Rows(rows, answers.item, answers.indptr, answers.gained, through, through_at)
        weigh(
            np.asarray(users, np.int64),
            scores,
            effects,
            known.indptr,
            known.indices,
            self.things,
            self.inside,
            asked,
            out,
        )
        return out, (through, through_at)


def _several(subject: Subject) -> NDArray[np.bool_]:
    """(R,) relations of which some item has more than one value."""
    relation = subject.relation
    n = int(relation[-1]) + 1 if len(relation) else 0
    of = subject.facts.of_item
    key = of.row_of().astype(np.int64) * (n + 1) + np.minimum(subject.facts.relation[of.indices], n)
    found, count = np.unique(key, return_counts=True)
    out = np.zeros(n + 1, bool)
    out[found[count > 1] % (n + 1)] = True
    return out[:n]


def _looks(name: str) -> bool:
    return _COMPUTED.search(name) is not None
