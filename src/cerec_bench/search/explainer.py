"""Explanations of any recommender: a proposer names candidates, the verifier decides."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import DataError, QuestionError
from cerec.explain.lookup import Pair, locked_values, pair_of, row_of, value_rows
from cerec.recommend.scorer import Scorer
from cerec.threads import kernel_threads
from cerec.walk.proposals import BeamProposer
from cerec_bench.scorers import scorer_of
from cerec_bench.search.answer import Answerer
from cerec_bench.search.assemble import Assembler
from cerec_bench.search.explanation import Explanation, Ranked, WhatIf
from cerec_bench.search.general import GeneralVerifier
from cerec_bench.search.options import Options
from cerec_bench.search.proposer import NeighbourProposer, Proposer, unit_rows
from cerec_bench.search.standing import Standing
from cerec_bench.search.verifier import Task, Verifier

if TYPE_CHECKING:
    from cerec.runs.run import Run

_CHUNK_BYTES = 1 << 25  # of per-user arrays held by one worker
_CHUNK_PAIRS = 256


class Explainer:
    """Answers "why this?", "why not that?" and "what if?" about one finished recommender.

    Users, items, relations and attributes are given by id, or by a name only one of them bears.
    Safe to call from several threads.
    """

    def __init__(
        self,
        data: Dataset,
        known: Ragged,
        facts: Facts,
        scorer: Scorer,
        proposer: Proposer | None = None,
        *,
        width: int = 16,
        rescore: Callable[[str, str, list[Pair]], float] | None = None,
    ) -> None:
        """`known`: items each user has, which are never listed. `width`: candidates tried first.

        Without a proposer the most similar items that share a value are tried first. `rescore`:
        the caller's own f(user, item, attributes), additive or not, which must agree with the
        scores for the item's own attributes; it is searched by trying sets of changes by size.
        """
        self.data, self.known, self.facts, self.scorer = data, known, facts, scorer
        self._rescore = rescore
        unit = unit_rows(scorer.item)
        neighbours = NeighbourProposer(facts, unit)
        verifier = (
            Verifier(facts, scorer)
            if rescore is None
            else GeneralVerifier(facts, scorer, self._score)
        )
        assembler = Assembler(data, facts, scorer.fidelity if rescore is None else None)
        self.proposer: Proposer = proposer or neighbours
        """Who names the candidates that are tried first."""
        self._answerer = Answerer(assembler, verifier, self.proposer, neighbours, unit, width)

    def explain(
        self, user: object, item: object = None, *, why_not: object = None, **options: Any
    ) -> Explanation:
        """Why `item` is in the user's list, or why the item `why_not` is not; see `Options`.

        Raises QuestionError when `why_not` names an item that is listed or known.
        """
        if (item is None) == (why_not is None):
            raise QuestionError("ask either about a listed item or, by why_not=, an unlisted one")
        asked = Options(**options)
        start = time.perf_counter()
        row = row_of(self.data.users, user)
        target = row_of(self.data.items, item if why_not is None else why_not)
        task = Task(
            row, target, asked.k, "why" if why_not is None else "why_not", self._locked(asked)
        )
        standing = self._standing(row)
        if why_not is not None:
            self._check_unlisted(standing, row, task)
        return self._answerer.answer(row, standing, task, asked, start)

    def explain_many(
        self, pairs: Iterable[tuple[object, object]], **options: Any
    ) -> Iterator[Explanation]:
        """One explanation per (user, item), in order, computed in batches on all cores.

        Neighbouring pairs of the same user share work; memory does not grow with the pairs.
        """
        asked = Options(**options)
        locked = self._locked(asked)
        rows = (
            (row_of(self.data.users, user), row_of(self.data.items, item)) for user, item in pairs
        )
        return self._explain_rows(rows, asked, locked)

    def what_if(
        self, user: object, item: object, attributes: Iterable[Pair], *, k: int = 20
    ) -> WhatIf:
        """The item's score and rank, and the list, had the item exactly these attributes."""
        k = Options(k=k).k
        u, i = row_of(self.data.users, user), row_of(self.data.items, item)
        values = value_rows(self.data, self.facts, attributes)
        standing = self._standing(u)
        if not standing.is_unseen(i):
            raise QuestionError(
                f"{self.data.users[u]} has {self.data.items.name(i)!r} already, so no list holds "
                "it; ask about an item they do not have"
            )
        before = float(standing.scores[i])
        score = self._score(u, i, values)
        changed = standing.with_score(i, score)
        return WhatIf(
            user=self.data.users[u],
            item=self.data.items[i],
            k=k,
            attributes=tuple(pair_of(self.data, self.facts, int(v)) for v in values),
            score_before=before,
            score=score,
            rank_before=standing.rank(i, before),
            rank_after=standing.rank(i, score),
            list=tuple(self._ranked(changed, k)),
        )

    def rescore(self, user: object, item: object, attributes: Iterable[Pair]) -> float:
        """f(u, i | A): the score of the item had it exactly these attributes."""
        u, i = row_of(self.data.users, user), row_of(self.data.items, item)
        return self._score(u, i, value_rows(self.data, self.facts, attributes))

    def attributes(self, item: object) -> list[Pair]:
        """The (relation, attribute) pairs of an item."""
        values = self.facts.of_item.row(row_of(self.data.items, item))
        return [pair_of(self.data, self.facts, int(v)) for v in values]

    def listed(self, user: int, k: int) -> NDArray[np.int64]:
        """Item rows of a user's list, by user row."""
        return Standing.ranking(self.scorer.scores(user), self.known.row(user))[:k]

    def _score(self, user: int, item: int, values: NDArray[np.int32]) -> float:
        """f(u, i | A) in row numbers."""
        if self._rescore is None:
            return self.scorer.rescore(user, item, values, self.facts)
        pairs = [pair_of(self.data, self.facts, int(v)) for v in values]
        who, what = self.data.users[user], self.data.items[item]
        given: Any = self._rescore(who, what, pairs)
        try:
            score = float(given)
        except (TypeError, ValueError):
            score = math.nan
        if not math.isfinite(score):
            raise DataError(f"rescore({who!r}, {what!r}, attributes) gave {given!r}, not a number")
        return score

    def _standing(self, user: int) -> Standing:
        return Standing.of(self.scorer, user, self.known.row(user))

    def _locked(self, asked: Options) -> NDArray[np.bool_]:
        return locked_values(self.data, self.facts, asked.lock)

    def _ranked(self, standing: Standing, k: int) -> Iterator[Ranked]:
        for n, row in enumerate(standing.top(k).tolist()):
            yield Ranked(
                self.data.items[row],
                self.data.items.name(row),
                float(standing.scores[row]),
                n + 1,
            )

    def _check_unlisted(self, standing: Standing, user: int, task: Task) -> None:
        name = f"{self.data.items.name(task.item)!r}"
        if not standing.is_unseen(task.item):
            raise QuestionError(
                f"user {self.data.users[user]!r} has {name} already, so it is never listed"
            )
        rank = standing.rank(task.item, float(standing.scores[task.item]))
        if rank <= task.k:
            raise QuestionError(
                f"{name} is in the list already, at rank {rank}; ask why it is, without why_not"
            )

    def _explain_rows(
        self, rows: Iterator[tuple[int, int]], asked: Options, locked: NDArray[np.bool_]
    ) -> Iterator[Explanation]:
        def work(chunk: list[tuple[int, int]]) -> list[Explanation]:
            return self._chunk(chunk, asked, locked)

        chunks = _chunks(rows, self._users_per_chunk())
        workers = kernel_threads()
        if workers == 1:
            for chunk in chunks:
                yield from work(chunk)
            return
        with ThreadPoolExecutor(workers) as pool:
            running: deque[Future[list[Explanation]]] = deque(
                pool.submit(work, chunk) for chunk in islice(chunks, 2 * workers)
            )
            try:
                while running:
                    done = running.popleft().result()
                    running.extend(pool.submit(work, chunk) for chunk in islice(chunks, 1))
                    yield from done
            finally:  # a reader that stops early leaves no work behind
                for future in running:
                    future.cancel()

    def _chunk(
        self, rows: list[tuple[int, int]], asked: Options, locked: NDArray[np.bool_]
    ) -> list[Explanation]:
        standings = {user: self._standing(user) for user in dict.fromkeys(u for u, _ in rows)}
        tasks = [Task(user, item, asked.k, "why", locked) for user, item in rows]
        pairs = [(u, standings[u], task) for (u, _), task in zip(rows, tasks, strict=True)]
        return self._answerer.answer_all(pairs, asked)

    def _users_per_chunk(self) -> int:
        per_user = 8 * (self.facts.n_values + 3 * self.scorer.n_items)
        return max(1, min(64, _CHUNK_BYTES // max(per_user, 1)))


def _chunks(rows: Iterator[tuple[int, int]], most_users: int) -> Iterator[list[tuple[int, int]]]:
    """Consecutive rows, cut where a chunk would hold too many pairs or users."""
    chunk: list[tuple[int, int]] = []
    users: set[int] = set()
    for row in rows:
        if len(chunk) >= _CHUNK_PAIRS or (row[0] not in users and len(users) >= most_users):
            yield chunk
            chunk, users = [], set()
        chunk.append(row)
        users.add(row[0])
    if chunk:
        yield chunk


def searching(run: Run) -> Explainer:
    """The explainer of a run with a trained agent, or with none."""
    proposer = None
    if run.vectors is not None:
        proposer = BeamProposer(run.vectors, run.ckg, run.config.agent, run.config.encoder)
    return Explainer(run.data, run.split.train, run.facts, scorer_of(run), proposer)
