"""The agent as the recommender's sampler: counterfactual items as negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cerec.recommend.base import Context, Rows
from cerec.recommend.negatives import Uniform

if TYPE_CHECKING:
    from cerec.agent.agent import WalkAgent


class WalkedNegatives:
    """The last item of a drawn walk; its last step keeps off the user's train items as well.

    Where no walk is possible the negative is uniform.
    """

    ahead = True
    """Policy and lists stay while an epoch lasts; see `recommend.base`."""

    def __init__(self, agent: WalkAgent) -> None:
        self._agent = agent

    @property
    def list_length(self) -> int:
        """Items of Q_u the walk keeps off."""
        return self._agent.config.list_length

    def draw(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Rows:
        """See `NegativeSampler.draw`."""
        walks = self._agent.walk(user, item, context, rng=rng, unknown=True)
        # Known items are barred from the last step alone: a shorter walk may end on one of them.
        out = np.where(walks.steps < self._agent.config.depth, np.int32(-1), walks.end)
        lost = out < 0
        if lost.any():
            out[lost] = Uniform().draw(user[lost], item[lost], context, rng)
        return out
