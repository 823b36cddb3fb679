"""Questions about changed histories, and sets found by asking a recommender and nothing else.

All sets of a size where that is affordable, then one more item at a time; what can be left out of a
set is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from cerec.explain.history_parts import History, HistoryPerson, Rows
from cerec.recommend.rank import first, place

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the target stands with some history."""

    rank: int
    score: float
    cutoff: float
    """The score of the last listed other item, or nan."""
    top: NDArray[np.int32]
    """The best k + 1 items, -1 where there are fewer."""


@dataclass(slots=True, eq=False)
class HistoryQuestion:
    """One item of one user; `rows` may be taken up, where they are given, else items go."""

    person: HistoryPerson
    item: int
    k: int
    now: Standing
    rows: Rows | None = None
    sets: Sequence[Positions] = ()
    """To be tried in this order, smallest first: places in the history, or in `rows`."""
    proven: int = 1
    """No set of this size or a smaller one does it, but for those in `sets`."""
    none: bool = False
    """No set at all does it, but for those in `sets`."""
    tight: bool = False
    """Nothing can be left out of the one set."""
    order: Positions | None = None
    """What to try, by what it does alone."""

    @property
    def n_choices(self) -> int:
        """How many items there are to take away, or up."""
        return len(self.person.history if self.rows is None else self.rows)

    def changed(self, chosen: Positions) -> History:
        """The history without these items, or with them."""
        p = self.person
        if self.rows is None:
            return np.delete(p.history, chosen), np.delete(p.weight, chosen)
        items = np.concatenate([p.history, self.rows[chosen]])
        weight = np.concatenate([p.weight, np.ones(len(chosen))])
        return items, weight

    def standing(self, scores: NDArray[np.float64], chosen: Positions) -> Standing:
        """With the scores of that history."""
        seen = self.person.seen
        if self.rows is not None:
            seen = seen.copy()
            seen[self.rows[chosen]] = True
        return standing(scores, seen, self.item, self.k)

    def does(self, found: Standing) -> bool:
        """Whether the target is out of the list; or, where items are taken up, in it."""
        out = found.rank > self.k or np.isnan(found.score)
        return bool(out) if self.rows is None else not out

    def drive(self, found: Standing) -> float:
        """How far it went in the wanted direction."""
        lead = found.cutoff - found.score
        if np.isnan(lead):
            return np.inf if self.does(found) else -np.inf
        return lead if self.rows is None else -lead


def standing(scores: NDArray[np.float64], seen: NDArray[np.bool_], item: int, k: int) -> Standing:
    """Where an item stands among all that may be listed."""
    row, top = np.where(seen, np.nan, scores), np.full(k + 1, -1, np.int32)
    first(row, top)
    last = int(top[top != item][k - 1])
    cutoff = float(scores[last]) if last >= 0 else np.nan
    return Standing(int(place(row, item, row[item])), float(scores[item]), cutoff, top)


Ask = Callable[[Sequence[tuple[HistoryQuestion, Positions]]], list[Standing]]
"""Where the targets of questions stand with sets of items gone, or taken up."""


class Asking:
    """Finds sets by asking, within a budget of histories."""

    def __init__(self, ask: Ask, question: HistoryQuestion, left: int) -> None:
        self._ask_model, self.q, self.left = ask, question, left

    def find(self, hit: tuple[Positions, Standing] | None) -> tuple[Positions, Standing] | None:
        """A smaller set than this one; all sets of a size where that is affordable."""
        q = self.q
        order = np.arange(q.n_choices) if q.order is None else q.order
        for n in range(q.proven + 1, len(hit[0]) if hit else q.n_choices + 1):
            afford = self.left if n == 1 else self.left // 2
            sets = list(islice(_by_last(order, n), min(comb(len(order), n), afford)))
            found = self._ask(sets)
            best = self._best(sets, found)
            if best is not None:
                return best
            if n == 1:
                order = order[np.argsort([-q.drive(x) for x in found], kind="stable")]
            if len(sets) < comb(q.n_choices, n):
                break
            q.proven = n
        if hit is not None or q.proven >= q.n_choices:
            return hit
        return self._grown(order)

    def reduced(
        self, chosen: Positions, found: Standing
    ) -> tuple[tuple[Positions, Standing], bool]:
        """The set without what can be left out, one after the other; whether nothing can."""
        while 1 < len(chosen) <= self.left:
            sets = [np.delete(chosen, n) for n in range(len(chosen))]
            best = self._best(sets, self._ask(sets))
            if best is None:
                return (chosen, found), True
            chosen, found = best
        return (chosen, found), len(chosen) == 1

    def _grown(self, order: Positions) -> tuple[Positions, Standing] | None:
        """One more item at a time; the best next one is measured while the budget lasts."""
        gone = order[:1]
        while 0 < len(gone) < len(order) and self.left > 0:
            rest = order[~np.isin(order, gone)]
            sets = [np.append(gone, h) for h in rest[: max(1, self.left // 8)]]
            found = self._ask(sets)
            at = int(np.argmax([self.q.drive(x) for x in found]))
            gone = sets[at]
            if self.q.does(found[at]):
                return gone, found[at]
        return None

    def _ask(self, sets: Sequence[Positions]) -> list[Standing]:
        sets = sets[: max(self.left, 0)]
        self.left -= len(sets)
        return list(self._ask_model([(self.q, s) for s in sets]))

    def _best(
        self, sets: Sequence[Positions], found: Sequence[Standing]
    ) -> tuple[Positions, Standing] | None:
        """Of the sets that do it the most decisive."""
        does = [(s, x) for s, x in zip(sets, found, strict=False) if self.q.does(x)]
        return max(does, key=lambda pair: self.q.drive(pair[1]), default=None)


def _by_last(order: Positions, n: int) -> Iterator[Positions]:
    """Sets of n, those whose last item comes first in the order first."""
    for last in range(n - 1, len(order)):
        for rest in combinations(order[:last].tolist(), n - 1):
            yield np.array([*rest, order[last]])
