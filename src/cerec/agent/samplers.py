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
        out = _ends(self._agent, user, item, context, rng)
        lost = out < 0
        if lost.any():
            out[lost] = Uniform().draw(user[lost], item[lost], context, rng)
        return out


def _ends(
    agent: WalkAgent, user: Rows, item: Rows, context: Context, rng: np.random.Generator
) -> Rows:
    """The last items of drawn walks, unknown to the users; -1 for walks that ended early.

    Known items are barred from the last step alone, so these may have ended on one of them.
    """
    walks = agent.walk(user, item, context, rng=rng, unknown=True)
    return np.where(walks.steps < agent.config.depth, np.int32(-1), walks.end)
