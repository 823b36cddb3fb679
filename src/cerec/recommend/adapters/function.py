"""Anything that can be asked for scores: two-tower models, re-rankers, sequence models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cerec.errors import ConfigError
from cerec.recommend.adapters.base import Adapter, Ids, Known, block
from cerec.recommend.protocol import Doubles, ItemRows, Pair

Score = Callable[[list[str]], Any]
"""`score(users)`: a row for each user id, a number for each of `items`; nan: may not be listed."""
FromHistories = Callable[[list[list[str]]], Any]
"""`score_histories(histories)`: the same for people known by item ids alone, oldest first."""
Rescore = Callable[[str, str, Sequence[Sequence[Pair]]], Any]
"""`rescore(user, item, sets)`: a number for each set of (relation, attribute) pairs."""
OwnLists = Callable[[list[str], int], Sequence[Sequence[Any]]]
"""`lists(users, k)`: item ids, best first."""


class Function(Adapter):
    """A recommender that is asked, by ids.

        R = cerec.adapters.Function(score, users=user_ids, items=item_ids, rescore=rescore)

    With `rescore` the model itself scores items with other attributes. `score_histories` gives
    answers by history; `known` may be a mapping from user id to ordered item ids.
    """

    def __init__(
        self,
        score: Score,
        *,
        users: Ids,
        items: Ids,
        known: Known = None,
        rescore: Rescore | None = None,
        score_histories: FromHistories | None = None,
        lists: OwnLists | None = None,
    ) -> None:
        super().__init__(users, items, known)
        for name, given in (
            ("score", score),
            ("rescore", rescore),
            ("score_histories", score_histories),
            ("lists", lists),
        ):
            if given is not None and not callable(given):
                raise ConfigError(f"{name} must be a function, got {given!r:.60}")
        self._score, self._rescore = score, rescore
        self._from, self._lists = score_histories, lists
        self.rescore = None if rescore is None else self._asked
        self.scores_from = None if score_histories is None else self._scored
        self.lists = None if lists is None else self._listed

    def scores(self, users: ItemRows) -> Doubles:
        """(n, I)"""
        ids = [self.users[u] for u in users]
        return block("score(users)", self._score(ids), (len(ids), len(self.items)))

    def _asked(self, user: int, item: int, sets: Sequence[Sequence[Pair]]) -> Doubles:
        who, what = self.users[user], self.items[item]
        given = self._rescore(who, what, sets)  # type: ignore[misc]
        return block(f"rescore({who!r}, {what!r}, sets)", given, (len(sets),))

    def _scored(self, histories: Sequence[ItemRows]) -> Doubles:
        ids = [[self.items[i] for i in row] for row in histories]
        shape = len(ids), len(self.items)
        return block("score_histories(histories)", self._from(ids), shape)  # type: ignore[misc]

    def _listed(self, users: ItemRows, k: int) -> Sequence[ItemRows]:
        given = self._lists([self.users[u] for u in users], k)  # type: ignore[misc]
        return [np.array([self.items.row(i) for i in row], np.int64) for row in given]
