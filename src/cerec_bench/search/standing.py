"""Where every item stands for one user: scores, ranks, the cut-off of a list."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.recommend.scorer import Scorer
from cerec_bench.search.search import pooled_by_item


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """One user's scores and the order of the items the user has not seen."""

    scores: NDArray[np.float64]
    order: NDArray[np.int64]
    """Unseen items by falling score, ties in catalogue order."""
    falling: NDArray[np.float64]
    """Their scores with the sign turned, hence rising."""
    effects: NDArray[np.float64]
    """w(u, v) of every value."""
    largest_effect: float
    """The largest of them by size."""
    _by_effect: list[NDArray[np.int32]] = field(default_factory=list, repr=False)

    @staticmethod
    def of(scorer: Scorer, user: int, known: NDArray[np.integer]) -> Standing:
        """Where the items stand for a user who knows the items `known`."""
        scores = scorer.scores(user)
        order = Standing.ranking(scores, known)
        effects = scorer.all_effects(user)
        largest = float(np.abs(effects).max(initial=0.0))
        return Standing(scores, order, -scores[order], effects, largest)

    @staticmethod
    def ranking(scores: NDArray[np.float64], known: NDArray[np.integer]) -> NDArray[np.int64]:
        """Items that are not known by falling score, ties in catalogue order."""
        unseen = np.ones(len(scores), bool)
        unseen[known] = False
        rows = np.flatnonzero(unseen)
        return rows[np.argsort(-scores[rows], kind="stable")]

    def with_score(self, item: int, score: float) -> Standing:
        """Where the items stand had one of them another score."""
        scores = self.scores.copy()
        scores[item] = score
        order = np.sort(self.order)
        order = order[np.argsort(-scores[order], kind="stable")]
        return replace(self, scores=scores, order=order, falling=-scores[order])

    def by_effect(self, facts: Facts, *, mean: bool) -> NDArray[np.int32]:
        """Items by the rising pooled effect of their values; kept for the next question."""
        if not self._by_effect:
            of_item = facts.of_item
            pooled = pooled_by_item(of_item.indptr, of_item.indices, self.effects, mean)
            self._by_effect.append(np.argsort(pooled, kind="stable").astype(np.int32))
        return self._by_effect[0]

    def top(self, k: int) -> NDArray[np.int64]:
        """The list of length k."""
        return self.order[:k]

    def rank(self, item: int, score: float) -> int:
        """The rank of an item if it had this score, the others keeping theirs."""
        own = float(self.scores[item])
        counted = own > score and self.is_unseen(item)  # the unchanged item is no rival
        return 1 + int(_ahead(self.falling, self.order, item, score)) - counted

    def is_unseen(self, item: int) -> bool:
        """Whether the item is one that the user has not seen."""
        at = _ahead(self.falling, self.order, item, float(self.scores[item]))
        return at < len(self.order) and int(self.order[at]) == item


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _ahead(falling: NDArray[np.float64], order: NDArray[np.int64], item: int, score: float) -> int:
    """Unseen items that come before an item with this score: higher, or equal and earlier."""
    low, high = 0, len(falling)
    while low < high:
        middle = (low + high) // 2
        rival = falling[middle]
        if rival < -score or (rival == -score and order[middle] < item):
            low = middle + 1
        else:
            high = middle
    return low
