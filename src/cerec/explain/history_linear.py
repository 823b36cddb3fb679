"""Sets of history items worth asking the linear recommender about, and what is proven of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.explain.history_kernels import MAYBES, NONE, PROVEN, SIZE, WIDE
from cerec.explain.history_parts import Doubles, Parts, PartsOf, Rows
from cerec.explain.history_search import relative, smallest_of_user, up_more, up_singles
from cerec.recommend.linear.model import Linear

Positions = NDArray[np.int64]
_TOGETHER, _SHORT = 256, 48  # items to take up: weighed at once, combined with each other


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work an answer may cost."""

    most: int = 64
    """Items of a set that is searched for; longer ones are only found by asking."""
    work: int = 1_000_000
    """Comparisons of the exact search for one answer, some milliseconds."""
    rounds: tuple[tuple[int, int], ...] = ((160, 6), (640, 16), (4000, 32))
    """Rivals looked at one by one, and sizes of sets bounded; the next round is for answers that
    the one before does not prove."""
    entries: int = 6_000_000
    """History items times rivals at the most."""
    asked: int = 4000
    """Histories that the recommender is asked to score for one answer, where asking is the way."""
    maybes: int = 16
    """Sets on the brink that are left to the model to judge."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """Sets to be tried in this order, smallest first."""

    sets: tuple[Positions, ...]
    proven: bool
    """No smaller set does it."""
    none: bool = False
    """No set at all does it."""


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """One user: the history, its weights, all scores, and what is never listed."""

    history: NDArray[np.integer[Any]]
    weight: Doubles
    scores: Doubles
    seen: NDArray[np.bool_]

    def best(self, most: int) -> NDArray[np.int64]:
        """The best items that may be listed, best first, ties in catalogue order."""
        rows = np.flatnonzero(~self.seen & ~np.isnan(self.scores))
        score = self.scores[rows]
        if len(rows) > most:
            keep = score >= np.partition(score, len(rows) - most)[len(rows) - most]
            rows, score = rows[keep], score[keep]
        return rows[np.argsort(-score, kind="stable")][:most]


class Proposer:
    """The linear recommender, taken apart for history answers."""

    def __init__(self, model: Linear, budget: Budget) -> None:
        self.parts, self.budget = PartsOf(model), budget

    def away(self, person: Person, items: Rows, k: int) -> list[Proposal]:
        """For every listed item: sets of positions in the history, to be taken away."""
        out: list[Proposal] = [Proposal((), False)] * len(items)
        if self.too_long(person):
            return out
        lean = self.parts.lean(person.history, person.weight)
        left = np.arange(len(items))
        for turn, (rivals, sizes) in enumerate(self.budget.rounds):
            width = min(max(rivals, 4 * k), len(person.scores))
            if turn > 0 and width * len(person.history) > self.budget.entries:
                break
            columns = person.best(width)
            left = left[self._away(person, lean, columns, sizes, items[left], k, out, left)]
            if len(left) == 0 or (len(columns) < width and sizes >= len(person.history)):
                break
        return out

    def _away(
        self,
        person: Person,
        lean: Doubles,
        columns: Positions,
        sizes: int,
        items: Rows,
        k: int,
        out: list[Proposal],
        at: Positions,
    ) -> NDArray[np.bool_]:
        """Fill `out` at these places; whether more columns could prove more."""
        b = self.budget
        history, weight = person.history, person.weight
        p = self.parts.parts(history, weight, columns, lean, history, weight)
        outside = ~person.seen & ~np.isnan(person.scores)
        outside[columns] = False
        middle, half, spread, far = self.parts.bounds(p, person.scores, lean, outside, sizes)
        where = np.full(len(person.scores), -1)
        where[columns] = np.arange(len(columns))
        most = max(1, min(b.most, len(history)))
        chosen = np.zeros((len(items), most), np.int64)
        maybe = np.zeros((len(items), b.maybes, 1 + len(history)), np.int64)
        tell = np.zeros((len(items), 5), np.int64)
        smallest_of_user(
            where[items], k, most, b.work, person.scores[columns], *_arrays(p),
            middle, half, spread, far, self._tol(person.scores[columns]), chosen, maybe, tell,
        )  # fmt: skip
        for n, place in enumerate(at.tolist()):
            sure = (chosen[n, : tell[n, SIZE]],) if tell[n, SIZE] else ()
            open_ = [row[1 : 1 + row[0]] for row in maybe[n, : tell[n, MAYBES]]]
            sets = sorted((*sure, *open_), key=len)
            out[place] = Proposal(tuple(sets), bool(tell[n, PROVEN]), bool(tell[n, NONE]))
        return tell[:, WIDE] == 1

    def too_long(self, person: Person) -> bool:
        """Whether the history is too long to be searched."""
        n = len(person.history)
        width = n if self.parts.target.shape[1] else 0
        return n * max(width, self.budget.rounds[0][0]) > 4 * self.budget.entries

    def order(self, person: Person, item: int, k: int) -> Positions:
        """Positions in the history by how much they do for an item against the next after k."""
        lean = self.parts.lean(person.history, person.weight)
        columns = person.best(k + 1)
        rows = np.array([item, columns[-1]])
        known = person.history, person.weight
        p = self.parts.parts(*known, rows, lean, *known, crossed=False)
        part = p.direct + p.shared / np.sqrt(max(p.total, 1e-9))
        if len(p.error):
            part += p.error[:, None] * p.through
        return np.argsort(part[:, 1] - part[:, 0], kind="stable")

    def up(self, person: Person, item: int, k: int, rows: Rows) -> Proposal:
        """Sets of positions in `rows` that may bring an item into the list, to be taken up;
        `proven` says that all single ones that may are among them.
        """
        b = self.budget
        lean = self.parts.lean(person.history, person.weight)
        columns = person.best(max(b.rounds[0][0], 4 * k))
        columns = np.append(columns[columns != item], item)
        tol = self._tol(person.scores[columns])
        score, target = person.scores[columns], len(columns) - 1

        def case(taken: Rows) -> Any:
            ones = np.ones(len(taken))
            p = self.parts.parts(taken, ones, columns, lean, person.history, person.weight)
            return relative(target, 1.0, score, *_arrays(p))

        place = np.full(len(person.scores), -1)
        place[columns[:-1]] = np.arange(1, len(columns))
        own = place[rows]
        lead = np.empty(len(rows))
        for n in range(0, len(rows), _TOGETHER):
            part = slice(n, n + _TOGETHER)
            up_singles(case(rows[part]), own[part], k, lead[part])
        order = np.argsort(lead, kind="stable")
        passing = int((lead <= tol).sum())
        singles = [order[n : n + 1] for n in range(min(passing, b.maybes))]
        short = order[:_SHORT]
        chosen = np.zeros((b.maybes + 1, min(b.most, len(short))), np.int64)
        sizes = np.zeros(len(chosen), np.int64)
        if chosen.shape[1] > 1:
            up_more(case(rows[short]), own[short], k, tol, chosen, sizes)
        more = [short[row[:size]] for row, size in zip(chosen, sizes, strict=True) if size]
        return Proposal((*singles, *more), passing <= b.maybes)

    def _tol(self, scores: Doubles) -> float:
        return self.parts.grain + 1e-11 * float(np.abs(scores).max(initial=1.0))


def _arrays(p: Parts) -> tuple[Any, ...]:
    return p.lean, p.direct, p.shared, p.through, p.weight, p.total, p.cross, p.error
