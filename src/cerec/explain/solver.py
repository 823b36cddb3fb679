"""Blocks of questions to columns: answers, reasons, and real items behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.explain.changes.answers import Answers, Question, answer_asked, answer_listed
from cerec.explain.changes.describe import Described, describe
from cerec.explain.changes.values import Values, implied, make_values
from cerec.explain.evidence import Evidence, evidence
from cerec.explain.holds import probabilities
from cerec.explain.lookup import locked_values, row_of
from cerec.explain.options import Options
from cerec.explain.parts import parts_of
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Subject
from cerec.threads import blas_threads, kernel_threads

Ints = NDArray[np.int32]
_COMPUTED = re.compile(
    r"also[ _-]?(bought|viewed|buy|view|liked|watched|played)|(bought|buy)[ _-]?together"
    r"|(bought|buy)[ _-]?after[ _-]?view|similar([ _-]?(items?|artists?|products?|movies?|to))?$",
    re.IGNORECASE,
)
MIN_SUPPORT = 5
"""Items that must have a value before an answer may gain it."""


_BLOCK_BYTES = 16 << 20  # of scores and effects


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A row per answer, in the order of `answers`."""

    answers: Answers
    evidence: Evidence
    described: Described
    holds: Doubles
    """Probability of each answer to outlast a tenth of the data; nan where it is not known."""
    users: NDArray[np.integer]
    """Rows of the users of the block, rising."""
    effects: Doubles
    """(n, V) of these; empty for several blocks together."""
    k: int
    direction: str


class Solver:
    """Answers questions about one subject in row numbers; safe to use from several threads."""

    def __init__(self, data: Dataset, subject: Subject) -> None:
        self.subject, self._data = subject, data
        self.parts = parts_of(subject)
        self.relation = np.ascontiguousarray(subject.relation, np.int32)
        self.support = subject.support
        self.holders = subject.of_item.transpose(len(subject.vocabulary))
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
        """The lists of users, rising; blocks of them on all threads."""
        known = self.subject.known

        def block(users: NDArray[np.integer]) -> Solved:
            numbers = self.subject.both(users)
            answers = answer_listed(users, known, *numbers, values, question)
            return self.solved(answers, question, users, *numbers)

        return together(self._blocks(users, block)) if len(users) else block(users)

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
        users = np.unique(user)
        numbers = self.subject.both(users)
        known = self.subject.known
        answers = answer_asked(
            user, item, known, *numbers, values, question, toward=toward, relation=relation
        )
        return self.solved(answers, question, users, *numbers)

    def solved(
        self,
        answers: Answers,
        question: Question,
        users: NDArray[np.integer],
        scores: Doubles,
        effects: Doubles,
    ) -> Solved:
        """Answers with all there is to say of them; `scores` and `effects` of these users."""
        k, direction, s, a = question.k, question.direction, self.subject, answers
        people = np.asarray(users, np.int64)
        why = evidence(self.parts, people, scores, effects, s.known, a)
        holds = probabilities(self.parts, a, k) if direction == "out" else np.full(len(a), np.nan)
        of_item = s.of_item.indptr, s.of_item.indices, self.holders.indptr, self.holders.indices
        described = describe(a.item, a.indptr, a.lost, a.gained, self.relation, *of_item)
        return Solved(a, why, Described(*described), holds, users, effects, k, direction)

    def _blocks(
        self, users: NDArray[np.integer], work: Callable[[NDArray[np.integer]], Solved]
    ) -> list[Solved]:
        """Work on blocks of users, on all threads."""
        per_user = 8 * (len(self.subject.of_item) + len(self.subject.vocabulary) + 1)
        share = -(-len(users) // (2 * kernel_threads()))  # so that all threads have work
        size = max(1, min(_BLOCK_BYTES // per_user, share))
        blocks = [users[n : n + size] for n in range(0, len(users), size)]
        threads = min(kernel_threads(), len(blocks))
        with blas_threads(1), ThreadPoolExecutor(max(threads, 1)) as pool:
            return list((map if threads < 2 else pool.map)(work, blocks))


def together(solved: Sequence[Solved]) -> Solved:
    """Blocks one after the other."""
    if len(solved) == 1:
        return solved[0]
    answers = [s.answers for s in solved]
    columns = {f.name: _joined([getattr(a, f.name) for a in answers]) for f in fields(Answers)}
    start = accumulate((len(a.lost) for a in answers), initial=0)
    at = [a.indptr[:-1] + n for a, n in zip(answers, start, strict=False)]
    columns["indptr"] = np.append(_joined(at), sum(len(a.lost) for a in answers))
    return replace(
        solved[0],
        answers=Answers(**columns),
        evidence=Evidence(*map(_joined, zip(*(s.evidence for s in solved), strict=True))),
        described=Described(*map(_joined, zip(*(s.described for s in solved), strict=True))),
        holds=_joined([s.holds for s in solved]),
        users=_joined([s.users for s in solved]),
        effects=solved[0].effects[:0],
    )


def _joined(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(columns)


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
