"""Row numbers in, checked outcomes out: which smallest change flips, and what it does to ranks."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.recommend.scorer import Scorer
from cerec_bench.search.enumeration import Found
from cerec_bench.search.explanation import Certificate, Question, Status
from cerec_bench.search.goal import make_goal
from cerec_bench.search.kernels import NEVER, Goal
from cerec_bench.search.search import minima, solve
from cerec_bench.search.standing import Standing

Rows = NDArray[np.int32]
_SLICE = 16  # candidates between two looks at the clock


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One question in row numbers."""

    user: int
    item: int
    k: int
    question: Question
    locked: NDArray[np.bool_]
    limit: int = NEVER - 1
    """Most changes allowed."""
    deadline: float | None = None
    """Of `time.monotonic`."""

    @property
    def late(self) -> bool:
        """True when the budget is used up."""
        return self.deadline is not None and time.monotonic() > self.deadline


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One answer in row numbers; fields as in `Explanation`."""

    status: Status
    rank_before: int | None
    score_before: float
    replacement: int | None = None
    cutoff: float | None = None
    candidate: int | None = None
    before: Rows | None = None
    """Value lost by each change, -1 for none."""
    after: Rows | None = None
    """Value gained by each change, -1 for none."""
    rank_after: int | None = None
    score_after: float | None = None
    certificate: Certificate | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A question that changes of values may answer: what the search needs."""

    task: Task
    outcome: Outcome
    """What is known before the search."""
    goal: Goal
    effect: NDArray[np.float64]
    """Effects times the sign of the question, which makes every question one of lowering."""
    own: Rows
    found: dict[int, Found] = field(default_factory=dict)
    """Sets found by enumeration, by candidate; see `general`."""


class Verifier:
    """Finds and checks smallest changes for one recommender."""

    def __init__(self, facts: Facts, scorer: Scorer) -> None:
        self.facts, self.scorer = facts, scorer
        self._has_values = facts.of_item.counts > 0

    def pose(self, standing: Standing, task: Task) -> Problem | Outcome:
        """The search problem, or the outcome where there is nothing to search for."""
        score = float(standing.scores[task.item])
        seen = not standing.is_unseen(task.item)
        rank = None if seen else standing.rank(task.item, score)
        if rank is None or (task.question == "why" and rank > task.k):
            return Outcome("not_recommended", rank, score)
        rival = task.k if task.question == "why" else task.k - 1
        if rival >= len(standing.order):
            return Outcome("not_found", rank, score)
        replacement = int(standing.order[rival])
        cutoff = float(standing.scores[replacement])
        known = Outcome("not_found", rank, score, replacement, cutoff)
        own = self.facts.of_item.row(task.item)
        if len(own) == 0:
            return replace(known, status="no_attributes")
        if standing.largest_effect == 0.0:
            return known  # no value moves the score of this user
        return self._problem(standing, task, known, own)

    def _problem(self, standing: Standing, task: Task, known: Outcome, own: Rows) -> Problem:
        lower = task.question == "why"
        sign = 1.0 if lower else -1.0
        effect = standing.effects if lower else -standing.effects
        cutoff, replacement = known.cutoff or 0.0, known.replacement or 0
        goal = make_goal(
            score=sign * known.score_before,
            own=effect[own],
            mean=self.scorer.pooling == "mean",
            cutoff=sign * cutoff,
            tie_flips=(replacement < task.item) == lower,
            largest=standing.largest_effect,
            bits=self.scorer.bits,
        )
        return Problem(task, known, goal, effect, own)

    def sizes(self, problem: Problem, candidate: Rows, *, best_only: bool) -> NDArray[np.int64]:
        """Fewest changes towards each candidate (NEVER: none), as far as the time allows.

        With `best_only` numbers above the smallest are not minima; see `search.minima`.
        """
        task, of_item = problem.task, self.facts.of_item
        step = len(candidate) if task.deadline is None else _SLICE
        out = np.full(len(candidate), NEVER, np.int64)
        limit = task.limit
        for start in range(0, len(candidate), max(step, 1)):
            if task.late:
                break
            part = slice(start, start + step)
            out[part] = minima(
                problem.goal,
                problem.own,
                candidate[part],
                of_item.indptr,
                of_item.indices,
                self.facts.relation,
                task.locked,
                problem.effect,
                limit,
                best_only,
            )
            if best_only:
                limit = min(limit, int(out[part].min()))
        return out

    def verify(self, standing: Standing, problem: Problem, candidate: int) -> Outcome:
        """The smallest change set towards a candidate that has one, applied and scored again."""
        task = problem.task
        before, after = solve(
            problem.goal,
            problem.own,
            self.facts.of_item.row(candidate),
            self.facts.relation,
            task.locked,
            problem.effect,
            task.limit,
        )
        return self.check(standing, problem, candidate, before, after, "minimum")

    def check(
        self,
        standing: Standing,
        problem: Problem,
        candidate: int,
        before: Rows,
        after: Rows,
        certificate: Certificate,
    ) -> Outcome:
        """Score the changed item anew from its values and rank it; only a flip is `verified`."""
        task, own = problem.task, problem.own
        score = self.score(standing, problem, changed_values(own, before, after))
        rank = standing.rank(task.item, score)
        if (rank <= task.k) == (task.question == "why"):
            return problem.outcome
        known = problem.outcome
        return Outcome(
            status="verified",
            rank_before=known.rank_before,
            score_before=known.score_before,
            replacement=known.replacement,
            cutoff=known.cutoff,
            candidate=candidate,
            before=before,
            after=after,
            rank_after=rank,
            score_after=score,
            certificate=certificate,
        )

    def score(self, standing: Standing, problem: Problem, values: Rows) -> float:
        """The score of the item with these values, from the values themselves."""
        share = self.scorer.pooled(standing.effects[values])
        own = self.scorer.pooled(standing.effects[problem.own])
        return problem.outcome.score_before + (share - own)

    def bound(self, problem: Problem) -> int | None:
        """Fewest changes that flip when any value of the data may be gained; None when none do.

        Towards no item can there be fewer, since what an item offers is a part of all values.
        """
        before, _ = solve(
            problem.goal,
            problem.own,
            np.delete(np.arange(self.facts.n_values, dtype=np.int32), problem.own),
            self.facts.relation,
            problem.task.locked,
            problem.effect,
            NEVER - 1,
        )
        return len(before) or None

    def everyone(self, standing: Standing, problem: Problem) -> Rows:
        """All items that may serve as counterfactual item, the most promising first.

        `why` leaves out the listed items, as walks do.
        """
        usable = self._has_values.copy()
        usable[problem.task.item] = False
        if problem.task.question == "why":
            usable[standing.top(problem.task.k)] = False
        rows = standing.by_effect(self.facts, mean=problem.goal.mean)
        if problem.task.question == "why_not":
            rows = rows[::-1]
        return np.ascontiguousarray(rows[usable[rows]])


def changed_values(own: Rows, before: Rows, after: Rows) -> Rows:
    """The value set after a change set, rising."""
    kept = set(own.tolist()) - set(before.tolist())
    return np.array(sorted(kept | {v for v in after.tolist() if v >= 0}), np.int32)
