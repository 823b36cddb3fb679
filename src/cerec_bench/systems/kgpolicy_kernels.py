"""The inner loops of KGPolicy: action lists, exploration by attention, and its gradient.

From node e, user u goes to action x with probability softmax of g_u . LeakyReLU(g_e * g_x) over
e's action list. With slope s, LeakyReLU(y) = (1+s)/2 y + (1-s)/2 |y|, so a score is two dot
products with a query made once per hop. B walks, T steps of two hops, W actions, d width.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.recommend.base import Rows, Vectors
from cerec.recommend.draws import below, holds, unknown_item

Long = NDArray[np.int64]
State = NDArray[np.uint64]

BUFFERS = 4
_ODD = np.uint64(0xD1B54A32D192ED03)
_JIT = {
    "cache": True,
    "error_model": "numpy",
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz"},
}


class Policy(NamedTuple):
    """What decides a hop."""

    h: Vectors
    """(N, d) node vectors."""
    actions: Rows
    """(N, W) nodes that may be reached."""
    slope: float
    heat: float
    """Scores are divided by it."""
    greedy: bool
    """Take the likeliest instead of drawing."""
    keep: int
    """Ends of a step that the recommender picks from."""


class Graph(NamedTuple):
    """Nodes are users, items, others; and the train items of every user."""

    n_users: int
    n_items: int
    indptr: Long
    indices: Rows


@numba.njit(**_JIT)
def action_lists(
    indptr: Long, indices: Rows, graph: Graph, near: int, random: int, state: State
) -> Rows:
    """(N, near + random): up to `near` neighbours without repeats, the rest random items."""
    n = len(indptr) - 1
    out = np.empty((n, near + random), np.int32)
    for e in range(n):
        count = indptr[e + 1] - indptr[e]
        taken = min(count, near)
        for a in range(taken):
            out[e, a] = indices[indptr[e] + a]
        for at in range(near, count):  # reservoir: every neighbour as likely
            place = below(state, at + 1)
            if place < near:
                out[e, place] = indices[indptr[e] + at]
        for a in range(taken, near + random):
            out[e, a] = graph.n_users + below(state, graph.n_items)
    return out


@numba.njit(**_JIT)
def _attend(p: Policy, user: int, node: int, query: Vectors, score: Vectors) -> float:
    """Scores of the node's actions into `score`; the log of their softmax's denominator."""
    heat = np.float32(p.heat)
    c1 = np.float32((1 + p.slope) / 2) / heat
    c2 = np.float32((1 - p.slope) / 2) / heat
    near, far = query[0], query[1]
    for k in range(p.h.shape[1]):
        near[k] = c1 * p.h[user, k] * p.h[node, k]
        far[k] = c2 * p.h[user, k] * np.abs(p.h[node, k])
    top = np.float32(-np.inf)
    for a in range(p.actions.shape[1]):
        x = p.h[p.actions[node, a]]
        total = np.float32(0)
        for k in range(len(near)):
            total += near[k] * x[k] + far[k] * np.abs(x[k])
        score[a] = total
        top = max(top, total)
    weight = 0.0
    for a in range(len(score)):
        weight += np.exp(score[a] - top)
    return float(top + np.log(weight))


@numba.njit(**_JIT)
def _unit(state: State) -> float:
    """A number in (0, 1)."""
    return (below(state, 1 << 53) + 0.5) / 9007199254740992.0


@numba.njit(**_JIT)
def _noisy(p: Policy, score: Vectors, state: State) -> Vectors:
    """Scores with Gumbel noise: their k largest are k draws without repeats from the softmax."""
    out = score.copy()
    if not p.greedy:
        for a in range(len(out)):
            out[a] -= np.float32(np.log(-np.log(_unit(state))))
    return out


@numba.njit(**_JIT)
def _prune(
    p: Policy,
    g: Graph,
    user: int,
    middle: int,
    score: Vectors,
    users: Vectors,
    items: Vectors,
    state: State,
) -> tuple[int, int]:
    """(action, item) of the best-recommended of `keep` ends; ends that are no items become random
    ones.
    """
    best, best_item, best_score = -1, -1, np.float32(0)
    order = np.argsort(-_noisy(p, score, state))
    for a in order[: p.keep]:
        j = p.actions[middle, a] - g.n_users
        if j < 0 or j >= g.n_items:
            j = below(state, g.n_items)
        total = np.float32(0)
        for k in range(users.shape[1]):
            total += users[user, k] * items[j, k]
        if best < 0 or total > best_score:
            best, best_item, best_score = a, j, total
    return best, best_item


@numba.njit(parallel=True, **_JIT)
def explore(
    p: Policy,
    g: Graph,
    user: Rows,
    item: Rows,
    users: Vectors,
    items: Vectors,
    steps: int,
    seed: int,
) -> tuple[Rows, Rows, Rows, NDArray[np.float64], Rows]:
    """(item before each step and at the end (T + 1, B), first action (T, B), second action,
    log-probability (T, B), negative (B,)).

    The negative is the last item, or a uniform one where the user knows that.
    """
    n = len(user)
    item_at = np.empty((steps + 1, n), np.int32)
    first, second = np.empty((steps, n), np.int32), np.empty((steps, n), np.int32)
    log_p = np.empty((steps, n))
    negative = np.empty(n, np.int32)
    chunk = 64
    for c in numba.prange((n + chunk - 1) // chunk):
        query = np.empty((2, p.h.shape[1]), np.float32)
        score = np.empty(p.actions.shape[1], np.float32)
        state = np.empty(1, np.uint64)
        for b in range(c * chunk, min(n, (c + 1) * chunk)):
            state[0] = np.uint64(seed) + np.uint64(b + 1) * _ODD
            u = user[b]
            item_at[0, b] = item[b]
            for t in range(steps):
                here = g.n_users + item_at[t, b]
                total = _attend(p, u, here, query, score)
                one = np.argmax(_noisy(p, score, state))
                log_p[t, b] = score[one] - total
                middle = p.actions[here, one]
                total = _attend(p, u, middle, query, score)
                two, j = _prune(p, g, u, middle, score, users, items, state)
                log_p[t, b] += score[two] - total
                first[t, b], second[t, b], item_at[t + 1, b] = one, two, j
            negative[b] = item_at[steps, b]
            if holds(g.indptr, g.indices, u, negative[b]):
                negative[b] = unknown_item(state, g.indptr, g.indices, u, g.n_items)
    return item_at, first, second, log_p, negative


@numba.njit(**_JIT)
def _push_hop(
    p: Policy,
    user: int,
    node: int,
    chosen: int,
    weight: float,
    query: Vectors,
    score: Vectors,
    pull: Vectors,
    grad: Vectors,
) -> None:
    """Add the gradient of `weight * log p(chosen)` of one hop."""
    total = _attend(p, user, node, query, score)
    near, far, d = query[0], query[1], p.h.shape[1]
    pull[:] = np.float32(0)
    for a in range(len(score)):
        share = -np.exp(score[a] - total)
        if a == chosen:
            share += 1.0
        c = np.float32(weight * share)
        x, out = p.h[p.actions[node, a]], grad[p.actions[node, a]]
        for k in range(d):
            out[k] += c * (near[k] + far[k] * np.sign(x[k]))
            pull[0, k] += c * x[k]
            pull[1, k] += c * np.abs(x[k])
    heat = np.float32(p.heat)
    c1 = np.float32((1 + p.slope) / 2) / heat
    c2 = np.float32((1 - p.slope) / 2) / heat
    u, e, out_u, out_e = p.h[user], p.h[node], grad[user], grad[node]
    for k in range(d):
        out_u[k] += c1 * e[k] * pull[0, k] + c2 * np.abs(e[k]) * pull[1, k]
        out_e[k] += u[k] * (c1 * pull[0, k] + c2 * np.sign(e[k]) * pull[1, k])


@numba.njit(parallel=True, **_JIT)
def push_back(
    p: Policy,
    n_users: int,
    user: Rows,
    item_at: Rows,
    first: Rows,
    second: Rows,
    weight: NDArray[np.float64],
    buffers: Vectors,
) -> None:
    """Add the gradient of `sum of weight * log_p` by the node vectors to `buffers` (4, N, d)."""
    n = len(user)
    for c in numba.prange(len(buffers)):
        query, pull = (
            np.empty((2, p.h.shape[1]), np.float32),
            np.empty((2, p.h.shape[1]), np.float32),
        )
        score = np.empty(p.actions.shape[1], np.float32)
        for b in range(c * n // len(buffers), (c + 1) * n // len(buffers)):
            for t in range(len(first)):
                here = n_users + item_at[t, b]
                middle = p.actions[here, first[t, b]]
                w = weight[t, b]
                _push_hop(p, user[b], here, first[t, b], w, query, score, pull, buffers[c])
                _push_hop(p, user[b], middle, second[t, b], w, query, score, pull, buffers[c])
