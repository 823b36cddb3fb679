"""Scoring an item that came after training, known by its attributes alone.

    V_new = mean over the items of (V_i - pool(x_v for v in A_i)) + pool(x_v for v in A)

the part that the mean item has of its own, and what the given values A add: their mean where the
model is made of values, the sum of their fitted effects where it is not. So nothing is known of
the new item beyond its values, and its score for u is f(u, . | A) of an item like all others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.recommend.scorer import Scorer


def add_item(scorer: Scorer, facts: Facts, values: NDArray[np.integer]) -> tuple[Scorer, int]:
    """The scorer with one more item of these values, and its row; no other score is touched.

    The row is the last, so that at equal scores the new item comes after those of the catalogue.
    """
    total = scorer.effect[values].sum(axis=0, dtype=np.float64)
    added = total / max(len(values), 1) if scorer.pooling == "mean" else total
    gained = added - _mean_share(scorer, facts)
    if scorer.matrix is not None:
        score = scorer.matrix.mean(axis=1, dtype=np.float64) + scorer.effect_user @ gained
        column = score.astype(np.float32)[:, None]
        return replace(scorer, matrix=np.hstack([scorer.matrix, column])), scorer.n_items
    vector = scorer.item.mean(axis=0, dtype=np.float64)
    if scorer.effect_user is scorer.user:
        item = np.vstack([scorer.item, (vector + gained).astype(np.float32)])
        return replace(scorer, item=item), scorer.n_items
    # effects of other factors than the scores: both side by side, none of them for the old items
    wide = np.pad(scorer.item, ((0, 0), (0, len(gained))))
    item = np.vstack([wide, np.concatenate([vector, gained]).astype(np.float32)])
    user = np.hstack([scorer.user, scorer.effect_user])
    return replace(scorer, user=user, item=item), scorer.n_items


def _mean_share(scorer: Scorer, facts: Facts) -> NDArray[np.float64]:
    """(d',) what their values add to the vectors of the items, in the mean over all items."""
    of_item, n_items = facts.of_item, max(len(facts.of_item), 1)
    weight = np.ones(of_item.size)
    if scorer.pooling == "mean":
        weight /= of_item.counts[of_item.row_of()]
    times = np.bincount(of_item.indices, weights=weight, minlength=facts.n_values)
    return np.asarray(times @ scorer.effect.astype(np.float64) / n_items)
