"""One question to one explanation: proposed candidates first, then every item."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.walk.paths import Proposals
from cerec_bench.search.assemble import Assembler
from cerec_bench.search.explanation import Explanation, FoundBy, filled
from cerec_bench.search.kernels import NEVER
from cerec_bench.search.options import Options
from cerec_bench.search.proposer import Proposer
from cerec_bench.search.search import first_of
from cerec_bench.search.standing import Standing
from cerec_bench.search.verifier import Outcome, Problem, Rows, Task, Verifier

_FEW = 3  # changes that need no look at further candidates
_LOOKS = 8  # answers looked at for each one wanted, when several are
_PROMISING = 32  # items whose values do most for the goal, tried when the proposed need more


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Candidate items in the order tried, their walks if any, and who named them."""

    item: Rows
    path: NDArray[np.int32] | None
    found_by: FoundBy


class Answerer:
    """Holds what answers need; no state changes between questions."""

    def __init__(
        self,
        assembler: Assembler,
        verifier: Verifier,
        proposer: Proposer,
        neighbours: Proposer,
        unit: NDArray[np.float32],
        width: int,
    ) -> None:
        """`neighbours` serve "why not": an agent learns to lower items, not to lift them."""
        self._verifier, self._assembler = verifier, assembler
        self._proposers = {"why": proposer, "why_not": neighbours}
        self._unit, self._width = unit, width

    def answer_all(
        self, pairs: Sequence[tuple[int, Standing, Task]], asked: Options
    ) -> list[Explanation]:
        """Answers to many tasks of one question kind, proposed for in one batch."""
        start = time.perf_counter()
        proposals = self._propose(pairs, asked)
        share = (time.perf_counter() - start) / max(len(pairs), 1)
        out = []
        for n, (user, standing, task) in enumerate(pairs):
            start = time.perf_counter()
            if asked.budget is not None:
                task = replace(task, deadline=time.monotonic() + asked.budget)
            rows = proposals.of(n)
            named = _Candidates(proposals.item[rows], proposals.path[rows], "proposer")
            done = self._answer(user, standing, task, asked, named)
            out.append(filled(done, seconds=share + time.perf_counter() - start))
        return out

    def answer(
        self, user: int, standing: Standing, task: Task, asked: Options, start: float
    ) -> Explanation:
        """The answer to one task begun at `start` (of `time.perf_counter`)."""
        if asked.budget is not None:
            used = time.perf_counter() - start
            task = replace(task, deadline=time.monotonic() + asked.budget - used)
        proposals = self._propose([(user, standing, task)], asked)
        named = _Candidates(proposals.item, proposals.path, "proposer")
        done = self._answer(user, standing, task, asked, named)
        return filled(done, seconds=time.perf_counter() - start)

    def _propose(self, pairs: Sequence[tuple[int, Standing, Task]], asked: Options) -> Proposals:
        if asked.exhaustive or not pairs:
            none = np.zeros(len(pairs) + 1, np.int64)
            return Proposals(none, np.zeros(0, np.int32), np.zeros((0, 0, 2), np.int32))
        question = pairs[0][2].question
        user = np.array([u for u, _, _ in pairs], np.int64)
        item = np.array([task.item for _, _, task in pairs], np.int64)
        width = asked.k if question == "why" else 0
        listed = [np.sort(standing.top(width)) for _, standing, _ in pairs]
        indptr = np.cumsum([0, *map(len, listed)], dtype=np.int64)
        excluded = Ragged(indptr, np.concatenate(listed).astype(np.int32))
        return self._proposers[question].propose(user, item, excluded, self._width)

    def _answer(
        self, user: int, standing: Standing, task: Task, asked: Options, named: _Candidates
    ) -> Explanation:
        posed = self._verifier.pose(standing, self._limited(task, asked))
        if isinstance(posed, Outcome):
            return self._assembler.explanation(user, task, posed)
        task = posed.task
        bound = self._verifier.bound(posed) if asked.bound else None
        if asked.alternatives:
            found = self._several(user, standing, posed, named, asked)
        else:
            found = self._best(user, standing, posed, named, asked)
        if found and bound is None and len(found) == 1:
            return found[0]
        if found:
            return filled(found[0], bound=bound, alternatives=tuple(found[1:]))
        late = replace(posed.outcome, status="timed_out") if task.late else posed.outcome
        return self._assembler.explanation(user, task, late, bound=bound)

    @staticmethod
    def _limited(task: Task, asked: Options) -> Task:
        return task if asked.max_changes is None else replace(task, limit=asked.max_changes)

    def _best(
        self,
        user: int,
        standing: Standing,
        problem: Problem,
        named: _Candidates,
        asked: Options,
    ) -> list[Explanation]:
        """The fewest changes among the candidates of the rounds, as far as they are needed."""
        best: tuple[int, _Candidates, int] | None = None
        for tried in self._rounds(standing, problem, named):
            sizes = self._verifier.sizes(problem, tried.item, best_only=True)
            if len(sizes) and sizes.min() < (NEVER if best is None else best[0]):
                at = self._first(standing, problem, tried.item, sizes, asked)
                best = int(sizes[at]), tried, at
            if best is not None and (best[0] <= _FEW or tried.found_by != "proposer"):
                break
        return [] if best is None else [self._shown(user, standing, problem, *best[1:])]

    def _first(
        self,
        standing: Standing,
        problem: Problem,
        item: Rows,
        sizes: NDArray[np.int64],
        asked: Options,
    ) -> int:
        """Where the preferred one of the candidates with the fewest changes stands."""
        if asked.prefer == "similar":
            return first_of(item, sizes, self._unit, problem.task.item)
        least = np.flatnonzero(sizes == sizes.min())
        made = [self._verifier.verify(standing, problem, int(j)).score_after for j in item[least]]
        score = np.array([np.nan if s is None else s for s in made])
        return int(least[np.nanargmin(score if problem.task.question == "why" else -score)])

    def _several(
        self,
        user: int,
        standing: Standing,
        problem: Problem,
        named: _Candidates,
        asked: Options,
    ) -> list[Explanation]:
        """The answer and the alternatives; none takes away a part of what another does.

        An item of few values cannot lose them in many ways: the looks are bounded.
        """
        kept = self._best(user, standing, problem, named, asked)
        if not kept:
            return []
        most = asked.alternatives + 1
        looks = _LOOKS * most
        for tried in self._rounds(standing, problem, named):
            sizes = self._verifier.sizes(problem, tried.item, best_only=False)
            for at in self._order(problem, tried.item, sizes):
                if len(kept) == most or looks == 0:
                    break
                looks -= 1
                shown = self._shown(user, standing, problem, tried, int(at))
                if not any(_overlap(shown, other) for other in kept):
                    kept.append(shown)
            if len(kept) == most or looks == 0:
                break
        return kept[:1] + sorted(kept[1:], key=lambda e: e.size)

    def _rounds(
        self, standing: Standing, problem: Problem, named: _Candidates
    ) -> Iterator[_Candidates]:
        """The proposed candidates, the most promising others, every item; until time is up."""
        keep = named.item != problem.task.item
        if not keep.all():
            path = None if named.path is None else named.path[keep]
            named = replace(named, item=named.item[keep], path=path)
        yield named
        if not problem.task.late:
            everyone = self._verifier.everyone(standing, problem)
            if len(named.item):
                yield _Candidates(everyone[:_PROMISING], None, "effects")
            if not problem.task.late:
                yield _Candidates(everyone, None, "all_items")

    def _order(self, problem: Problem, item: Rows, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions by fewest changes, then highest similarity, then catalogue order."""
        good = np.flatnonzero(sizes < NEVER)
        near = self._unit[item[good]] @ self._unit[problem.task.item]
        return good[np.lexsort((item[good], -near, sizes[good]))]

    def _shown(
        self, user: int, standing: Standing, problem: Problem, tried: _Candidates, at: int
    ) -> Explanation:
        candidate = int(tried.item[at])
        return self._assembler.explanation(
            user,
            problem.task,
            self._verifier.verify(standing, problem, candidate),
            found_by=tried.found_by,
            path=None if tried.path is None else tried.path[at],
            similarity=float(self._unit[candidate] @ self._unit[problem.task.item]),
        )


def _overlap(one: Explanation, other: Explanation) -> bool:
    """Whether one takes away only what the other takes away too.

    What comes in counts where nothing is taken away: the same value replaced by others is one
    answer, not several.
    """
    a, b = _touched(one), _touched(other)
    return a <= b or b <= a


def _touched(e: Explanation) -> set[tuple[str, str, str]]:
    lost = {("lost", c.relation, c.before) for c in e.changes if c.before is not None}
    return lost or {("gained", c.relation, c.after) for c in e.changes if c.after is not None}
