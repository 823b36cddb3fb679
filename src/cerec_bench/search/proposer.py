"""Who names the counterfactual items that the verifier tries."""

from __future__ import annotations

from itertools import islice
from typing import Protocol

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.walk.paths import Proposals


class Proposer(Protocol):
    """Names up to `width` candidate items for each pair; the verifier decides."""

    def propose(
        self,
        user: NDArray[np.int64],
        item: NDArray[np.int64],
        excluded: Ragged,
        width: int,
    ) -> Proposals:
        """Candidates for pairs (user[b], item[b]), none of them in `excluded.row(b)`."""
        ...


class NeighbourProposer:
    """The most similar items that share a value, for recommenders without a trained agent."""

    def __init__(self, facts: Facts, unit: NDArray[np.float32], keep: int = 256) -> None:
        """`unit`: item vectors of length one. At most `keep` neighbours of an item are held."""
        self._facts, self._unit, self._keep = facts, unit, keep
        self._near: dict[int, list[int]] = {}

    def propose(
        self,
        user: NDArray[np.int64],
        item: NDArray[np.int64],
        excluded: Ragged,
        width: int,
    ) -> Proposals:
        """The same for every user, but for what is excluded."""
        rows = []
        for b in range(len(user)):
            barred = set(excluded.row(b).tolist())
            near = (j for j in self._neighbours(int(item[b])) if j not in barred)
            rows.append(list(islice(near, width)))
        indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        found = np.array([j for row in rows for j in row], np.int32)
        # the shared value is looked up for the one candidate that is shown
        return Proposals(indptr, found, np.zeros((len(found), 0, 2), np.int32))

    def _neighbours(self, item: int) -> list[int]:
        near = self._near.get(item)
        if near is None:
            near = self._near[item] = self._search(item).tolist()
        return near

    def _search(self, item: int) -> NDArray[np.int32]:
        of_item, holders = self._facts.of_item, self._facts.holders
        shares = _sharing(of_item.row(item), holders.indptr, holders.indices, len(of_item))
        shares[item] = False
        rows = np.flatnonzero(shares)
        order = np.argsort(-(self._unit[rows] @ self._unit[item]), kind="stable")
        return np.asarray(rows[order][: self._keep], np.int32)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _sharing(
    values: NDArray[np.int32], indptr: NDArray[np.int64], indices: NDArray[np.int32], n_items: int
) -> NDArray[np.bool_]:
    """(I,) true for items that hold any of the values."""
    out = np.zeros(n_items, np.bool_)
    for v in values:
        for at in range(indptr[v], indptr[v + 1]):
            out[indices[at]] = True
    return out


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows scaled to length one; rows of zeros stay zero."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, np.float32(1e-30)), np.float32)


def walk_to(facts: Facts, item: int, candidate: int) -> NDArray[np.int32]:
    """(T, 2) the shortest walk by facts: through the rarest shared attribute, else none."""
    own, other = facts.of_item.row(item), facts.of_item.row(candidate)
    shared = np.intersect1d(own, other, assume_unique=True)
    if len(shared) == 0:
        return np.zeros((0, 2), np.int32)
    rarest = shared[np.argmin(facts.holders.counts[shared])]
    return np.array([[facts.attribute[rarest], candidate]], np.int32)
