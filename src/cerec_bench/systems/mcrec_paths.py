"""Path instances between a user and an item along meta-paths, for MCRec.

Meta-paths: user-item-user-item, and user-item-value-item for the most frequent relations. Nodes
are numbered users, items, values of `Facts`. The priority walk goes on only to the neighbours most
similar to the node it stands on; of the instances found, those with the highest mean similarity of
consecutive nodes are kept. The pair's own edge is never part of a path, so that a liked item looks
like any other. B pairs, P meta-paths, K instances, d width of the node vectors.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import Rows, Vectors
from cerec.recommend.draws import holds

_FAST = {"reassoc", "contract", "nsz"}


class PathFinder:
    """Finds instances by the similarity of (frozen) node vectors."""

    def __init__(
        self,
        vectors: Vectors,
        known: Ragged,
        facts: Facts,
        *,
        relations: int,
        beam: int,
        instances: int,
    ) -> None:
        n_users, n_items = len(known), len(facts.of_item)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._unit = (vectors / np.maximum(length, 1e-12)).astype(np.float32)
        user, item = self._unit[:n_users], self._unit[n_users : n_users + n_items]
        self._items_near = _beam(user, item, known.indptr, known.indices, beam + 1)
        takers = known.transpose(n_items)
        self._users_near = _beam(item, user, takers.indptr, takers.indices, beam + 1)
        self.relations = frequent(facts, relations)
        slot = np.full(int(facts.relation.max(initial=-1)) + 1, -1, np.int32)
        slot[self.relations] = 1 + np.arange(len(self.relations), dtype=np.int32)
        self._slot = slot[facts.relation]
        self._known, self._facts, self._instances = known, facts, instances

    @property
    def n_paths(self) -> int:
        """Meta-paths: user-item-user-item, and one per relation."""
        return 1 + len(self.relations)

    def find(self, user: Rows, item: Rows) -> Rows:
        """(B, P, K, 4) nodes of up to K instances per pair and meta-path, best first, else -1."""
        of_item = self._facts.of_item
        return _find(
            user,
            item,
            self._unit,
            self._items_near,
            self._users_near,
            self._known.indptr,
            self._known.indices,
            of_item.indptr,
            of_item.indices,
            self._slot,
            self.n_paths,
            self._instances,
        )


def frequent(facts: Facts, most: int) -> NDArray[np.int64]:
    """The relations with most facts, in falling order; fewer where there are fewer."""
    count = np.bincount(facts.relation[facts.of_item.indices])
    order = np.argsort(-count, kind="stable")[:most]
    return order[count[order] > 0]


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=_FAST)
def _dot(a: Vectors, i: int, b: Vectors, j: int) -> float:
    total = np.float32(0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[j, k]
    return float(total)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _beam(
    near: Vectors, far: Vectors, indptr: NDArray[np.int64], indices: Rows, width: int
) -> Rows:
    """(rows, width) entries of each row most similar to it, best first, then -1."""
    out = np.full((len(indptr) - 1, width), -1, np.int32)
    for r in range(len(indptr) - 1):
        entry = indices[indptr[r] : indptr[r + 1]]
        similar = np.empty(len(entry), np.float32)
        for at in range(len(entry)):
            similar[at] = _dot(near, r, far, entry[at])
        order = np.argsort(-similar, kind="mergesort")[:width]
        out[r, : len(order)] = entry[order]
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _keep(path: Rows, score: Vectors, value: float, second: int, third: int) -> None:
    """Insert one instance into the K best of a pair and meta-path, equals after those before."""
    at = len(score)
    while at > 0 and (path[at - 1, 1] < 0 or score[at - 1] < value):
        at -= 1
    if at == len(score):
        return
    for k in range(len(score) - 1, at, -1):
        score[k] = score[k - 1]
        path[k] = path[k - 1]
    score[at], path[at, 1], path[at, 2] = value, second, third


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _by_value(
    unit: Vectors,
    n_users: int,
    mid: int,
    item: int,
    start: float,
    indptr: NDArray[np.int64],
    values: Rows,
    slot: Rows,
    paths: Rows,
    score: Vectors,
) -> None:
    """Add the instances over each value that both items have."""
    first_value = n_users + len(indptr) - 1
    x, y = indptr[mid], indptr[item]
    while x < indptr[mid + 1] and y < indptr[item + 1]:
        if values[x] != values[y]:
            x, y = x + (values[x] < values[y]), y + (values[y] < values[x])
            continue
        v, p = first_value + values[x], slot[values[x]]
        x, y = x + 1, y + 1
        if p >= 0:
            total = start + _dot(unit, n_users + mid, unit, v)
            total += _dot(unit, v, unit, n_users + item)
            _keep(paths[p], score[p], total, n_users + mid, v)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _find(
    user: Rows,
    item: Rows,
    unit: Vectors,
    items_near: Rows,
    users_near: Rows,
    indptr: NDArray[np.int64],
    indices: Rows,
    value_indptr: NDArray[np.int64],
    values: Rows,
    slot: Rows,
    n_paths: int,
    instances: int,
) -> Rows:
    n_users = len(indptr) - 1
    out = np.full((len(user), n_paths, instances, 4), -1, np.int32)
    score = np.empty((n_paths, instances), np.float32)
    for b in range(len(user)):
        u, i = user[b], item[b]
        for mid in items_near[u]:
            if mid < 0 or mid == i:
                continue
            start = _dot(unit, u, unit, n_users + mid)
            for other in users_near[mid]:
                if other >= 0 and other != u and holds(indptr, indices, other, i):
                    total = start + _dot(unit, n_users + mid, unit, other)
                    total += _dot(unit, other, unit, n_users + i)
                    _keep(out[b, 0], score[0], total, n_users + mid, other)
            _by_value(unit, n_users, mid, i, start, value_indptr, values, slot, out[b], score)
        for p in range(n_paths):
            for k in range(instances):
                if out[b, p, k, 1] >= 0:
                    out[b, p, k, 0], out[b, p, k, 3] = u, n_users + i
    return out
