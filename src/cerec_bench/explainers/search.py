"""Greedy search: values are taken away until the item is out of the list."""

from __future__ import annotations

import numpy as np

from cerec_bench.explainers.protocol import NO_ANSWER, Answer, Context, Pairs, Standing


class Greedy:
    """The value whose loss lowers the score most, again and again, until the item is out.

    Effects add up, so taking away by falling effect gives a smallest set. Where no loss lowers the
    score there is no answer.
    """

    def fit(self, context: Context) -> None:
        """Remember the context."""
        self._context = context

    def explain(self, pairs: Pairs) -> list[Answer]:
        """Values lost, in the order of the search."""
        out: list[Answer] = []
        for user, places in pairs.by_user():
            standing = self._context.standing(user)
            out += [self._one(standing, int(pairs.item[at]), pairs.k) for at in places]
        return out

    def _one(self, standing: Standing, item: int, k: int) -> Answer:
        own, effects = self._context.facts.of_item.row(item), standing.effects
        order = own[np.argsort(-effects[own], kind="stable")]
        order = order[effects[order] > 0].astype(np.int32)
        scale, score = float(self._context.subject.scale[item]), float(standing.scores[item])
        for n, v in enumerate(order, start=1):
            score -= scale * float(effects[v])
            if standing.rank(item, score) > k:
                return Answer(values=order[:n], lost=order[:n])
        return NO_ANSWER
