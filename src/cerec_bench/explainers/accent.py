"""ACCENT (Tran et al., 2021): the fewest actions without which the item falls behind another.

The user's vector minimises a sum of one loss per action (`fold_in`, item vectors fixed):

    L(x) = sum_n l_n(x),   l_n(x) = mean_j softplus(x . V_j - x . V_n) + l2 / 2 |x|^2

Had action n not been, x would move by about H^-1 grad l_n(x), H the Hessian of L at its minimum:
the influence of n. Its influence on the gap between the item i and a candidate j is that times
V_i - V_j, and influences add up. For each j, actions are taken out by falling influence until the
gap is predicted to be below zero; the smallest set over j is the answer. Candidates are the items
that follow the list. What is claimed is checked for all methods by solving for the user again
without these items (`Context.scores_without`), in place of the paper's retraining. H actions, J
others, C candidates, d width.
"""

from __future__ import annotations

import numpy as np

from cerec.errors import ConfigError
from cerec.threads import blas_threads
from cerec_bench.explainers.fold_in import fold_in, others_of, slopes
from cerec_bench.explainers.history import Array, fewest
from cerec_bench.explainers.protocol import NO_ANSWER, Answer, Context, Pairs


def influences(vector: Array, liked: Array, others: Array, l2: float) -> Array:
    """(H, d) about where the user's vector would move without each of the `liked` (H, d) items.

    `vector` (d,) minimises the loss with them all, set against `others` (J, d).
    """
    with blas_threads(1):  # products too small to share
        hessian, gradient = slopes(vector, liked, others, l2)
        return np.asarray(np.linalg.solve(hessian, gradient.T).T, np.float64)


class Accent:
    """ACCENT as an explainer of histories."""

    def __init__(self, *, candidates: int = 20) -> None:
        """`candidates`: items after the list that may come instead."""
        if candidates < 1:
            raise ConfigError(f"ACCENT needs at least 1 candidate, got {candidates}")
        self._candidates = candidates

    def fit(self, context: Context) -> None:
        """Remember the context; its recommender must have factors."""
        if context.factors is None:
            raise ConfigError("ACCENT needs a recommender with factors: train --preset paper")
        self._context, self._item = context, context.factors[1]

    def explain(self, pairs: Pairs) -> list[Answer]:
        """Train items that had not been taken, the most telling first."""
        out = []
        item = self._item.astype(np.float64)
        for user, places in pairs.by_user():
            standing, history = self._context.standing(user), self._context.train.row(user)
            follow = standing.order[pairs.k : pairs.k + self._candidates]
            moved = self._moved(user, item)
            for at in places:
                i = int(pairs.item[at])
                gap = standing.scores[i] - standing.scores[follow]
                found = fewest(gap, (item[i] - item[follow]) @ moved.T, len(history))
                if found is None:
                    out.append(NO_ANSWER)
                else:
                    other, which = found
                    out.append(Answer(removed=history[which], counterfactual=int(follow[other])))
        return out

    def _moved(self, user: int, item: Array) -> Array:
        """(H, d) influence of each train item on the user's vector."""
        context = self._context
        liked = context.train.row(user)
        if len(liked) == 0:
            return np.zeros((0, item.shape[1]))
        vector = fold_in(self._item, liked, l2=context.l2).astype(np.float64)
        others = others_of(len(item), liked)
        return influences(vector, item[liked], item[others], context.l2)
