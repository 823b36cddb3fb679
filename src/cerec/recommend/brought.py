"""A recommender made elsewhere, put in the order of the data by id.

Methods are found by name (`cerec.recommend.protocol`); nothing is guessed from attributes. Items
and users that the recommender does not have get nan: they may not be listed, or have no list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError, DataError
from cerec.recommend.adapters.base import block, table
from cerec.recommend.linear.values import only
from cerec.recommend.protocol import Doubles, ItemRows, Pair
from cerec.recommend.subject import Scoring
from cerec.threads import one_thread

Rows = NDArray[np.integer]
METHODS = ("lists", "effects", "contributions", "scores_from", "rescore")


def method(recommender: object, name: str) -> Callable[..., Any] | None:
    """A method of the protocol, where the recommender has it."""
    found = getattr(recommender, name, None)
    return found if callable(found) else None


class Brought:
    """Scores of a recommender, and what else it can say, in rows of the data."""

    def __init__(self, data: Dataset, recommender: Any, known: Ragged) -> None:
        """`known`: what is never listed, where the recommender does not say."""
        if method(recommender, "scores") is None or not all(
            hasattr(recommender, n) for n in ("users", "items")
        ):
            raise ConfigError(
                "recommender= must have users, items and scores(users), got "
                f"{type(recommender).__name__}; wrap it with one of cerec.adapters, such as "
                "cerec.adapters.Factors(U, V, users=..., items=...)"
            )
        self.recommender = recommender
        self.users, self.items = table("user", recommender.users), table("item", recommender.items)
        self.user_at = _places(data.users, self.users)
        self.item_at = _places(data.items, self.items)
        self._to_data = _places(self.items, data.items)
        stray = np.flatnonzero(self._to_data < 0)
        if len(stray):
            raise DataError(
                f"the recommender lists {len(stray):,} items that the data do not hold, such as "
                f"{self.items[int(stray[0])]!r}; add them to the items of the data"
            )
        self.histories = self._histories(known)
        row, entry = self.histories.row_of(), self.histories.indices
        self.known = Ragged.from_pairs(row, entry, len(data.users))
        self.shape = len(data.users), len(data.items)

    def has(self, name: str) -> bool:
        """Whether the recommender has this method."""
        return method(self.recommender, name) is not None

    def scores(self, users: Rows) -> Doubles:
        """(n, I) nan for what may not be listed."""
        at = self.user_at[np.asarray(users, np.int64)]
        here = np.flatnonzero(at >= 0)
        out = np.full((len(at), self.shape[1]), np.nan)
        if len(here):
            with one_thread():
                given = self.recommender.scores(at[here])
            out[here] = self._mine(block("scores(users)", given, (len(here), len(self.items))))
        return out

    def scores_from(self, histories: Sequence[Rows]) -> Doubles:
        """(n, I) scores of people known by these items, in this order."""
        own = []
        for history in histories:
            rows = self.item_at[np.asarray(history, np.int64)]
            own.append(rows[rows >= 0])
        with one_thread():
            given = self.recommender.scores_from(own)
        shape = len(own), len(self.items)
        return self._mine(block("scores_from(histories)", given, shape))

    def rescore(self, user: int, item: int, sets: Sequence[Sequence[Pair]]) -> Doubles:
        """(n,) scores of an item, had it these sets of values; refused where one is no number."""
        with one_thread():
            given = self.recommender.rescore(int(self.user_at[user]), int(self.item_at[item]), sets)
        name = f"rescore({self.users[self.user_at[user]]!r}, {self.items[self.item_at[item]]!r})"
        out = block(name, given, (len(sets),))
        if not np.isfinite(out).all():
            raise DataError(f"{name} gave {out[~np.isfinite(out)][0]}, not a number")
        return out

    def lists(self, users: Rows, k: int) -> list[ItemRows]:
        """Item rows of the recommender's own lists."""
        with one_thread():
            given = self.recommender.lists(self.user_at[users], k)
        own = [np.asarray(row, np.int64) for row in given]
        return [self._to_data[row[(row >= 0) & (row < len(self.items))]] for row in own]

    def own_effects(self, data: Dataset, facts: Facts) -> tuple[NDArray[np.int32], Rows]:
        """Rows in `facts` of the values that have effects, rising, and their own places."""
        own = {(str(r), str(a)): n for n, (r, a) in enumerate(self.recommender.values)}
        found = [
            (v, own[pair])
            for v in range(facts.n_values)
            if (pair := (data.relations[int(facts.relation[v])],
                         data.entities[int(facts.attribute[v])])) in own
        ]  # fmt: skip
        if not found:
            raise DataError(
                f"none of the recommender's {len(own):,} values, such as "
                f"{next(iter(own), None)}, is a (relation, attribute) pair of the data"
            )
        vocabulary, place = np.array(found, np.int64).T
        return vocabulary.astype(np.int32), place

    def effects(self, users: Rows, place: Rows) -> Doubles:
        """(n, V) effects of these places."""
        at = self.user_at[np.asarray(users, np.int64)]
        out = np.zeros((len(at), len(place)))
        here = np.flatnonzero(at >= 0)
        shape = len(here), len(self.recommender.values)
        given = block("effects(users)", self.recommender.effects(at[here]), shape)
        out[here] = given[:, place]
        return out

    def scale(self) -> Doubles:
        """(I,) 1 for items the recommender does not have."""
        out = np.ones(self.shape[1])
        there = np.flatnonzero(self.item_at >= 0)
        out[there] = block("scale(items)", self.recommender.scale(self.item_at[there]), there.shape)
        return out

    def _mine(self, given: Doubles) -> Doubles:
        if (given == np.inf).any():
            raise DataError("a score is infinite; give nan for what may not be listed")
        out = np.where(self.item_at >= 0, given[:, self.item_at], np.nan)
        out[out == -np.inf] = np.nan
        return out

    def _histories(self, default: Ragged) -> Ragged:
        """User -> items in the recommender's own order."""
        ask = method(self.recommender, "known")
        if ask is None:
            return default
        rows = [
            default.row(n) if at < 0 else self._to_data[np.asarray(ask(at), np.int64)]
            for n, at in enumerate(self.user_at.tolist())
        ]
        indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return Ragged(indptr, np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32))


class Answering:
    """Scores and effects, and scores of histories where the recommender gives them."""

    def __init__(self, base: Scoring, brought: Brought) -> None:
        self.both = base.both
        if brought.has("scores_from"):
            self.scores_from, self.histories = brought.scores_from, brought.histories


def vocabulary_at(facts: Facts, rows: NDArray[np.int32]) -> Ragged:
    """Item -> its values, as positions in `rows`."""
    keep = np.zeros(facts.n_values, bool)
    keep[rows] = True
    kept = only(facts.of_item, keep)
    position = (np.cumsum(keep) - 1).astype(np.int32)
    return Ragged(kept.indptr, position[kept.indices])


def _places(mine: IdTable, other: IdTable) -> NDArray[np.int64]:
    """Rows in `other` of the ids of `mine`, -1 where it has none."""
    return np.array([other.rows.get(i, -1) for i in mine.ids], np.int64)
