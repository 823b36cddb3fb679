"""Explanations of one finished recommender: why, why not, what if, and why before another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.errors import QuestionError
from cerec.explain import wording as w
from cerec.explain.blackbox import BlackBox, Rescore
from cerec.explain.by_agent import Proposer
from cerec.explain.explanation import Comparison, Explanation, Ranked, WhatIf
from cerec.explain.history import Histories
from cerec.explain.lookup import Pair, pair_of, row_of, value_rows
from cerec.explain.options import Options, Wishes
from cerec.explain.render import named
from cerec.explain.row_explainer import RowExplainer
from cerec.explain.solver import Solver
from cerec.explain.tables import Tables
from cerec.recommend.protocol import Doubles
from cerec.recommend.rank import lists, ranks_after
from cerec.recommend.subject import Subject

_PAIRS = 1024  # explained together by `explain_many`


class Explainer:
    """Answers "why this?", "why not that?" and "what if?" about one finished recommender.

    Users, items, relations and attributes are given by id, or by a name only one of them bears.
    Safe to call from several threads.
    """

    def __init__(
        self,
        data: Dataset,
        subject: Subject,
        proposer: Proposer | None = None,
        *,
        rescore: Rescore | None = None,
        history: Histories | None = None,
    ) -> None:
        """`subject`: the recommender, in the order of `data`. `proposer`: a trained agent.

        `rescore`: the recommender's own scores of an item had it other sets of attributes; where
        it is given, changes are tried by asking it.
        `history`: who answers by history, in place of our own search.
        """
        self.data, self.subject, self.proposer = data, subject, proposer
        self._by_row = (
            RowExplainer(data, subject, proposer, history)
            if rescore is None
            else BlackBox(data, subject, rescore, history)
        )
        self.tables = Tables(self._by_row)

    @property
    def solver(self) -> Solver:
        """Who answers in row numbers."""
        return self._by_row.solver

    @property
    def compiled(self) -> bool:
        """Whether whole blocks of users go through compiled code."""
        return self._by_row.compiled

    def explain(
        self,
        user: object,
        item: object = None,
        *,
        why_not: object = None,
        k: int = 20,
        **wishes: Unpack[Wishes],
    ) -> Explanation:
        """Why `item` is in the user's list, or why the item `why_not` is not; see `Options`.

        Raises QuestionError when `why_not` names an item that is listed or known.
        """
        if (item is None) == (why_not is None):
            raise QuestionError("ask either about a listed item or, by why_not=, an unlisted one")
        asked = Options.of(k, **wishes)
        start = time.perf_counter()
        row = row_of(self.data.users, user)
        target = row_of(self.data.items, item if why_not is None else why_not)
        if why_not is not None:
            self._check_unlisted(row, target, k)
        pair = np.array([row]), np.array([target])
        done = self._by_row.explanations(*pair, asked, why_not=why_not is not None)[0]
        return replace(done, seconds=time.perf_counter() - start)

    def explain_many(
        self,
        pairs: Iterable[tuple[object, object]],
        k: int = 20,
        **wishes: Unpack[Wishes],
    ) -> Iterator[Explanation]:
        """One explanation per (user, item), in order, computed in batches.

        Memory does not grow with the pairs. For whole lists `explain_all` is many times faster.
        """
        asked = Options.of(k, **wishes)
        self._by_row.check(asked)
        rows = (
            (row_of(self.data.users, user), row_of(self.data.items, item)) for user, item in pairs
        )
        return self._many(rows, asked)

    def explain_all(
        self,
        users: Iterable[object] | None = None,
        k: int = 20,
        **wishes: Unpack[Wishes],
    ) -> pl.DataFrame:
        """The whole lists of users, or of everybody, as a table with the columns of `SCHEMA`."""
        asked = Options.of(k, **wishes)
        if users is None:
            return self.tables.of_users(np.arange(len(self.data.users)), asked)
        rows = [row_of(self.data.users, user) for user in users]
        return self.tables.of_users(np.array(rows, np.int64), asked)

    def what_if(
        self, user: object, item: object, attributes: Iterable[Pair], *, k: int = 20
    ) -> WhatIf:
        """The item's score and rank, and the list, had the item exactly these attributes."""
        k = Options(k=k).k
        u, i = row_of(self.data.users, user), row_of(self.data.items, item)
        values = value_rows(self.data, self.subject.facts, attributes)
        scores = self.subject.scores(np.array([u]))
        if i in self.subject.known.row(u) or np.isnan(scores[0, i]):
            raise QuestionError(
                f"{self.data.users[u]} has {self.data.items.name(i)!r} already, so no list holds "
                "it; ask about an item they do not have"
            )
        before, score = float(scores[0, i]), self._by_row.score(u, i, values)
        ranks = [self._rank(scores, u, i, x) for x in (before, score)]
        scores[0, i] = score
        return WhatIf(
            user=self.data.users[u],
            item=self.data.items[i],
            k=k,
            attributes=tuple(pair_of(self.data, self.subject.facts, int(v)) for v in values),
            score_before=before,
            score=score,
            rank_before=ranks[0],
            rank_after=ranks[1],
            list=tuple(self._ranked(scores, u, k)),
        )

    def rescore(self, user: object, item: object, attributes: Iterable[Pair]) -> float:
        """f(u, i | A): the score of the item had it exactly these attributes."""
        u, i = row_of(self.data.users, user), row_of(self.data.items, item)
        return self._by_row.score(u, i, value_rows(self.data, self.subject.facts, attributes))

    def attributes(self, item: object) -> list[Pair]:
        """The (relation, attribute) pairs of an item."""
        facts = self.subject.facts
        values = facts.of_item.row(row_of(self.data.items, item))
        return [pair_of(self.data, facts, int(v)) for v in values]

    def compare(self, user: object, item: object, other: object) -> Comparison:
        """Why `item` stands before `other` for the user, or behind: where their scores differ."""
        u = row_of(self.data.users, user)
        i, j = row_of(self.data.items, item), row_of(self.data.items, other)
        scores, effects = self.subject.both(np.array([u]))
        if np.isnan(scores[0, [i, j]]).any():
            raise QuestionError("one of the two may not be listed, so nothing compares them")
        known = self.subject.known.row(u)
        ranks = [None if x in known else self._rank(scores, u, x, scores[0, x]) for x in (i, j)]
        parts = self._by_row.assembler.reasons.compared(u, i, j, scores[0], effects[0])
        difference = float(scores[0, i] - scores[0, j])
        names = named(self.data.items, i), named(self.data.items, j)
        text = w.compared(*names, difference, parts)
        return Comparison(self.data.users[u], *names, ranks[0], ranks[1], difference, parts, text)

    def listed(self, user: int, k: int) -> NDArray[np.int32]:
        """Item rows of a user's list, by user row."""
        return self._list(self.subject.scores(np.array([user])), user, k)

    def _many(self, rows: Iterator[tuple[int, int]], asked: Options) -> Iterator[Explanation]:
        while chunk := list(islice(rows, _PAIRS)):
            start = time.perf_counter()
            user, item = np.array(chunk, np.int64).T
            order = np.argsort(user, kind="stable")
            done = self._by_row.explanations(user[order], item[order], asked)
            share = (time.perf_counter() - start) / len(chunk)
            for n in np.argsort(order):
                yield replace(done[n], seconds=share)

    def _list(self, scores: Doubles, user: int, k: int) -> NDArray[np.int32]:
        known = self.subject.known.row(user)
        found = lists(scores, np.array([0, len(known)]), known, min(k, scores.shape[1]))[0]
        return found[found >= 0]

    def _ranked(self, scores: Doubles, user: int, k: int) -> Iterator[Ranked]:
        items = self.data.items
        for n, row in enumerate(self._list(scores, user, k).tolist(), start=1):
            yield Ranked(items[row], items.name(row), float(scores[0, row]), n)

    def _rank(self, scores: Doubles, user: int, item: int, score: float) -> int:
        known = self.subject.known.row(user)
        here = np.array([0]), np.array([item]), np.array([score])
        return int(ranks_after(scores, np.array([0, len(known)]), known, *here)[0])

    def _check_unlisted(self, user: int, item: int, k: int) -> None:
        name = f"{self.data.items.name(item)!r}"
        scores = self.subject.scores(np.array([user]))
        if item in self.subject.known.row(user) or np.isnan(scores[0, item]):
            raise QuestionError(
                f"user {self.data.users[user]!r} has {name} already, so it is never listed"
            )
        rank = self._rank(scores, user, item, float(scores[0, item]))
        if rank <= k:
            raise QuestionError(
                f"{name} is in the list already, at rank {rank}; ask why it is, without why_not"
            )
