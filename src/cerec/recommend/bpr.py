"""Matrix factorisation learned from pairs: BPR, and the paper's eq. 4 (CLiMF form)."""

from __future__ import annotations

import numpy as np

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend import kernels
from cerec.recommend.asking import drawn, drawn_ahead, list_length
from cerec.recommend.base import NegativeSampler, Rows
from cerec.recommend.factors import FactorModel, batches
from cerec.settings.recommender import RecommenderConfig


class PairFactorisation(FactorModel):
    """Learns `softplus(f_uj - f_ui) + alone * softplus(-f_ui)`, j drawn by a sampler.

    `alone = 0`: BPR-MF (Rendle 2009). `alone = 1`: eq. 4 of the paper, read as the maximum of a
    likelihood, with one counterfactual item per positive.
    """

    def __init__(
        self,
        config: RecommenderConfig,
        known: Ragged,
        facts: Facts,
        *,
        seed: int,
        alone: float = 0.0,
    ) -> None:
        super().__init__(config, known, facts, seed=seed)
        self._alone = alone

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """See `Recommender.epoch`."""
        context = self._factors.context(list_length(negatives))
        ahead = drawn_ahead(negatives, user, item, context, rng)
        loss = 0.0
        for rows in batches(len(user), self.config.pairs_per_update(len(user)), rng):
            u, i = user[rows], item[rows]
            j = drawn(negatives, u, i, context, rng) if ahead is None else ahead[rows]
            loss += self._pairs(u, i, j)
            self._factors.step()
        return loss / max(len(user), 1)

    def _pairs(self, user: Rows, item: Rows, negative: Rows) -> float:
        f = self._factors
        kernels.mark(user, f.touched_user)
        kernels.mark(item, f.touched_item)
        kernels.mark(negative, f.touched_item)
        return kernels.pair_gradients(
            user, item, negative, f.user, f.item, self._alone, self.config.l2, f.d_user, f.d_item
        )
