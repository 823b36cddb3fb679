"""Tables of whole lists: blocks of users through compiled code, on all cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.explain import wording as w
from cerec.explain.by_history import carry_text
from cerec.explain.changes.block import FOUND, NO_ATTRIBUTES
from cerec.explain.history import HistoryAnswer
from cerec.explain.options import Options
from cerec.explain.phrases import opening_text, phrases
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
        by_row, a = self._by_row, solved.answers
        rows = np.flatnonzero((a.status != FOUND) | (by_row.subject.source != "model"))
        if asked.by == "attributes" or len(rows) == 0 or by_row.history is None:
            return table
        tried = by_row.history.why_many(a.user[rows], a.item[rows], asked.k)
        found = {n: x for n, x in zip(rows.tolist(), tried, strict=True) if _stands(x)}
        if not found:
            return table
        rows, place = np.array(list(found)), np.arange(len(table))
        place[rows] = len(table) + np.arange(len(rows))
        columns = self._history_columns(table["text"], solved, found)
        other = table[rows].with_columns(pl.DataFrame(columns)).cast(dict(SCHEMA))  # type: ignore[arg-type]
        return pl.concat([table, other])[place]

    def _history_columns(
        self, text: pl.Series, solved: Solved, found: Mapping[int, HistoryAnswer]
    ) -> dict[str, Any]:
        """What differs in an answer by history."""
        labels, items = self._by_row.assembler.labels, self._by_row.data.items
        a, e = solved.answers, solved.evidence
        p, texts, answers, n = phrases(solved, labels), [], list(found.values()), len(found)
        for row, x in found.items():
            opening = opening_text(labels, solved, p, row)
            if a.status[row] == NO_ATTRIBUTES:
                opening = text[row]
            elif a.status[row] != FOUND:
                lead = float(a.score_before[row] - e.mean[row])
                opening += carry_text(lead, float(e.values[row]))
            named = w.few([labels.item[i] for i in x.items])
            fields = {"items": named, "after": x.rank_after}
            texts.append(opening + w.fill(w.WITHOUT_ITEMS, fields))
        after, cutoff = np.array([(x.score_after, x.cutoff) for x in answers]).T
        return {
            "status": ["verified"] * n,
            "by": ["history"] * n,
            "certificate": [None if x.certificate == "none" else x.certificate for x in answers],
            "counterfactual_item": pl.Series([None] * n, dtype=pl.String),
            "replacement": [items[x.replacement] if x.replacement >= 0 else None for x in answers],
            "size": [len(x.items) for x in answers],
            "changes": pl.Series([[]] * n, dtype=SCHEMA["changes"]),
            "history": [[items[i] for i in x.items] for x in answers],
            "rank_after": [x.rank_after for x in answers],
            "score_after": pl.Series(after).fill_nan(None),
            "cutoff": pl.Series(cutoff).fill_nan(None),
            "margin": pl.Series(np.abs(cutoff - after)).fill_nan(None),
            "text": texts,
        }

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


def _stands(x: HistoryAnswer | None) -> TypeGuard[HistoryAnswer]:
    return x is not None and x.verified and x.certificate != "open"
