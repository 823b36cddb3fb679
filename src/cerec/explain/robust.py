"""Small sets of changes that hold with a given probability.

An answer holds with probability p or more where its margin is at least `need`, which is large where
the margin varies much (`holds`). The engine finds the smallest set whose margin passes a given
number, so it is asked for `need` of the set before until a set passes its own.

**Proof.** A set that passes has a margin of at least `floor`, the need of a set without any spread
of its own. So no set is smaller than the engine's answer for `floor`: an answer of that size is
`minimum`. Others are `irreducible`: none of their changes can be left out.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.explain.changes.answers import Answers, Question, answer_asked
from cerec.explain.changes.values import Values
from cerec.explain.explanation import Certificate
from cerec.explain.holds import LAW, MISSING, Spread, held, spread
from cerec.explain.solver import Solved, Solver
from cerec.recommend.rank import ranks_after

Rows = NDArray[np.integer]
_TURNS = 16  # of asking for the need of the set before


def solve_robust(
    solver: Solver, user: Rows, item: Rows, values: Values, question: Question, p: float
) -> tuple[Solved, list[Certificate]]:
    """Answers that hold with probability p, and how each is proven; not found where none is."""
    question = replace(question, alternatives=0)
    solved = solver.asked(user, item, values, question)
    found = [
        _Search(solver, solved.answers, n, values, question, p).run() for n in range(len(user))
    ]
    rows = [a for a, _ in found]
    users = np.unique(user)
    numbers = solver.subject.both(users)
    solved = solver.solved(_together(rows), question, users, *numbers)
    return solved, [certificate for _, certificate in found]


class _Search:
    """For one pair."""

    def __init__(
        self, solver: Solver, plain: Answers, n: int, values: Values, question: Question, p: float
    ) -> None:
        self.solver, self.values, self.question, self.p = solver, values, question, p
        self.plain = _row(plain, n)
        self.scores, self.effects = solver.subject.both(self.plain.user)
        self.z = (NormalDist().inv_cdf(p) - LAW.at_zero) / LAW.slope

    def run(self) -> tuple[Answers, Certificate]:
        if self.plain.status[0] != 0:
            return self.plain, "minimum"
        floor = max(self._need(self._spread(self.plain), thinned=0.0), 0.0)
        now = self._beyond(floor)
        least, found = int(now.size[0]), now.status[0] == 0
        for _ in range(_TURNS):
            if not found or self._passes(now):
                break
            now = self._beyond(self._need(self._spread(now)))
            found = now.status[0] == 0
        if not found or not self._passes(now):
            return _without(self.plain), "minimum"
        now = self._reduced(now)
        return now, "minimum" if now.size[0] == least else "irreducible"

    def _spread(self, a: Answers) -> Spread:
        return spread(self.solver.parts, a, self.question.k)

    def _passes(self, a: Answers) -> bool:
        flips = a.rank_after[0] > self.question.k
        return bool(flips and held(self._spread(a), LAW)[0] >= self.p)

    def _need(self, s: Spread, thinned: float | None = None) -> float:
        """The margin from which on an answer of this spread passes."""
        thinned = float(s.thinned[0]) if thinned is None else thinned
        var = MISSING * (1.0 - MISSING) * (thinned + LAW.refit * float(s.refitted[0]))
        returned = min(LAW.returned * MISSING * float(s.size[0]), 0.9 * float(s.room[0]))
        back = returned * float(s.lead[0] / s.room[0])
        return float(self.z * np.sqrt(max(var, 1e-18)) - back)

    def _beyond(self, margin: float) -> Answers:
        """The smallest set with at least this margin: the item's own score is lifted by it."""
        i = int(self.plain.item[0])
        lifted = self.scores.copy()
        lifted[0, i] += margin
        rows, known = (self.plain.user, self.plain.item), self.solver.subject.known
        asked = self.values, self.question
        return self._scored(answer_asked(*rows, known, lifted, self.effects, *asked))

    def _scored(self, a: Answers) -> Answers:
        """An answer with these changes, its scores and ranks those of the model."""
        if a.status[0] != 0:
            return _without(self.plain)
        plain, effect = self.plain, self.effects[0]
        d = effect[a.gained[a.gained >= 0]].sum() - effect[a.lost[a.lost >= 0]].sum()
        after = plain.score_before + self.solver.subject.scale[plain.item] * d
        known = self.solver.subject.known.take(plain.user)
        zero, item = np.zeros(1, np.int64), plain.item.astype(np.int64)
        rank = ranks_after(self.scores, known.indptr, known.indices, zero, item, after)
        return replace(
            plain,
            toward=a.toward,
            indptr=a.indptr,
            lost=a.lost,
            gained=a.gained,
            along=a.along,
            score_after=after,
            rank_after=rank.astype(np.int32),
            margin=plain.cutoff - after,
        )

    def _reduced(self, a: Answers) -> Answers:
        """Without changes that can be left out, the least helpful first."""
        n = int(a.steps[0]) - 1
        while n >= 0 and a.steps[0] > 1:
            keep = np.cumsum(a.along == 0) - 1 != n
            kept = {name: getattr(a, name)[keep] for name in _CHANGES}
            fewer = self._scored(replace(a, **kept, indptr=np.array([0, keep.sum()])))
            a, n = (fewer, int(fewer.steps[0]) - 1) if self._passes(fewer) else (a, n - 1)
        return a


_CHANGES = ("lost", "gained", "along")


def _row(a: Answers, n: int) -> Answers:
    part = slice(int(a.indptr[n]), int(a.indptr[n + 1]))
    columns = {name: column[n : n + 1] for name, column in _columns(a).items()}
    at = np.array([0, part.stop - part.start], np.int64)
    return replace(a, **columns, indptr=at, **{name: getattr(a, name)[part] for name in _CHANGES})


def _without(a: Answers) -> Answers:
    """The question without an answer."""
    none, nan = np.zeros(0, np.int32), np.full(1, np.nan)
    status, at, zero = np.ones(1, np.int8), np.zeros(2, np.int64), np.zeros(1, np.int32)
    return replace(
        a,
        status=status,
        rank_after=zero,
        indptr=at,
        lost=none,
        gained=none,
        along=none,
        score_after=nan,
        margin=nan,
    )


def _together(rows: list[Answers]) -> Answers:
    names = [*_columns(rows[0]), *_CHANGES]
    columns = {name: np.concatenate([getattr(a, name) for a in rows]) for name in names}
    at = np.append(0, np.cumsum([len(a.lost) for a in rows], dtype=np.int64))
    return Answers(**columns, indptr=at)


def _columns(a: Answers) -> dict[str, Any]:
    return {n: getattr(a, n) for n in a.__slots__ if n not in ("indptr", *_CHANGES)}
