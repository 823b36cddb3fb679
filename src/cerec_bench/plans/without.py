"""Samplers that take one cause of harm out of walked negatives, or leave nothing but it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.agent.agent import WalkAgent
from cerec.data.ragged import Ragged
from cerec.recommend.base import Context, NegativeSampler, Rows
from cerec.recommend.draws import holds
from cerec.recommend.negatives import Uniform


@dataclass(frozen=True, slots=True)
class Permuted:
    """What the sampler draws, shuffled over all pairs: only how often an item comes is left."""

    of: NegativeSampler

    ahead = True

    @property
    def list_length(self) -> int:
        """As the sampler's."""
        return self.of.list_length

    def draw(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Rows:
        """See `NegativeSampler.draw`; what a user knows is drawn uniformly instead."""
        out = rng.permutation(self.of.draw(user, item, context, rng))
        return _instead(_known(user, out, context.known), out, user, item, context, rng)


@dataclass(frozen=True, slots=True)
class Levelled:
    """Of a few items that the sampler draws for a pair, one, the rarer the likelier.

    With q(j) how often the sampler draws item j, one of `tries` is taken with probability
    proportional to 1 / q(j): with many tries every item is as likely overall as under uniform
    negatives, and the pair still decides among them.
    """

    of: NegativeSampler
    tries: int = 8

    ahead = True

    @property
    def list_length(self) -> int:
        """As the sampler's."""
        return self.of.list_length

    def draw(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Rows:
        """See `NegativeSampler.draw`."""
        drawn = np.stack([self.of.draw(user, item, context, rng) for _ in range(self.tries)])
        often = np.bincount(drawn[drawn >= 0], minlength=len(context.item)).astype(np.float64)
        weight = np.where(drawn >= 0, 1.0 / np.maximum(often[drawn], 1.0), 0.0)
        running = np.cumsum(weight, axis=0)
        at = (running < rng.random(len(user)) * running[-1]).sum(axis=0)
        return np.asarray(drawn[at, np.arange(len(user))])


@dataclass(frozen=True, slots=True)
class Sparing:
    """What the sampler draws, but nothing the user takes later (which nobody can know)."""

    of: NegativeSampler
    later: Ragged

    ahead = True

    @property
    def list_length(self) -> int:
        """As the sampler's."""
        return self.of.list_length

    def draw(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Rows:
        """See `NegativeSampler.draw`; a second try is uniform."""
        out = self.of.draw(user, item, context, rng)
        return _instead(_known(user, out, self.later), out, user, item, context, rng)


class Other:
    """An agent whose negatives go through one of the samplers above."""

    def __init__(self, agent: WalkAgent, negatives: NegativeSampler) -> None:
        self.negatives = negatives
        self.learn, self.state, self.load_state = agent.learn, agent.state, agent.load_state


def _known(user: Rows, item: Rows, known: Ragged) -> NDArray[np.bool_]:
    pairs = zip(user.tolist(), item.tolist(), strict=True)
    return np.array([holds(known.indptr, known.indices, u, i) for u, i in pairs], bool)


def _instead(
    wrong: NDArray[np.bool_],
    drawn: Rows,
    user: Rows,
    item: Rows,
    context: Context,
    rng: np.random.Generator,
) -> Rows:
    out = drawn.copy()
    out[wrong] = Uniform().draw(user[wrong], item[wrong], context, rng)
    return out
