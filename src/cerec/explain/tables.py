"""Tables of whole lists: blocks of users through compiled code, on all cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.explain.asking import Asker, question_of
from cerec.explain.options import Options
from cerec.explain.solving import Solved
from cerec.explain.table import SCHEMA, Tabulator, frame_of
from cerec.recommend.rank import lists
from cerec.threads import blas_threads, kernel_threads

Rows = NDArray[np.integer]
_BLOCK_BYTES = 16 << 20  # of scores and effects


class Tables:
    """Explains the lists of users into tables."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    @cached_property
    def _tabulator(self) -> Tabulator:
        return Tabulator(self._asker.assembler.labels)

    def of_users(self, users: Rows, asked: Options) -> pl.DataFrame:
        """The lists of users, in their order, with the columns of `SCHEMA`."""
        self._asker.check(asked)
        if len(users) == 0:
            return pl.DataFrame(schema=SCHEMA)
        every = np.unique(users)
        subject = self._asker.subject
        per_user = 8 * (len(subject.of_item) + len(subject.vocabulary) + 1)
        share = -(-len(every) // (2 * kernel_threads()))  # so that all threads have work
        size = max(1, min(_BLOCK_BYTES // per_user, share))
        blocks = [every[n : n + size] for n in range(0, len(every), size)]
        threads = min(kernel_threads(), len(blocks))
        work = self._compiled(asked) if self._columnar(asked) else self._one_by_one(asked)
        with blas_threads(1), ThreadPoolExecutor(max(threads, 1)) as pool:
            frames = list((map if threads < 2 else pool.map)(work, blocks))
        table = pl.concat(frames)
        if np.array_equal(every, users):
            return table
        ids, parts = self._asker.data.users.ids, table.partition_by("user", as_dict=True)
        return pl.concat([parts.get((ids[u],), table[:0]) for u in users.tolist()])

    def _columnar(self, asked: Options) -> bool:
        plain = asked.by in (None, "attributes") and asked.prefer == "decisive"
        return plain and asked.robust is None and self._asker.compiled

    def _compiled(self, asked: Options) -> Callable[[Rows], pl.DataFrame]:
        solver, question = self._asker.solver, replace(question_of(asked), alternatives=0)
        values, tabulator = solver.values(asked), self._tabulator

        def block(users: Rows) -> pl.DataFrame:
            solved = solver.listed(users, values, question)
            return self._with_history(tabulator.table(solved), solved, asked)

        return block

    def _with_history(self, table: pl.DataFrame, solved: Solved, asked: Options) -> pl.DataFrame:
        """The table with answers by history where attributes give none."""
        asker = self._asker
        found = (solved.answers.status == 0) & (asker.subject.source == "model")
        rows = np.flatnonzero(~found)
        if asked.by == "attributes" or len(rows) == 0 or asker.history is None:
            return table
        a = solved.answers
        other = frame_of(asker.explanations(a.user[rows], a.item[rows], asked))
        place = np.arange(len(table))
        place[rows] = len(table) + np.arange(len(rows))
        return pl.concat([table, other])[place]

    def _one_by_one(self, asked: Options) -> Callable[[Rows], pl.DataFrame]:
        asker = self._asker
        k = min(asked.k, len(asker.data.items))

        def block(users: Rows) -> pl.DataFrame:
            known = asker.subject.known.take(users)
            listed = lists(asker.subject.scores(users), known.indptr, known.indices, k)
            row, place = np.nonzero(listed >= 0)
            done = asker.explanations(users[row], listed[row, place].astype(np.int64), asked)
            return frame_of(done)

        return block
