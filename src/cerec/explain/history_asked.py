"""History answers from any recommender that scores histories, by asking it and nothing else.

`Judge` asks: what becomes of an item in a changed history. `Asker` decides what to ask: all single
items, pairs of those that move it most (all of them where that is affordable), then one more item
at a time. `reduced` leaves out of a set
what can be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.explain.history_lanes import Doubles, place
from cerec.explain.history_linear import Person, Positions, Proposal


class People(Protocol):
    """Scores of changed histories."""

    n_lanes: int

    def history(self, user: int) -> tuple[NDArray[np.integer[Any]], Doubles]:
        """A user's items in order, and their weights."""
        ...

    def now(self, user: int) -> Doubles:
        """(I,) the scores with the history as it is."""
        ...

    def scores(self, history: NDArray[np.integer[Any]], weights: Doubles) -> Doubles:
        """(B, I) of items (H,) and, for each of B people, their weights (H, B), 0: not there."""
        ...


class AskedPeople:
    """A brought recommender: histories have no weights."""

    n_lanes = 64

    def __init__(self, model: Any, histories: Any) -> None:
        self._histories = histories
        both = getattr(model, "both_from", None)
        self._ask = model.scores_from if both is None else lambda rows: both(rows)[0]

    def history(self, user: int) -> tuple[NDArray[np.integer[Any]], Doubles]:
        """A user's items in order, each of weight one."""
        rows = np.asarray(self._histories.row(user))
        return rows, np.ones(len(rows))

    def now(self, user: int) -> Doubles:
        """(I,) by the history: what a recommender has stored of a user may differ."""
        return self.scores(*self._whole(user))[0]

    def _whole(self, user: int) -> tuple[NDArray[np.integer[Any]], Doubles]:
        rows, weight = self.history(user)
        return rows, weight[:, None]

    def scores(self, history: NDArray[np.integer[Any]], weights: Doubles) -> Doubles:
        """(B, I) scores of the histories."""
        return np.asarray(self._ask([history[lane > 0] for lane in weights.T]), np.float64)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where the target stands in a changed history."""

    rank: int
    score: float
    lead: float
    """How far the last listed other item is ahead of it; -inf where there is none."""
    cutoff: float
    """The score of that other item, or nan."""
    top: NDArray[np.int64]
    """The best k + 1 items, -1 where there are fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Asks what becomes of one item of one user; `rows` may be taken up, where they are given."""

    people: People
    person: Person
    item: int
    k: int
    rows: NDArray[np.integer[Any]] | None = None

    @property
    def n_choices(self) -> int:
        """How many items there are to take away, or up."""
        return len(self.person.history if self.rows is None else self.rows)

    def ask(self, sets: Sequence[Positions]) -> list[Verdict]:
        """One verdict for each set of positions."""
        out: list[Verdict] = []
        for n in range(0, len(sets), self.people.n_lanes):
            out += ask_many([(self, s) for s in sets[n : n + self.people.n_lanes]])
        return out

    def does(self, verdict: Verdict) -> bool:
        """Whether the target is out of the list; or, where items are taken up, in it."""
        out = verdict.rank > self.k or np.isnan(verdict.score)
        return bool(out) if self.rows is None else not out

    def drive(self, verdict: Verdict) -> float:
        """How far it went in the wanted direction."""
        if np.isnan(verdict.score):
            return -np.inf
        return verdict.lead if self.rows is None else -verdict.lead


def ask_many(asked: Sequence[tuple[Judge, Positions]]) -> list[Verdict]:
    """Verdicts on sets for one or more items of *one* user, scored together."""
    first = asked[0][0]
    person, people = first.person, first.people
    gained = [j.rows[s] for j, s in asked if j.rows is not None]
    fresh = np.unique(np.concatenate(gained)) if gained else np.zeros(0, np.int64)
    history = np.concatenate([person.history, fresh])
    weights = np.zeros((len(history), len(asked)))
    weights[: len(person.history)] = person.weight[:, None]
    for lane, (judge, chosen) in enumerate(asked):
        if judge.rows is None:
            weights[chosen, lane] = 0.0
        else:
            at = len(person.history) + np.searchsorted(fresh, judge.rows[chosen])
            weights[at, lane] = 1.0
    scores = people.scores(history, weights)
    out = []
    for row, (judge, chosen) in zip(scores, asked, strict=True):
        seen = person.seen
        if judge.rows is not None:
            seen = seen.copy()
            seen[judge.rows[chosen]] = True
        out.append(verdict_of(row, seen, judge.item, judge.k))
    return out


def verdict_of(scores: Doubles, seen: NDArray[np.bool_], item: int, k: int) -> Verdict:
    """Where an item stands among all that may be listed."""
    top = np.empty(k + 1, np.int64)
    rank = int(place(scores, seen, item, top))
    last = int(top[top != item][k - 1])
    lead = float(scores[last] - scores[item]) if last >= 0 else -np.inf
    return Verdict(
        rank, float(scores[item]), lead, float(scores[last]) if last >= 0 else np.nan, top
    )


class Asker:
    """Finds sets by asking, within a budget of histories."""

    def __init__(self, judge: Judge, budget: int) -> None:
        self.judge, self.left = judge, budget

    def find(self) -> Proposal:
        """A set that does it, if one is found; `proven` where nothing smaller does."""
        n = self.judge.n_choices
        singles = self._ask([np.array([h]) for h in range(min(n, self.left))])
        whole = len(singles) == n
        hit = self._best([np.array([h]) for h in range(len(singles))], singles)
        if hit is not None:
            return Proposal((hit,), True)
        drive = np.array([self.judge.drive(v) for v in singles])
        order = np.argsort(-drive, kind="stable")
        pairs = _pairs(order, max(0, min(self.left - 2 * n, self.left // 2)))
        every = whole and len(pairs) == n * (n - 1) // 2
        hit = self._best(pairs, self._ask(pairs))
        if hit is not None:
            return Proposal((hit,), whole)
        if every and n <= 2:
            return Proposal((), True, none=True)
        found = self._grow(order)
        if found is None:
            return Proposal((), False)
        return Proposal((found,), every and len(found) == 3)

    def along(self, order: Positions) -> Proposal:
        """As few as possible of the first items of an order."""
        low, high = 0, 1
        while not self._does(order[:high]):
            if high == len(order) or self.left <= 0:
                return Proposal((), False)
            low, high = high, min(2 * high, len(order))
        while high - low > 1 and self.left > 0:
            middle = (low + high) // 2
            low, high = (low, middle) if self._does(order[:middle]) else (middle, high)
        return Proposal((order[:high],), high == 1)

    def _does(self, chosen: Positions) -> bool:
        return any(self.judge.does(v) for v in self._ask([chosen]))

    def _grow(self, order: Positions) -> Positions | None:
        """One more item at a time; the best next one is measured while the budget lasts."""
        gone: list[int] = [int(order[0])] if len(order) else []
        while 0 < len(gone) < len(order) and self.left > 0:
            rest = order[~np.isin(order, gone)]
            tried = rest[: max(1, min(len(rest), self.left // 8))]
            sets = [np.array([*gone, h]) for h in tried.tolist()]
            verdicts = self._ask(sets)
            if not verdicts:
                break
            at = int(np.argmax([self.judge.drive(v) for v in verdicts]))
            gone.append(int(tried[at]))
            if self.judge.does(verdicts[at]):
                return np.array(gone)
        return None

    def _ask(self, sets: Sequence[Positions]) -> list[Verdict]:
        sets = sets[: max(self.left, 0)]
        self.left -= len(sets)
        return self.judge.ask(sets)

    def _best(self, sets: Sequence[Positions], verdicts: Sequence[Verdict]) -> Positions | None:
        does = [n for n, v in enumerate(verdicts) if self.judge.does(v)]
        return sets[max(does, key=lambda n: self.judge.drive(verdicts[n]))] if does else None


def _pairs(order: Positions, most: int) -> list[Positions]:
    """Pairs in the order of the worse of the two, at most so many."""
    out: list[Positions] = []
    for n, h in enumerate(order.tolist()):
        if len(out) >= most:
            break
        out += [np.array([g, h]) for g in order[:n].tolist()]
    return out[:most]


def reduced(judge: Judge, chosen: Positions, budget: int) -> tuple[Positions, bool]:
    """The set without what can be left out, one item after the other; whether nothing can."""
    while 1 < len(chosen) <= budget:
        budget -= len(chosen)
        verdicts = judge.ask([np.delete(chosen, n) for n in range(len(chosen))])
        does = [n for n, v in enumerate(verdicts) if judge.does(v)]
        if not does:
            return chosen, True
        chosen = np.delete(chosen, max(does, key=lambda n: judge.drive(verdicts[n])))
    return chosen, len(chosen) == 1
