"""An item that came after training: where it stands for a user, and whom it suits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.errors import ConfigError
from cerec.explain.lookup import row_of
from cerec.recommend.subject import Subject


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a new item would stand in one user's list; rank 1 is best."""

    user: str
    name: str
    score: float
    rank: int


class NewItem:
    """An item known by its attributes alone; `Run.new_item` makes it.

    Its rank is 1 plus the unknown items of the user that come before it; at equal scores those of
    the catalogue do.
    """

    def __init__(
        self,
        data: Dataset,
        subject: Subject,
        values: NDArray[np.integer],
        attributes: tuple[tuple[str, str], ...],
    ) -> None:
        """`values` are positions in the subject's vocabulary."""
        self.attributes = attributes
        """Its (relation, attribute) pairs."""
        self._data, self._subject, self._values = data, subject, values

    def __repr__(self) -> str:
        return f"NewItem({', '.join('='.join(pair) for pair in self.attributes)})"

    def place(self, user: object) -> Placed:
        """Its score and rank for one user."""
        row = row_of(self._data.users, user)
        score, rank = self._score(np.array([row]))
        return self._placed(row, float(score[0]), int(rank[0]))

    def users(self, k: int = 20) -> list[Placed]:
        """The k users it stands highest for, those of one rank by their scores."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ConfigError(f"k must be a whole number of at least 1, got {k!r}")
        score, rank = self._everybody
        rows = np.lexsort((-score, rank))[:k].tolist()
        return [self._placed(row, float(score[row]), int(rank[row])) for row in rows]

    @cached_property
    def _everybody(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        found = [self._score(users) for users in self._subject.blocks()]
        score, rank = zip(*found, strict=True)
        return np.concatenate(score), np.concatenate(rank)

    def _score(self, users: NDArray[np.integer]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        scores, score = self._subject.of_values(users, self._values)
        known = self._subject.known.take(users)
        scores[known.row_of(), known.indices] = np.nan
        return score, 1 + (scores >= score[:, None]).sum(axis=1)

    def _placed(self, row: int, score: float, rank: int) -> Placed:
        return Placed(self._data.users[row], self._data.users.name(row), score, rank)
