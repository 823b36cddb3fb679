"""Tables of whole lists: blocks of users through compiled code, on all cores."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.explain.options import Options
from cerec.explain.row_explainer import RowExplainer, question_of
from cerec.explain.solver import Solved
from cerec.explain.table import SCHEMA, Tabulator, frame_of
from cerec.recommend.rank import lists

Rows = NDArray[np.integer]


class Tables:
    """Explains the lists of users into tables."""

    def __init__(self, by_row: RowExplainer) -> None:
        self._by_row = by_row

    @cached_property
    def _tabulator(self) -> Tabulator:
        return Tabulator(self._by_row.assembler.labels)

    def of_users(self, users: Rows, asked: Options) -> pl.DataFrame:
        """The lists of users, in their order, with the columns of `SCHEMA`."""
        self._by_row.check(asked)
        if len(users) == 0:
            return pl.DataFrame(schema=SCHEMA)
        every = np.unique(users)
        table = self._columns(every, asked) if self._columnar(asked) else self._rows(every, asked)
        if np.array_equal(every, users):
            return table
        ids, parts = self._by_row.data.users.ids, table.partition_by("user", as_dict=True)
        return pl.concat([parts.get((ids[u],), table[:0]) for u in users.tolist()])

    def _columnar(self, asked: Options) -> bool:
        plain = asked.by in (None, "attributes") and asked.prefer == "decisive"
        return plain and asked.robust is None and self._by_row.compiled

    def _columns(self, users: Rows, asked: Options) -> pl.DataFrame:
        """By compiled code, on all threads."""
        solver, question = self._by_row.solver, replace(question_of(asked), alternatives=0)
        solved = solver.listed(users, solver.values(asked), question)
        return self._with_history(self._tabulator.table(solved), solved, asked)

    def _with_history(self, table: pl.DataFrame, solved: Solved, asked: Options) -> pl.DataFrame:
        """The table with answers by history where attributes give none."""
        by_row = self._by_row
        found = (solved.answers.status == 0) & (by_row.subject.source == "model")
        rows = np.flatnonzero(~found)
        if asked.by == "attributes" or len(rows) == 0 or by_row.history is None:
            return table
        a = solved.answers
        other = frame_of(by_row.explanations(a.user[rows], a.item[rows], asked))
        place = np.arange(len(table))
        place[rows] = len(table) + np.arange(len(rows))
        return pl.concat([table, other])[place]

    def _rows(self, users: Rows, asked: Options) -> pl.DataFrame:
        """By explanations, one user after the other."""
        by_row, frames = self._by_row, []
        k = min(asked.k, len(by_row.data.items))
        for user in users.tolist():
            one, known = np.array([user]), by_row.subject.known.row(user)
            at = np.array([0, len(known)])
            listed = lists(by_row.subject.scores(one), at, known, k)[0]
            items = listed[listed >= 0].astype(np.int64)
            frames.append(frame_of(by_row.explanations(np.full(len(items), user), items, asked)))
        return pl.concat(frames)
