"""Smallest changes under a caller's own re-scoring, which need not be additive in the values."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.recommend.scorer import Scorer
from cerec_bench.search.enumeration import Found, OutOfTime, size_of, smallest
from cerec_bench.search.kernels import NEVER
from cerec_bench.search.standing import Standing
from cerec_bench.search.verifier import Outcome, Problem, Rows, Task, Verifier, changed_values

Rescore = Callable[[int, int, Rows], float]
"""f(u, i | A) for a user row, an item row and the rows of the values A."""
_SECONDS = 2.0  # per question, where the asker sets no budget: there are exponentially many sets


class GeneralVerifier(Verifier):
    """Tries sets of changes by size, within the time; the scorer only orders the candidates."""

    def __init__(self, facts: Facts, scorer: Scorer, rescore: Rescore) -> None:
        super().__init__(facts, scorer)
        self._rescore = rescore

    def pose(self, standing: Standing, task: Task) -> Problem | Outcome:
        """As for additive scores, always with a deadline."""
        if task.deadline is None:
            task = replace(task, deadline=time.monotonic() + _SECONDS)
        return super().pose(standing, task)

    def sizes(self, problem: Problem, candidate: Rows, *, best_only: bool) -> NDArray[np.int64]:
        """Fewest changes found towards each candidate (NEVER: none), as far as the time allows."""
        task = problem.task
        out = np.full(len(candidate), NEVER, np.int64)
        limit = task.limit
        for n, j in enumerate(candidate.tolist()):
            now = time.monotonic()
            if task.deadline is None or now > task.deadline:
                break
            lose, gain = self._moves(problem, j)
            found = self._smallest(problem, j, limit, now + (task.deadline - now) / 2)
            if found is not None:
                problem.found[j] = found
                out[n] = size_of(lose, gain, found.lost, found.gained)
                limit = min(limit, int(out[n])) if best_only else limit
        return out

    def verify(self, standing: Standing, problem: Problem, candidate: int) -> Outcome:
        """The set found towards a candidate, paired up, applied and scored again."""
        found = problem.found[candidate]
        before, after = [], []
        for lose, gain in zip(*self._moves(problem, candidate), strict=True):
            lost = [v for v in lose if v in found.lost]
            gained = [v for v in gain if v in found.gained]
            size = max(len(lost), len(gained))
            before += lost + [-1] * (size - len(lost))
            after += gained + [-1] * (size - len(gained))
        pairs = np.array(before, np.int32), np.array(after, np.int32)
        return self.check(standing, problem, candidate, *pairs, found.certificate)

    def score(
        self,
        standing: Standing,  # noqa: ARG002 - the caller scores without it
        problem: Problem,
        values: Rows,
    ) -> float:
        """The caller's own score of the item with these values."""
        return float(self._rescore(problem.task.user, problem.task.item, values))

    def bound(self, problem: Problem) -> int | None:
        """Not known for scores of this kind."""

    def _smallest(self, problem: Problem, j: int, limit: int, deadline: float) -> Found | None:
        lose, gain = self._moves(problem, j)
        outcome, task = problem.outcome, problem.task
        rival = (outcome.cutoff or 0.0, -(outcome.replacement or 0))

        def flips(lost: tuple[int, ...], gained: tuple[int, ...]) -> bool:
            values = changed_values(problem.own, np.array(lost), np.array(gained))
            ahead = (self._rescore(task.user, task.item, values), -task.item) > rival
            return ahead != (task.question == "why")

        try:
            return smallest(lose, gain, flips, limit=limit, deadline=deadline)
        except OutOfTime:
            return None

    def _moves(self, problem: Problem, j: int) -> tuple[list[list[int]], list[list[int]]]:
        """What may be lost and gained, per relation in parallel."""
        relation, locked = self.facts.relation, problem.task.locked
        own, other = set(problem.own.tolist()), set(self.facts.of_item.row(j).tolist())
        free = sorted(v for v in own ^ other if not locked[v])
        relations = sorted({int(relation[v]) for v in free})
        lose = [[v for v in free if relation[v] == r and v in own] for r in relations]
        gain = [[v for v in free if relation[v] == r and v in other] for r in relations]
        return lose, gain
