"""An item that came after training: where it stands for a user, and whom it suits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.explain.lookup import row_of
from cerec.explain.options import Options
from cerec.recommend.exact import exact_ranks
from cerec.recommend.scorer import Scorer, rank_of


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
        known: Ragged,
        scorer: Scorer,
        row: int,
        attributes: tuple[tuple[str, str], ...],
    ) -> None:
        """`scorer` has the new item as its row `row`."""
        self.attributes = attributes
        """Its (relation, attribute) pairs."""
        self._data, self._known, self._scorer, self._row = data, known, scorer, row

    def __repr__(self) -> str:
        return f"NewItem({', '.join('='.join(pair) for pair in self.attributes)})"

    def place(self, user: object) -> Placed:
        """Its score and rank for one user."""
        row = row_of(self._data.users, user)
        scores = self._scorer.scores(row)
        rank = rank_of(scores, self._row, self._known.row(row))
        return self._placed(row, float(scores[self._row]), rank)

    def users(self, k: int = 20) -> list[Placed]:
        """The k users it stands highest for, those of one rank by their scores."""
        k = Options(k=k).k
        score, rank = self._everybody
        rows = np.lexsort((-score, rank))[:k].tolist()
        return [self._placed(row, float(score[row]), int(rank[row])) for row in rows]

    @cached_property
    def _everybody(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        return exact_ranks(self._scorer, self._row, self._known)

    def _placed(self, row: int, score: float, rank: int) -> Placed:
        return Placed(self._data.users[row], self._data.users.name(row), score, rank)
