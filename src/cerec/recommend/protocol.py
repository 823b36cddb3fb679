"""The one protocol of a recommender, ours or brought from elsewhere.

Rows are positions in the recommender's *own* `users`, `items` and `values`, whatever order those
are in; `cerec` maps them to the data by id. Four things are needed:

    users, items                  ids, in the recommender's own order
    scores(users) -> (n, I)       doubles; nan: may not be listed
    known(user) -> item rows      what is never listed

Everything else is optional and found by method, never by the name of some attribute:

    lists(users, k)               its own lists, compared when an explainer is made
    values                        (relation, attribute) pairs, in the order of `effects`
    effects(users) -> (n, V)      e(u, a): what a value does to the score of an item that has it,
    scale(items) -> (n,)          times the item's own scale, which is above 0
    contributions(user, item)     the exact parts of a score
    scores_from(histories)        scores of people known by ordered histories alone
    rescore(user, item, sets)     scores of an item, had it these sets of values
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged

Doubles = NDArray[np.float64]
ItemRows = NDArray[np.integer[Any]]
Pair = tuple[str, str]
"""(relation, attribute)."""


@runtime_checkable
class Recommender(Protocol):
    """What every recommender must have."""

    @property
    def users(self) -> Sequence[str]:
        """Ids in its own order."""
        ...

    @property
    def items(self) -> Sequence[str]:
        """Ids in its own order."""
        ...

    def scores(self, users: ItemRows) -> Doubles:
        """(n, I) one row of scores for each user row; nan for what may not be listed."""
        ...

    def known(self, user: int) -> ItemRows:
        """Item rows that are never listed for this user."""
        ...


class Trainable(Protocol):
    """A model that `cerec.train(data, model=...)` can train."""

    def fit(self, data: Dataset, history: Ragged, *, seed: int) -> object:
        """Learn from `history`, the rows of the items that each user of `data` has taken."""
        ...

    @property
    def users(self) -> Sequence[str]:
        """Ids in its own order, once it has learned."""
        ...

    @property
    def items(self) -> Sequence[str]:
        """Ids in its own order, once it has learned."""
        ...

    def scores(self, users: ItemRows) -> Doubles:
        """(n, I) one row of scores for each user row."""
        ...


@runtime_checkable
class HasEffects(Protocol):
    """A score that is a sum over the item's values, as far as they go."""

    @property
    def values(self) -> Sequence[Pair]:
        """The values that have effects, in the order of `effects`."""
        ...

    def effects(self, users: ItemRows) -> Doubles:
        """(n, V)"""
        ...

    def scale(self, items: ItemRows) -> Doubles:
        """(n,) what the effects of an item are multiplied by; it stays when values change."""
        ...


@runtime_checkable
class HasContributions(Protocol):
    """A score that can say where it comes from."""

    def contributions(self, user: int, item: int) -> Contributions:
        """The parts of one score."""
        ...


@runtime_checkable
class HasHistories(Protocol):
    """Scores as a function of what a person did."""

    def scores_from(self, histories: Sequence[ItemRows]) -> Doubles:
        """(n, I) scores of people known by these items, in order, and nothing else."""
        ...


@runtime_checkable
class HasRescore(Protocol):
    """A recommender that scores items it has never seen, by their values."""

    def rescore(self, user: int, item: int, sets: Sequence[Sequence[Pair]]) -> Doubles:
        """(n,) scores of the item, had it each of these sets of values."""
        ...


@runtime_checkable
class HasLists(Protocol):
    """A recommender that makes lists itself."""

    def lists(self, users: ItemRows, k: int) -> Sequence[ItemRows]:
        """Item rows of each user's first k, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Contributions:
    """Where a score comes from; the parts add up to it but for rounding."""

    history: tuple[tuple[int, float], ...]
    """(item row, part) of every item of the history."""
    values: tuple[tuple[int, float], ...]
    """(value row, part) of every value of the item: what the user and everybody make of it."""
    own: float
    """What everybody makes of the item beyond its values."""

    @property
    def total(self) -> float:
        """The score, but for rounding."""
        parts = [part for _, part in (*self.history, *self.values)]
        return sum(parts) + self.own
