"""How well an agent walks: between a uniform walk and the best there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cerec.agent.reward import cutoffs, list_items, rationality, rewards, similarity
from cerec.recommend.base import Context, Rows
from cerec.rng import generator
from cerec.walk.paths import PathSampler

if TYPE_CHECKING:
    from cerec.agent.agent import WalkAgent


def walk_quality(agent: WalkAgent, context: Context, *, states: int = 500) -> dict[str, float]:
    """Mean reward of one step from drawn states (user, listed item), and `learned`,
    (drawn - uniform) / (best - uniform): drawn by the policy, by a uniform walk over the same
    attributes, and the best, found by trying every item that the walk may reach.
    """
    rng, config, graph = generator(0, "agent/quality"), agent.config, agent.graph
    lists = context.lists[:, : config.list_length]
    place = rng.choice(np.flatnonzero(lists.ravel() >= 0), states)
    user = (place // lists.shape[1]).astype(np.int32)
    item, off = lists.ravel()[place], list_items(context, config.list_length)
    uniform = PathSampler(graph, uniform=True, widest=config.widest)
    cutoff = cutoffs(context, config.list_length)
    out = {}
    for name, sampler in {"drawn": agent.sampler, "uniform": uniform}.items():
        walks = sampler.walk(agent.vectors(), user, item, off, depth=1, rng=rng)
        reward = rewards(walks, agent.compared(), context, cutoff)
        out[name] = _mean(np.where(walks.moved[0], reward[0], np.nan))
    out["best"] = _mean(best_rewards(agent, context, user, item))
    span = out["best"] - out["uniform"]
    return {**out, "learned": (out["drawn"] - out["uniform"]) / span if span > 0 else 0.0}


def best_rewards(agent: WalkAgent, context: Context, user: Rows, item: Rows) -> NDArray[np.float64]:
    """The highest reward of one step from each state; nan where none is possible."""
    near, far = agent.sampler.hops
    cutoff, vectors = cutoffs(context, agent.config.list_length), agent.compared()
    out = np.full(len(user), np.nan)
    for b, (u, i) in enumerate(zip(user, item, strict=True)):
        via = near.indices[near.indptr[i] : near.indptr[i + 1]]
        ends = [far.indices[far.indptr[a] : far.indptr[a + 1]] for a in via]
        there = np.setdiff1d(np.concatenate([*ends, via[:0]]), [i, *context.lists[u]])
        if len(there):
            who, here = np.full(len(there), u, np.int32), np.full(len(there), i, np.int32)
            earned = rationality(who, there, context, cutoff) + similarity(here, there, vectors)
            out[b] = earned.max()
    return out


def _mean(values: NDArray[np.float64]) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else 0.0
