"""Episodes of KGQR's simulated users, replay, and the candidates to choose from.

A simulated user starts with some of their train items as history and likes exactly the rest of
them. An episode is kept as what was shown and how it was received: any state on its way, and what
was shown until then, follows from that. B episodes, S history, T steps, L = S + T, C candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import Rows
from cerec.recommend.draws import TRIES, below, fresh_state, holds, walk
from cerec_bench.systems.weights import State, array, fetch


@dataclass(frozen=True, slots=True, eq=False)
class Episodes:
    """B episodes as parallel arrays."""

    user: Rows
    start: Rows
    """(B, S) history, -1 after its end."""
    action: Rows
    """(B, T) item shown at each step."""
    hit: NDArray[np.bool_]
    """(B, T) whether it was liked."""
    reward: NDArray[np.float32]
    """(B, T)."""

    def liked(self, steps: NDArray[np.integer]) -> Rows:
        """(B, L) history and liked items of the first `steps` (B,) steps, -1 after the end."""
        seen = np.arange(self.action.shape[1]) < steps[:, None]
        found = np.where(self.hit & seen, self.action, np.int32(-1))
        return _packed(np.concatenate([self.start, found], axis=1))

    def shown(self, steps: NDArray[np.integer]) -> Rows:
        """(B, L) all that was seen in history and the first `steps` steps; -1 elsewhere."""
        seen = np.arange(self.action.shape[1]) < steps[:, None]
        return np.concatenate([self.start, np.where(seen, self.action, np.int32(-1))], axis=1)

    def take(self, rows: NDArray[np.integer]) -> Episodes:
        """Some of the episodes."""
        return Episodes(
            self.user[rows], self.start[rows], self.action[rows], self.hit[rows], self.reward[rows]
        )

    def followed_by(self, other: Episodes, most: int) -> Episodes:
        """Both, the oldest dropped beyond `most`."""
        return Episodes(
            *(
                np.concatenate([getattr(self, name), getattr(other, name)])[-most:]
                for name in self.__slots__
            )
        )

    def state(self) -> State:
        """As float32 arrays; item numbers stay exact below 2^24."""
        return {f"replay.{name}": getattr(self, name).astype(np.float32) for name in self.__slots__}

    @staticmethod
    def from_state(state: State) -> Episodes:
        """Back from `state`."""
        user, start, action, hit, reward = (
            array(fetch(state, f"replay.{name}")) for name in Episodes.__slots__
        )
        rows = (user.astype(np.int32), start.astype(np.int32), action.astype(np.int32))
        return Episodes(*rows, hit > 0, reward)

    @staticmethod
    def none(history: int, length: int) -> Episodes:
        """No episodes."""
        return Episodes(
            np.empty(0, np.int32),
            np.empty((0, history), np.int32),
            np.empty((0, length), np.int32),
            np.empty((0, length), np.bool_),
            np.empty((0, length), np.float32),
        )


def _packed(rows: Rows) -> Rows:
    """Entries of at least 0 first, in their order, then -1."""
    order = np.argsort(rows < 0, axis=1, kind="stable")
    return np.take_along_axis(rows, order, axis=1)


def histories(
    user: NDArray[np.integer],
    known: Ragged,
    share: NDArray[np.floating],
    most: int,
    rng: np.random.Generator,
) -> Rows:
    """(B, most) a random part of each user's train items, in random order: `share` (B,) of them."""
    out = np.full((len(user), most), -1, np.int32)
    for b, u in enumerate(user):
        items = known.row(int(u))
        n = min(most, round(float(share[b]) * len(items)))
        out[b, :n] = rng.permutation(items)[:n]
    return out


class Candidates:
    """Draws sets to choose from: popular items, items that share a value with a liked one, and
    some the simulated user will like (their share stands in for the dense ratings of the
    original's simulator); never one that was shown.
    """

    def __init__(
        self, known: Ragged, facts: Facts, *, popular: int, count: int, planted: float
    ) -> None:
        n_items = len(facts.of_item)
        taken = np.bincount(known.indices, minlength=n_items)
        self.popular = np.argsort(-taken, kind="stable")[:popular].astype(np.int32)
        self.count = min(count, n_items)
        self._known, self._facts, self._planted = known, facts, planted

    def draw(self, user: Rows, liked: Rows, shown: Rows, rng: np.random.Generator) -> Rows:
        """(B, C) distinct items, -1 after the end where fewer were found."""
        facts = self._facts
        return _candidates(
            user,
            liked,
            shown,
            self.popular,
            self._known.indptr,
            self._known.indices,
            facts.of_item.indptr,
            facts.of_item.indices,
            facts.holders.indptr,
            facts.holders.indices,
            self.count,
            self._planted,
            fresh_state(rng),
        )


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _candidates(
    user: Rows,
    liked: Rows,
    shown: Rows,
    popular: Rows,
    indptr: NDArray[np.int64],
    indices: Rows,
    value_indptr: NDArray[np.int64],
    values: Rows,
    holder_indptr: NDArray[np.int64],
    holders: Rows,
    count: int,
    planted: float,
    state: NDArray[np.uint64],
) -> Rows:
    out = np.full((len(user), count), -1, np.int32)
    mark = np.zeros(len(value_indptr) - 1, np.int64)
    for b in range(len(user)):
        stamp = b + 1
        for s in shown[b]:
            if s >= 0:
                mark[s] = stamp
        n_liked = 0
        for s in liked[b]:
            n_liked += s >= 0
        first = indptr[user[b]]
        n_known = indptr[user[b] + 1] - first
        found, from_user = 0, int(planted * count)
        for tries in range(8 * count):
            if found == count:
                break
            if found < from_user and tries < 4 * from_user and n_known > 0:
                j = indices[first + below(state, n_known)]
            elif n_liked > 0 and tries % 2:
                at = liked[b, below(state, n_liked)]
                j = walk(state, at, 1, value_indptr, values, holder_indptr, holders)
            else:
                j = popular[below(state, len(popular))]
            if j >= 0 and mark[j] != stamp:
                mark[j] = stamp
                out[b, found] = j
                found += 1
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def unseen_items(shown: Rows, n_items: int, state: NDArray[np.uint64]) -> Rows:
    """Any item not yet shown, uniformly, per row; an item shown before only where all were."""
    out = np.empty(len(shown), np.int32)
    for b in range(len(shown)):
        for _ in range(TRIES):
            out[b] = below(state, n_items)
            if not (shown[b] == out[b]).any():
                break
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def likes(
    user: Rows, item: Rows, shown: Rows, indptr: NDArray[np.int64], indices: Rows
) -> NDArray[np.bool_]:
    """Whether each user knows the item and has not been shown it."""
    out = np.empty(len(user), np.bool_)
    for b in range(len(user)):
        out[b] = holds(indptr, indices, user[b], item[b]) and not (shown[b] == item[b]).any()
    return out
