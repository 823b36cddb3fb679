"""What users mean: vectors of users and values learned from meta-path walks, for CaDSI.

One aspect for each of the most frequent relations and one for all others together. In aspect r,
walks go user-item-value-item-user-...; skip-gram with negative sampling makes x_n . y_m large for
nodes n and m that walks bring together, against nodes of m's own kind drawn by how often walks
visit them (to the power 3/4). p_r(u) is x of the user, and the vector of a value is its y, so that
their product tells how much more often than by chance the user's walks meet the value. U users, I
items, V values, A aspects, d width.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import Rows, Vectors
from cerec.recommend.draws import TRIES, below, fresh_state
from cerec.rng import generator
from cerec_bench.systems.mcrec_paths import frequent

_JIT = {"cache": True, "error_model": "numpy", "nogil": True}
_FAST = {"reassoc", "contract", "nsz"}
_RATE = 0.1  # falls to nothing, line by line
_WINDOW = 3  # steps between nodes brought together: a user, and the values of their items
_WRONG = 5  # negatives for each pair
_HOPS = 4  # user-item-value-item-user


@dataclass(frozen=True, slots=True, eq=False)
class Semantics:
    """Frozen vectors of one train part."""

    user: Vectors
    """(A, U, d) p_r(u)."""
    value: Vectors
    """(V, d) each value in the aspect of its relation."""


def aspects_of(facts: Facts, relations: int) -> Rows:
    """(V,) the aspect of each value: its relation's place among the most frequent, or the last
    for all others. Aspects without values are left out.
    """
    chosen = frequent(facts, relations)
    slot = np.full(int(facts.relation.max(initial=-1)) + 1, len(chosen), np.int32)
    slot[chosen] = np.arange(len(chosen), dtype=np.int32)
    return slot[facts.relation]


def learn_semantics(
    known: Ragged, facts: Facts, aspect: Rows, *, dim: int, walks: int, hops: int, seed: int
) -> Semantics:
    """Vectors by `walks` walks of `hops` user-to-user hops from every user, in every aspect."""
    n_aspects = int(aspect.max(initial=-1)) + 1
    user = np.zeros((n_aspects, len(known), dim), np.float32)
    value = np.zeros((facts.n_values, dim), np.float32)
    for a in range(n_aspects if walks else 0):
        mine = np.flatnonzero(aspect == a)
        rng = generator(seed, f"cadsi/aspect/{a}")
        user[a], value[mine] = _learn(known, facts, mine, dim, walks, hops, rng)
    return Semantics(user, value)


def _learn(
    known: Ragged,
    facts: Facts,
    mine: NDArray[np.int64],
    dim: int,
    walks: int,
    hops: int,
    rng: np.random.Generator,
) -> tuple[Vectors, Vectors]:
    """Vectors (U, d) and (values of the aspect, d) of one aspect."""
    n_users, n_items = len(known), len(facts.of_item)
    place = np.full(facts.n_values, -1, np.int32)
    place[mine] = np.arange(len(mine), dtype=np.int32)
    here = place[facts.of_item.indices] >= 0
    has = Ragged.from_pairs(
        facts.of_item.row_of()[here], place[facts.of_item.indices[here]], n_items
    )
    start = rng.permutation(np.tile(np.arange(n_users, dtype=np.int32), walks))
    visited = walk(known, has, start, hops, rng)
    sizes = np.array([0, n_users, n_users + n_items, n_users + n_items + len(mine)])
    often = np.bincount(visited[visited >= 0], minlength=sizes[-1]) ** 0.75
    reach = np.concatenate([np.cumsum(often[a:b]) for a, b in pairwise(sizes)])
    x = ((rng.random((sizes[-1], dim), np.float32) - 0.5) / dim).astype(np.float32)
    y = np.zeros((sizes[-1], dim), np.float32)
    _skip_gram(visited, sizes, reach, x, y, fresh_state(rng))
    return x[:n_users], y[n_users + n_items :]


def walk(known: Ragged, has: Ragged, start: Rows, hops: int, rng: np.random.Generator) -> Rows:
    """(len(start), 4 hops + 1) nodes of the walks, -1 after one that cannot go on.

    Nodes: users, items, values of `has` (item -> values).
    """
    takers = known.transpose(len(has))
    holders = has.transpose(int(has.indices.max(initial=-1)) + 1)
    return _walk(
        start,
        hops,
        known.indptr,
        known.indices,
        has.indptr,
        has.indices,
        holders.indptr,
        holders.indices,
        takers.indptr,
        takers.indices,
        fresh_state(rng),
    )


@numba.njit(**_JIT)
def _pick(
    state: NDArray[np.uint64],
    indptr: NDArray[np.int64],
    indices: Rows,
    row: int,
    onward: NDArray[np.int64],
) -> int:
    """A random entry of a row that leads on (has entries in `onward`); -1 when none is found."""
    n = indptr[row + 1] - indptr[row]
    for _ in range(TRIES if n > 0 else 0):
        entry = indices[indptr[row] + below(state, n)]
        if onward[entry + 1] > onward[entry]:
            return int(entry)
    return -1


@numba.njit(**_JIT)
def _walk(
    start: Rows,
    hops: int,
    known_at: NDArray[np.int64],
    known: Rows,
    has_at: NDArray[np.int64],
    has: Rows,
    holders_at: NDArray[np.int64],
    holders: Rows,
    takers_at: NDArray[np.int64],
    takers: Rows,
    state: NDArray[np.uint64],
) -> Rows:
    n_users, n_items = len(known_at) - 1, len(has_at) - 1
    out = np.full((len(start), _HOPS * hops + 1), -1, np.int32)
    for w in range(len(start)):
        u = start[w]
        out[w, 0] = u
        for at in range(0, _HOPS * hops, _HOPS):
            i = _pick(state, known_at, known, u, has_at)
            if i < 0:
                break
            v = _pick(state, has_at, has, i, holders_at)
            j = _pick(state, holders_at, holders, v, takers_at)
            out[w, at + 1], out[w, at + 2] = n_users + i, n_users + n_items + v
            if j < 0:
                break
            u = _pick(state, takers_at, takers, j, known_at)
            out[w, at + 3], out[w, at + 4] = n_users + j, u
    return out


@numba.njit(**_JIT)
def _negative(
    node: int, sizes: NDArray[np.int64], reach: NDArray[np.float64], state: NDArray[np.uint64]
) -> int:
    """A node of the same kind, by how often it is visited."""
    kind = 0 if node < sizes[1] else (1 if node < sizes[2] else 2)
    low, high = sizes[kind], sizes[kind + 1]
    goal = reach[high - 1] * (below(state, 1 << 30) / (1 << 30))
    return int(low + np.searchsorted(reach[low:high], goal, side="right"))


@numba.njit(fastmath=_FAST, **_JIT)
def pull(x: Vectors, y: Vectors, label: float, rate: float, to_x: Vectors) -> None:
    """One step on log sigmoid(+- x . y): y moves at once, what x is owed gathers in `to_x`."""
    total = np.float32(0)
    for j in range(len(x)):
        total += x[j] * y[j]
    g = np.float32(rate * (label - 1 / (1 + np.exp(-total))))
    for j in range(len(x)):
        to_x[j] += g * y[j]
        y[j] += g * x[j]


@numba.njit(**_JIT)
def _skip_gram(
    visited: Rows,
    sizes: NDArray[np.int64],
    reach: NDArray[np.float64],
    x: Vectors,
    y: Vectors,
    state: NDArray[np.uint64],
) -> None:
    n, length = visited.shape
    to_x = np.zeros(x.shape[1], np.float32)
    for w in range(n):
        rate = _RATE * max(1 - w / n, 1e-2)
        for at in range(length):
            if visited[w, at] < 0:
                break
            near = x[visited[w, at]]
            for other in range(max(at - _WINDOW, 0), min(at + _WINDOW + 1, length)):
                m = visited[w, other]
                if other == at or m < 0:
                    continue
                to_x[:] = 0
                pull(near, y[m], 1.0, rate, to_x)
                for _ in range(_WRONG):
                    wrong = _negative(m, sizes, reach, state)
                    if wrong != m:
                        pull(near, y[wrong], 0.0, rate, to_x)
                for j in range(len(near)):
                    near[j] += to_x[j]
