"""Greedy search: values are taken away, or replaced, until the item is out of the list."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cerec_bench.explainers.protocol import NO_ANSWER, Answer, Context, Pairs, Rows, Standing


class Greedy:
    """The perturbation that lowers the score most, again and again, until the item is out.

    Effects add up, so taking away by falling effect gives a smallest set. Where no perturbation
    lowers the score there is no answer.
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
        for user, places in pairs.by_user():
            standing = self._context.standing(user)
            worst = self._worst(standing.effects) if self._replace else []
            out += [self._one(standing, int(pairs.item[at]), pairs.k, worst) for at in places]
        return out

    def _one(self, standing: Standing, item: int, k: int, worst: list[Rows]) -> Answer:
        own = self._context.facts.of_item.row(item)
        steps = (
            self._replacing(standing.effects, own, worst)
            if self._replace
            else self._removing(standing.effects, own)
        )
        scale, score = float(self._context.subject.scale[item]), float(standing.scores[item])
        for n, step in enumerate(steps, start=1):
            score -= scale * step[0]
            if standing.rank(item, score) > k:
                lost = np.array([s[1] for s in steps[:n]], np.int32)
                gained = np.array([s[2] for s in steps[:n] if s[2] >= 0], np.int32)
                return Answer(values=gained if self._replace else lost, lost=lost, gained=gained)
        return NO_ANSWER

    def _removing(self, effects: NDArray[np.float64], own: Rows) -> list[tuple[float, int, int]]:
        """(drop, value lost, -1), largest drop first."""
        order = own[np.argsort(-effects[own], kind="stable")]
        return [(float(effects[v]), int(v), -1) for v in order if effects[v] > 0]

    def _worst(self, effects: NDArray[np.float64]) -> list[Rows]:
        """For every relation its values by rising effect."""
        facts = self._context.facts
        order = np.lexsort((effects, facts.relation)).astype(np.int32)
        ends = np.searchsorted(facts.relation, np.arange(facts.relation.max(initial=-1) + 2))
        return [order[a:b] for a, b in pairwise(ends)]

    def _replacing(
        self, effects: NDArray[np.float64], own: Rows, worst: list[Rows]
    ) -> list[tuple[float, int, int]]:
        """(drop, value lost, value gained): within a relation the best value goes for the worst."""
        relation, steps = self._context.facts.relation, []
        for r in np.unique(relation[own]).tolist():
            mine = own[relation[own] == r]
            lost = mine[np.argsort(-effects[mine], kind="stable")]
            gained = [v for v in worst[r][: 2 * len(mine)] if v not in set(mine.tolist())]
            for v, g in zip(lost, gained, strict=False):
                steps.append((float(effects[v] - effects[g]), int(v), int(g)))
        return sorted((s for s in steps if s[0] > 0), key=lambda s: (-s[0], s[1]))
