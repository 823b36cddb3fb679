"""The paper's ground truth: negative attributes found by dynamic negative sampling.

An attribute-aware factorisation scores an item by the mean of its values' vectors, and a value by
its own: f(u, i) = p_u . mean x_v over A_i, f(u, v) = p_u . x_v. In every round train pairs
(u, i) draw `candidates` values that the item lacks, uniformly, take the highest scored as their
negative, and learn to put f(u, i) above it. The listed pairs that are to be judged draw alongside,
from the same model, and are never learned from; what they drew in the last `kept` rounds is their
truth. Train is all that enters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.rng import derive, generator
from cerec_bench.explainers.protocol import Pairs
from cerec_bench.explainers.truths import Truth

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)
_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsConfig:
    """How the sampling goes. The paper gives no numbers; these are ours."""

    rounds: int = 40
    """Passes over train pairs."""
    pairs: int = 50_000
    """Train pairs of a round at the most, drawn anew for each."""
    kept: int = 20
    """Last rounds whose draws make the truth."""
    candidates: int = 32
    """Values drawn at once, of which the highest scored is taken; 1: plain random."""
    dim: int = 32
    """Length of the vectors."""
    learning_rate: float = 0.05
    """Step of the gradient descent."""
    l2: float = 0.01
    """Pull of the vectors toward zero."""
    seed: int = 0
    """Of the truth alone: the seeds of the explainers do not touch it."""

    def __post_init__(self) -> None:
        for name in ("rounds", "pairs", "kept", "candidates", "dim"):
            if getattr(self, name) < 1:
                raise ConfigError(f"dns.{name} must be at least 1, got {getattr(self, name)}")
        if self.kept > self.rounds:
            raise ConfigError(f"dns.kept ({self.kept}) must not exceed dns.rounds ({self.rounds})")


def dns_truth(train: Ragged, facts: Facts, pairs: Pairs, config: DnsConfig) -> Truth:
    """The truth of the pairs; empty for items without values."""
    rng = generator(config.seed, "dns/start")
    user = rng.normal(0, 0.1, (len(train), config.dim)).astype(np.float32)
    value = rng.normal(0, 0.1, (facts.n_values, config.dim)).astype(np.float32)
    has = facts.of_item.counts > 0
    who, what = train.row_of(), train.indices
    who, what = who[has[what]], what[has[what]]
    of = facts.of_item
    table = (of.indptr, of.indices)
    drawn = []
    for number in range(config.rounds):
        order = generator(config.seed, f"dns/order/{number}").permutation(len(who))[: config.pairs]
        seed = np.uint64(derive(config.seed, f"dns/draws/{number}"))
        rate, l2 = np.float32(config.learning_rate), np.float32(config.l2)
        _learn(who[order], what[order], *table, user, value, config.candidates, rate, l2, seed)
        if number >= config.rounds - config.kept:
            seed = np.uint64(derive(config.seed, f"dns/pairs/{number}"))
            drawn.append(_hardest(pairs.user, pairs.item, *table, user, value,
                                  config.candidates, seed))  # fmt: skip
    chosen = np.stack(drawn, axis=1)  # (pairs, kept), -1 where an item has no values
    at = np.repeat(np.arange(len(pairs)), config.kept)[chosen.ravel() >= 0]
    values = chosen.ravel()[chosen.ravel() >= 0]
    return Truth("dns", Ragged.from_pairs(at, values, len(pairs)))


@_jit
def _next(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """splitmix64: the next state and 64 random bits."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@_jit
def _draw(
    vector: NDArray[np.float32],
    own: NDArray[np.int32],
    value: NDArray[np.float32],
    candidates: int,
    state: np.uint64,
) -> tuple[np.int64, np.uint64]:
    """The highest scored of some values outside `own` (sorted); -1 when all tries hit `own`."""
    best, best_score = np.int64(-1), np.float32(0)
    n = np.uint64(len(value))
    for _ in range(candidates):
        v = np.int64(-1)
        for _ in range(_TRIES):
            state, bits = _next(state)
            drawn = np.int64(bits % n)
            at = np.searchsorted(own, drawn)
            if at == len(own) or own[at] != drawn:
                v = drawn
                break
        if v < 0:
            continue
        score = np.float32(0)
        for d in range(len(vector)):
            score += vector[d] * value[v, d]
        if best < 0 or score > best_score:
            best, best_score = v, score
    return best, state


@_jit
def _learn(
    who: NDArray[np.int32],
    what: NDArray[np.int32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    user: NDArray[np.float32],
    value: NDArray[np.float32],
    candidates: int,
    rate: np.float32,
    l2: np.float32,
    state: np.uint64,
) -> None:
    """One round: a step of -ln s(f(u, i) - f(u, v)) for every train pair."""
    dim = user.shape[1]
    mean = np.empty(dim, np.float32)
    for n in range(len(who)):
        u = who[n]
        own = indices[indptr[what[n]] : indptr[what[n] + 1]]
        v, state = _draw(user[u], own, value, candidates, state)
        if v < 0:
            continue
        mean[:] = 0
        for a in own:
            for d in range(dim):
                mean[d] += value[a, d]
        gap = np.float32(0)
        for d in range(dim):
            mean[d] /= len(own)
            gap += user[u, d] * (mean[d] - value[v, d])
        step = rate / (np.float32(1) + np.exp(gap))
        share = step / len(own)
        for d in range(dim):
            p, x = user[u, d], value[v, d]
            user[u, d] += step * (mean[d] - x) - rate * l2 * p
            value[v, d] -= step * p + rate * l2 * x
            for a in own:
                value[a, d] += share * p - rate * l2 / len(own) * value[a, d]


@_jit
def _hardest(
    who: NDArray[np.int32],
    what: NDArray[np.int32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    user: NDArray[np.float32],
    value: NDArray[np.float32],
    candidates: int,
    state: np.uint64,
) -> NDArray[np.int32]:
    """One draw for every pair; -1 for items without values."""
    out = np.full(len(who), -1, np.int32)
    for n in range(len(who)):
        own = indices[indptr[what[n]] : indptr[what[n] + 1]]
        if len(own):
            out[n], state = _draw(user[who[n]], own, value, candidates, state)
    return out
