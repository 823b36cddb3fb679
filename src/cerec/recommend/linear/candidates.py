"""A sample of validation users with the items that could be in their lists, and the parts of
their scores: what settings are chosen by.

For every user the sample holds the held-out items, the best items by history and by attributes,
the most popular ones, and random ones. A list made of these is nearly always the true list, and
trying other weights costs a product instead of a pass over the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.linear.fit import Chosen, FitMaterial, build
from cerec.recommend.linear.itemitem import Pairs, no_pairs
from cerec.recommend.linear.model import Linear
from cerec.recommend.protocol import Doubles
from cerec.rng import generator
from cerec.threads import in_chunks

HARD, POPULAR, RANDOM = 150, 50, 200
K = 20
_BLOCK = 1 << 27  # bytes of scores and effects held at once


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """n users, c candidates in all."""

    users: NDArray[np.int64]
    indptr: NDArray[np.int64]
    """(n + 1,) candidates of each user."""
    item: NDArray[np.int32]
    """(c,)"""
    held_out: NDArray[np.bool_]
    """(c,) whether the user took it later."""
    n_held_out: NDArray[np.int64]
    """(n,) items held out of each user."""
    log_weight: Doubles
    """(c,) for how many items a random candidate stands, as a logarithm."""
    history: Doubles
    """(c,) the part of the score from the history."""
    popularity: Doubles
    """(c,)"""
    relations: NDArray[np.int64]
    """(R,) relation rows."""
    relation: Doubles
    """(c, R) the part of each relation, of weight one."""

    def ndcg(self, parts: Doubles, weights: Sequence[float] = (1.0,)) -> float:
        """Mean NDCG@20 of the lists that weighted parts (P, c) of the scores make."""
        out = np.zeros(len(self.users))
        args = (
            np.atleast_2d(parts),
            np.array(weights),
            self.indptr,
            self.held_out,
            self.n_held_out,
            K,
        )
        in_chunks(len(out), lambda a, b: _ndcg(*args, a, b, out), chunk=500)
        return float(out.mean()) if len(out) else 0.0

    def factors(self, user: Doubles, item: Doubles) -> Doubles:
        """(c,) dot products of the vectors of the sample's users and of all items."""
        out = np.empty(len(self.item))
        args = self.indptr, self.item, user, item
        in_chunks(len(self.users), lambda a, b: _products(*args, a, b, out))
        return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _products(indptr, items, user, item, first, last, out):  # type: ignore[no-untyped-def]
    for u in range(first, last):
        for p in range(indptr[u], indptr[u + 1]):
            total = 0.0
            for k in range(user.shape[1]):
                total += user[u, k] * item[items[p], k]
            out[p] = total


def validation_users(held_out: Ragged, history: Ragged, most: int) -> NDArray[np.int64]:
    """Users with something to learn from and something held out, at most so many."""
    users = np.flatnonzero((held_out.counts > 0) & (history.counts > 0))
    if len(users) <= most:
        return users
    return np.sort(generator(0, "linear/validation users").choice(users, most, replace=False))


def draw_sample(material: FitMaterial, held_out: Ragged, pairs: Pairs, most: int) -> Sample:
    """Candidates of up to `most` users, and the parts of their scores."""
    m = material
    users = validation_users(held_out, m.history, most)
    found, code = np.unique(m.relation, return_inverse=True)
    alike = Chosen(popularity=0.0, relations=dict.fromkeys(found.tolist(), 1.0))
    by_history = Linear(build(m, Chosen(popularity=0.0), pairs=pairs))
    by_values = Linear(build(m, alike, pairs=no_pairs(m.n_items)))
    popular = m.popularity()
    rng = generator(0, "linear/candidates")
    items: list[NDArray[np.int32]] = []
    parts: list[Doubles] = []
    values: list[Doubles] = []
    weights: list[Doubles] = []
    for block in _blocks(users, m):
        history = by_history.scores(block)
        attributes, effect = by_values.both(block)
        for row, user in enumerate(block.tolist()):
            known, wanted = m.history.row(user), held_out.row(user)
            chosen, weight = _candidates(
                (history[row], attributes[row], popular), known, wanted, rng
            )
            items.append(chosen)
            weights.append(weight)
            parts.append(history[row, chosen])
            values.append(
                _by_relation(
                    chosen,
                    effect[row],
                    m.of_item.indptr,
                    m.of_item.indices,
                    m.scale,
                    code,
                    len(found),
                )
            )
    counts = [len(chosen) for chosen in items]
    n_held = held_out.counts[users]
    item = np.concatenate(items) if items else np.zeros(0, np.int32)
    marks = [np.arange(n) < held for n, held in zip(counts, n_held.tolist(), strict=True)]
    return Sample(
        users=users,
        indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        item=item,
        held_out=np.concatenate(marks) if marks else np.zeros(0, bool),
        n_held_out=n_held,
        log_weight=np.concatenate(weights) if weights else np.zeros(0),
        history=np.concatenate(parts) if parts else np.zeros(0),
        popularity=popular[item],
        relations=found.astype(np.int64),
        relation=np.concatenate(values) if values else np.zeros((0, len(found))),
    )


def _blocks(users: NDArray[np.int64], m: FitMaterial) -> list[NDArray[np.int64]]:
    per_user = 8 * (3 * m.n_items + 2 * len(m.vocabulary) + 1)
    size = max(1, _BLOCK // per_user)
    return [users[start : start + size] for start in range(0, len(users), size)]


def _candidates(
    parts: tuple[Doubles, ...],
    known: NDArray[np.int32],
    wanted: NDArray[np.int32],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int32], Doubles]:
    """Held-out items first, then the best by every part, then random ones with their weights."""
    free = np.ones(len(parts[0]), bool)
    free[known] = False
    free[wanted] = False
    hard = np.zeros(len(free), bool)
    for part, most in zip(parts, (HARD, HARD, POPULAR), strict=True):
        masked = np.where(free, part, -np.inf)
        most = min(most, int(free.sum()))
        if most:
            hard[np.argpartition(-masked, most - 1)[:most]] = True
    hard &= free
    rest = np.flatnonzero(free & ~hard)
    drawn = rng.choice(rest, min(RANDOM, len(rest)), replace=False)
    weight = np.log(len(rest) / len(drawn)) if len(drawn) else 0.0
    chosen = np.concatenate([wanted, np.flatnonzero(hard), drawn]).astype(np.int32)
    log_weight = np.zeros(len(chosen))
    log_weight[len(chosen) - len(drawn) :] = weight
    return chosen, log_weight


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _by_relation(items, effect, value_ptr, value, scale, code, n_relations):  # type: ignore[no-untyped-def]
    out = np.zeros((len(items), n_relations))
    for n in range(len(items)):
        i = items[n]
        for q in range(value_ptr[i], value_ptr[i + 1]):
            out[n, code[value[q]]] += scale[i] * effect[value[q]]
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _ndcg(parts, weights, indptr, held_out, n_held_out, k, first, last, out):  # type: ignore[no-untyped-def]
    for u in range(first, last):
        start = indptr[u]
        score = np.zeros(indptr[u + 1] - start)
        for n in range(len(weights)):
            x, part = weights[n], parts[n, start : indptr[u + 1]]
            for c in range(len(score)):
                score[c] += x * part[c]
        best = np.full(k, -np.inf)
        hit = np.zeros(k, np.bool_)
        for c in range(len(score)):
            if score[c] <= best[k - 1]:
                continue
            at = k - 1
            while at > 0 and best[at - 1] < score[c]:
                best[at], hit[at] = best[at - 1], hit[at - 1]
                at -= 1
            best[at], hit[at] = score[c], held_out[start + c]
        found, ideal = 0.0, 0.0
        for place in range(k):
            gain = 1.0 / np.log2(place + 2.0)
            if hit[place]:
                found += gain
            if place < n_held_out[u]:
                ideal += gain
        out[u] = found / ideal


def relation_weights(sample: Sample, pull: float = 1e-3) -> tuple[Doubles, float]:
    """(R,) weights of the relations beside a history of weight one, none negative, and that of
    popularity: one softmax regression of what users took later against the other candidates.

    Random candidates stand for all items they were drawn from, so their weight is corrected.
    """
    from scipy.optimize import minimize  # half a second to import

    features = np.c_[sample.history, sample.popularity, sample.relation]
    spread = np.maximum(features.std(axis=0), 1e-9)
    taken, other = sample.held_out, ~sample.held_out
    row = np.repeat(np.arange(len(sample.users)), np.diff(sample.indptr))
    one = _Side(features[taken] / spread, row[taken])
    rest = _Side(features[other] / spread, row[other])
    share = 1.0 / sample.n_held_out[one.row] / len(sample.users)
    args = one, rest, sample.log_weight[other], share, len(sample.users), pull
    start = np.zeros(features.shape[1])
    start[0] = 1.0
    bounds = [(0.0, None)] * len(start)
    found = minimize(
        _loss,
        start,
        args=args,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 150},
    )
    weight = found.x / spread
    if weight[0] <= 0:
        return np.ones(len(sample.relations)), 0.1
    return weight[2:] / weight[0], float(weight[1] / weight[0])


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    feature: Doubles
    row: NDArray[np.int64]


def _loss(
    weight: Doubles,
    one: _Side,
    rest: _Side,
    log_weight: Doubles,
    share: Doubles,
    n: int,
    pull: float,
) -> tuple[float, Doubles]:
    """Cross-entropy of each held-out item against the other candidates, and its gradient."""
    up, down = one.feature @ weight, rest.feature @ weight + log_weight
    top = np.full(n, -np.inf)
    np.maximum.at(top, rest.row, down)
    np.maximum.at(top, one.row, up)
    e_down, e_up = np.exp(down - top[rest.row]), np.exp(up - top[one.row])
    total = np.bincount(rest.row, e_down, minlength=n)[one.row] + e_up
    loss = -float((share * (up - top[one.row] - np.log(total))).sum()) + pull * float(
        weight @ weight
    )
    pressed = np.bincount(one.row, share / total, minlength=n)[rest.row] * e_down
    gradient = one.feature.T @ (share * (e_up / total - 1.0)) + rest.feature.T @ pressed
    return loss, gradient + 2.0 * pull * weight
