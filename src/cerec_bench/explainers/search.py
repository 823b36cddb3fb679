"""Search over perturbed features of the item: greedy, and breadth-first.

After Xiong et al. (2021), who perturb the features of the candidate item within what its features
may be, and Kaffes et al. (2021), who delete breadth-first until the item leaves the list. A
perturbation takes a value away, or replaces it by any value of the same relation. Neither looks
for an item that has the outcome, so nothing need be like it.
"""

from __future__ import annotations

from itertools import pairwise

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.errors import ConfigError
from cerec_bench.explainers.protocol import NO_ANSWER, Answer, Context, Pairs, Rows
from cerec_bench.search.standing import Standing


class Threshold:
    """Whether an item leaves the list once its values have other effects; exactly as judged."""

    def __init__(self, standing: Standing, item: int, own: Rows, k: int, *, mean: bool) -> None:
        self.mean = mean
        self.score = float(standing.scores[item])
        self.own = standing.effects[own]
        self.reachable = k < len(standing.order)
        rival = int(standing.order[k]) if self.reachable else item
        self.cutoff = float(standing.scores[rival])
        self.tie_flips = rival < item

    def flips(self, total: float, count: int) -> bool:
        """With `count` values whose effects sum to `total`."""
        return self.reachable and bool(
            _flips(
                total,
                count,
                self.mean,
                self.score,
                _pool(self.own.sum(), len(self.own), self.mean),
                self.cutoff,
                self.tie_flips,
            )
        )


class Greedy:
    """The perturbation that lowers the score most, again and again, until the item is out.

    Without an end in sight (no perturbation lowers the score) there is no answer.
    """

    def __init__(self, *, replace: bool = False) -> None:
        """`replace`: values are replaced by the worst of their relation rather than taken away."""
        self._replace = replace

    def fit(self, context: Context) -> None:
        """Remember the context."""
        self._context = context

    def explain(self, pairs: Pairs) -> list[Answer]:
        """Values lost, in the order of the search, and what they were replaced by."""
        out: list[Answer] = []
        mean = self._context.scorer.pooling == "mean"
        for user, places in pairs.by_user():
            standing = self._context.standing(user)
            worst = self._worst(standing.effects) if self._replace else []
            for at in places:
                item = int(pairs.item[at])
                own = self._context.facts.of_item.row(item)
                goal = Threshold(standing, item, own, pairs.k, mean=mean)
                if self._replace:
                    out.append(self._replaced(standing.effects, own, goal, worst))
                else:
                    out.append(_removed(standing.effects, own, goal))
        return out

    def _worst(self, effects: NDArray[np.float64]) -> list[Rows]:
        """For every relation its values by rising effect."""
        facts = self._context.facts
        order = np.lexsort((effects, facts.relation)).astype(np.int32)
        ends = np.searchsorted(facts.relation, np.arange(facts.relation.max(initial=-1) + 2))
        return [order[a:b] for a, b in pairwise(ends)]

    def _replaced(
        self, effects: NDArray[np.float64], own: Rows, goal: Threshold, worst: list[Rows]
    ) -> Answer:
        relation, left = self._context.facts.relation, set(own.tolist())
        free = {
            int(r): [v for v in worst[r][: 2 * len(own)].tolist() if v not in left]
            for r in np.unique(relation[own])
        }
        total, lost, gained = float(effects[own].sum()), [], []
        while left:
            steps = [(v, free[int(relation[v])][:1]) for v in sorted(left)]
            drop, v, g = max(
                ((effects[v] - effects[g[0]], v, g[0]) for v, g in steps if g),
                default=(0.0, -1, -1),
                key=lambda step: (step[0], -step[1]),
            )
            if drop <= 0:
                break
            left.remove(v)
            free[int(relation[v])].pop(0)
            lost.append(v)
            gained.append(g)
            total -= float(drop)
            if goal.flips(total, len(own)):
                new = np.array(gained, np.int32)
                return Answer(values=new, lost=np.array(lost, np.int32), gained=new)
        return NO_ANSWER


def _removed(effects: NDArray[np.float64], own: Rows, goal: Threshold) -> Answer:
    """Take values away by falling effect: what is left has the lowest sum, and the lowest mean."""
    order = own[np.argsort(-effects[own], kind="stable")]
    total = float(effects[own].sum())
    for n, value in enumerate(order, start=1):
        total -= float(effects[value])
        if goal.flips(total, len(own) - n):
            return Answer(values=order[:n], lost=order[:n])
    return NO_ANSWER


class BreadthFirst:
    """Sets of values to take away, all of one size before any larger one, until the item is out.

    The first found is one of the fewest values, as long as the budget of sets lasts; then there
    is no answer. Within a size, sets of values that speak most for the item come first.
    """

    def __init__(self, budget: int = 20_000) -> None:
        if budget < 1:
            raise ConfigError(f"a search needs a budget of at least 1 set, got {budget}")
        self._budget = budget

    def fit(self, context: Context) -> None:
        """Remember the context."""
        self._context = context

    def explain(self, pairs: Pairs) -> list[Answer]:
        """Values lost, those that speak most for the item first."""
        out: list[Answer] = []
        mean = self._context.scorer.pooling == "mean"
        for user, places in pairs.by_user():
            standing = self._context.standing(user)
            for at in places:
                item = int(pairs.item[at])
                own = self._context.facts.of_item.row(item)
                own = own[np.argsort(-standing.effects[own], kind="stable")]
                goal = Threshold(standing, item, own, pairs.k, mean=mean)
                found = own[self._search(goal)] if goal.reachable else own[:0]
                out.append(Answer(values=found, lost=found))
        return out

    def _search(self, goal: Threshold) -> NDArray[np.int64]:
        return _breadth_first(
            goal.own, goal.mean, goal.score, goal.cutoff, goal.tie_flips, self._budget
        )


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _pool(total: float, count: int, mean: bool) -> float:
    return total / max(count, 1) if mean else total


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _flips(
    total: float,
    count: int,
    mean: bool,
    score: float,
    pooled: float,
    cutoff: float,
    tie_flips: bool,
) -> bool:
    new = score + (_pool(total, count, mean) - pooled)
    return new < cutoff or (tie_flips and new == cutoff)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _breadth_first(
    own: NDArray[np.float64],
    mean: bool,
    score: float,
    cutoff: float,
    tie_flips: bool,
    budget: int,
) -> NDArray[np.int64]:
    """Places in `own` of the first set that flips, in order of size, then of places; or none."""
    n, whole = len(own), own.sum()
    pooled = _pool(whole, n, mean)
    for size in range(1, n + 1):
        chosen = np.arange(size)
        while True:
            total = whole
            for place in chosen:
                total -= own[place]
            if _flips(total, n - size, mean, score, pooled, cutoff, tie_flips):
                return chosen
            budget -= 1
            if budget == 0:
                return chosen[:0]
            last = size - 1  # the rightmost place that can move on
            while last >= 0 and chosen[last] == n - size + last:
                last -= 1
            if last < 0:
                break
            chosen[last] += 1
            for after in range(last + 1, size):
                chosen[after] = chosen[after - 1] + 1
    return np.arange(0)
