"""Walks item -> attribute -> item over the graph, drawn by the two-step attention.

B walks, T steps, N nodes, d width of the node vectors. A walk never goes to the item it stands
on nor to one of its list (the user's recommendations `Q_u`), and never enters an attribute that
leads nowhere else: the first step offers only attributes with an allowed item behind them, so the
probabilities of what can be drawn add up to one. Where there is no such attribute the walk ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.data.ckg import Ckg
from cerec.data.ragged import Ragged
from cerec.walk.kernels import Hop, Rows

_CHUNK_ROWS, _MOST_CHUNKS = 512, 64
FEW = 10
"""An attribute of so few items is no hub, however few there are in all."""


@dataclass(frozen=True, slots=True, eq=False)
class Walks:
    """B walks of up to T steps, in the order they were asked for."""

    user: NDArray[np.int32]
    """(B,)."""
    item: NDArray[np.int32]
    """(T + 1, B): the start, then the item after each step; an ended walk stays where it is."""
    attribute: NDArray[np.int32]
    """(T, B): entity passed in each step; -1 where the walk had ended."""
    log_p: NDArray[np.float64]
    """(T, B): log-probability of each step; 0 where the walk had ended."""
    surprise: NDArray[np.float64]
    """(T, B): -log-probability of both hops of a step, each over the log of its number of choices;
    1 + 1 on average where all are as likely."""

    @property
    def moved(self) -> NDArray[np.bool_]:
        """(T, B): whether the walk took that step."""
        return self.attribute >= 0

    @property
    def steps(self) -> NDArray[np.int64]:
        """(B,) steps taken; 0 for a walk that could not start."""
        return self.moved.sum(axis=0)

    @property
    def end(self) -> NDArray[np.int32]:
        """(B,) last item: the counterfactual item, where `steps` is not 0."""
        return self.item[-1]


@dataclass(frozen=True, slots=True, eq=False)
class Proposals:
    """Candidates of a batch of user-item pairs, and the walk from the item to each."""

    indptr: NDArray[np.int64]
    """(B + 1,) candidates of pair b are the rows `indptr[b]:indptr[b + 1]`, best first."""
    item: NDArray[np.int32]
    """(N,) candidate items."""
    path: NDArray[np.int32]
    """(N, T, 2) attribute (entity row) and item of each hop; -1 after the end of a walk."""

    def of(self, pair: int) -> slice:
        """The rows of one pair."""
        return slice(int(self.indptr[pair]), int(self.indptr[pair + 1]))


class PathSampler:
    """The paper's counterfactual path sampler, eq. (9) to (13), over one graph."""

    def __init__(
        self,
        graph: Ckg,
        *,
        slope: float = 0.2,
        directed: bool = False,
        uniform: bool = False,
        widest: float = 1.0,
    ) -> None:
        """`directed`: likeness to the item the walk stands on counts, too. `uniform`: equal chances
        instead of attention. Attributes on more than a share `widest` of all items are left out.
        """
        self.graph, self.slope = graph, slope
        items, entities = graph.n_users, graph.n_users + graph.n_items
        far = without_hubs(graph, widest)
        near = far.transpose(graph.n_items)
        onward, nothing = (far.indptr, far.indices), (np.zeros(1, np.int64), far.indices[:0])
        self.hops = (
            Hop(near.indptr, near.indices, items, entities, *onward, items, directed, uniform),
            Hop(far.indptr, far.indices, entities, items, *nothing, items, directed, uniform),
        )
        self._logs = tuple(np.log(np.maximum([*rows.counts, 2], 2)) for rows in (near, far))

    def walk(
        self,
        h: NDArray[np.float32],
        user: NDArray[np.integer],
        item: NDArray[np.integer],
        lists: Ragged,
        *,
        depth: int,
        rng: np.random.Generator | None,
        last: Ragged | None = None,
    ) -> Walks:
        """Walks from `item` (B,) for `user` (B,); drawn with `rng`, or the likeliest if None.

        Walk b keeps off the items in row `user[b]` of `lists`; its last step keeps off those of
        `last` instead, if given.
        """
        who: NDArray[np.int32] = np.ascontiguousarray(user, np.int32)
        items = np.empty((depth + 1, len(who)), np.int32)
        attribute = np.empty((depth, len(who)), np.int32)
        log_p, surprise = np.empty((2, depth, len(who)))
        items[0] = item
        for t in range(depth):
            off = last if last is not None and t == depth - 1 else lists
            attribute[t], p1 = self._hop(0, h, who, items[t], items[t], off, rng)
            items[t + 1], p2 = self._hop(1, h, who, attribute[t], items[t], off, rng)
            log_p[t] = p1 + p2
            surprise[t] = -p1 / self._logs[0][items[t]] - p2 / self._logs[1][attribute[t]]
            ended = attribute[t] < 0
            items[t + 1][ended] = items[t][ended]
        return Walks(who, items, attribute, log_p, surprise)

    def _hop(
        self,
        step: int,
        h: NDArray[np.float32],
        user: NDArray[np.int32],
        source: NDArray[np.int32],
        current: NDArray[np.int32],
        lists: Ragged,
        rng: np.random.Generator | None,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        from cerec.walk.draw import draw  # explaining draws nothing

        order, rows = self._rows(step, user, source, current, lists)
        # One number per walk, ended or not, so that walks do not shift each other's numbers.
        noise = np.zeros(len(user)) if rng is None else rng.random(len(user))
        bounds = self._bounds(step, rows, max(1, min(_MOST_CHUNKS, len(order) // _CHUNK_ROWS)))
        where = self.hops[step], self.graph.n_items, self.slope
        picked, p = draw(h, rows, *where, noise[order], rng is None, bounds)
        choice, log_p = np.full(len(user), -1, np.int32), np.zeros(len(user))
        choice[order], log_p[order] = picked, p
        return choice, log_p

    def _rows(
        self,
        step: int,
        user: NDArray[np.int32],
        source: NDArray[np.int32],
        current: NDArray[np.int32],
        lists: Ragged,
    ) -> tuple[NDArray[np.int64], Rows]:
        """Walks that take the hop, by (user, item) at an item, by (attribute, user) behind."""
        going = np.flatnonzero(source >= 0)
        who, at, on = user[going], source[going], current[going]
        by = np.lexsort((at, who) if step == 0 else (on, who, at))
        return going[by], Rows(who[by], at[by], on[by], lists.indptr, lists.indices)

    def _bounds(self, step: int, rows: Rows, chunks: int) -> NDArray[np.int64]:
        """Where to cut the rows into chunks of about the same work."""
        work = np.cumsum(np.diff(self.hops[step].indptr)[rows.source] + 1)
        share = np.arange(1, chunks) * (work[-1] / chunks if len(work) else 0.0)
        return np.concatenate([[0], np.searchsorted(work, share), [len(work)]]).astype(np.int64)

    def gradient(
        self, h: NDArray[np.float32], walks: Walks, lists: Ragged, weight: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Gradient of `sum(weight * log_p)` with respect to `h`; `weight` is (T, B)."""
        from cerec.walk.gradient import BUFFERS, push_back

        buffers = np.zeros((BUFFERS, *h.shape), np.float32)
        for t in range(len(weight)):
            here, attribute, there = walks.item[t], walks.attribute[t], walks.item[t + 1]
            for step, (source, target) in enumerate([(here, attribute), (attribute, there)]):
                if self.hops[step].uniform:
                    continue
                moved = np.where(attribute >= 0, source, np.int32(-1))
                order, rows = self._rows(step, walks.user, moved, here, lists)
                bounds = self._bounds(step, rows, BUFFERS)
                where = self.hops[step], self.graph.n_items, self.slope
                push_back(h, rows, *where, target[order], weight[t][order], bounds, buffers)
        return np.asarray(buffers.sum(axis=0))


def without_hubs(graph: Ckg, widest: float) -> Ragged:
    """Attribute -> items, nothing behind attributes on more than that share of all items."""
    behind = graph.items_of
    if widest >= 1.0:
        return behind
    hub = behind.counts > max(widest * graph.n_items, FEW)
    keep = ~hub[behind.row_of()]
    return Ragged.from_pairs(behind.row_of()[keep], behind.indices[keep], len(behind))
