"""The agent as the recommender's samplers: counterfactual negatives and imagined items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.errors import ConfigError
from cerec.recommend.base import Context, Rows, Vectors
from cerec.recommend.draws import fresh_state
from cerec.recommend.negatives import Uniform
from cerec.recommend.swaps import swap_toward

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


class WalkedSwaps:
    """A change of the item toward the last item of a drawn walk, an unknown one as above."""

    def __init__(self, agent: WalkAgent) -> None:
        self._agent = agent

    @property
    def list_length(self) -> int:
        """Items of Q_u the walk keeps off."""
        return self._agent.config.list_length

    def draw(
        self, user: Rows, item: Rows, context: Context, rng: np.random.Generator
    ) -> tuple[Rows, Rows]:
        """See `SwapSampler.draw`; which change it is, `AgentConfig.swap` says."""
        other = _ends(self._agent, user, item, context, rng)
        of_item, relation = context.facts.of_item, context.facts.relation
        how = self._agent.config.swap
        if how == "random":
            state = fresh_state(rng)
            return _any_swap(item, other, of_item.indptr, of_item.indices, relation, state)
        if context.value is None:
            raise ConfigError(
                f"agent.swap = {how!r} needs a recommender that learns vectors of values; "
                "set agent.swap = 'random'"
            )
        sign = 1.0 if how == "lowest" else -1.0
        return _best_swap(
            user,
            item,
            other,
            of_item.indptr,
            of_item.indices,
            relation,
            context.user,
            context.value,
            sign,
        )


def _ends(
    agent: WalkAgent, user: Rows, item: Rows, context: Context, rng: np.random.Generator
) -> Rows:
    """The last items of drawn walks, unknown to the users; -1 for walks that ended early.

    Known items are barred from the last step alone, so these may have ended on one of them.
    """
    walks = agent.walk(user, item, context, rng=rng, unknown=True)
    return np.where(walks.steps < agent.config.depth, np.int32(-1), walks.end)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _any_swap(
    item: Rows,
    other: Rows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    relation: NDArray[np.int32],
    state: NDArray[np.uint64],
) -> tuple[Rows, Rows]:
    lost = np.full(len(item), -1, np.int32)
    gained = np.full(len(item), -1, np.int32)
    seen = np.full(len(relation), -1, np.int64)
    for p in range(len(item)):
        if other[p] >= 0:
            lost[p], gained[p] = swap_toward(
                state, item[p], other[p], indptr, indices, relation, seen, p
            )
    return lost, gained


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _extreme(
    vector: Vectors, value: Vectors, rows: NDArray[np.int32], without: NDArray[np.int32],
    relation: NDArray[np.int32], r: int, sign: float,
) -> tuple[int, float]:  # fmt: skip
    """The value of relation r in `rows` but not in `without` with the least `sign * effect`."""
    best, least = -1, np.inf
    for v in rows:
        if relation[v] != r:
            continue
        at = np.searchsorted(without, v)
        if at < len(without) and without[at] == v:
            continue
        effect = 0.0
        for k in range(len(vector)):
            effect += vector[k] * value[v, k]
        if sign * effect < least:
            best, least = v, sign * effect
    return best, least


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _best_swap(
    user: Rows,
    item: Rows,
    other: Rows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    relation: NDArray[np.int32],
    users: Vectors,
    value: Vectors,
    sign: float,
) -> tuple[Rows, Rows]:
    """The swap within one relation with the least `sign * (effect gained - effect lost)`."""
    lost = np.full(len(item), -1, np.int32)
    gained = np.full(len(item), -1, np.int32)
    for p in range(len(item)):
        if other[p] < 0:
            continue
        mine = indices[indptr[item[p]] : indptr[item[p] + 1]]
        theirs = indices[indptr[other[p]] : indptr[other[p] + 1]]
        least, last = np.inf, -1
        for v in theirs:  # values come in the order of their relations
            r = relation[v]
            if r == last:
                continue
            last = r
            gain, after = _extreme(users[user[p]], value, theirs, mine, relation, r, sign)
            loss, before = _extreme(users[user[p]], value, mine, theirs, relation, r, -sign)
            if gain >= 0 and loss >= 0 and after + before < least:
                least = after + before
                lost[p], gained[p] = loss, gain
    return lost, gained
