"""The typed edges KGAT attends over, in both directions, and its attention.

N nodes, E directed edges: every typed edge of the graph and its inverse under a relation of its
own. Edges are sorted by head, so that a row of the attention matrix is a run of edges; parallel
edges under several relations stay apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from cerec.data.ckg import Ckg

Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """The edges of one relation, their ends numbered among the nodes that occur."""

    edge: NDArray[np.int64]
    heads: NDArray[np.int64]
    tails: NDArray[np.int64]
    """Distinct nodes; each is projected once."""
    head_at: NDArray[np.int64]
    tail_at: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Directed typed edges by head, the same by tail, and the edges of each relation."""

    head: Ints
    relation: Ints
    tail: Ints
    offsets: Tensor
    """(N + 1,) first edge of every head."""
    by_tail: Tensor
    """(E,) edges in the order of their tails."""
    tail_offsets: Tensor
    relations: tuple[Relation, ...]

    @property
    def n_nodes(self) -> int:
        """Users, items and other entities."""
        return len(self.offsets) - 1

    @staticmethod
    def build(graph: Ckg) -> Edges:
        """Both directions of every typed edge that is no loop."""
        proper = graph.head != graph.tail
        head, relation, tail = graph.head[proper], graph.relation[proper], graph.tail[proper]
        n_relations = int(graph.relation.max(initial=0)) + 1
        heads, tails = np.concatenate([head, tail]), np.concatenate([tail, head])
        kinds = np.concatenate([relation, relation + np.int32(n_relations)])
        order = np.lexsort((tails, kinds, heads))
        heads, kinds, tails = heads[order], kinds[order], tails[order]
        by_tail = np.argsort(tails, kind="stable")
        return Edges(
            heads,
            kinds,
            tails,
            _offsets(heads, graph.n_nodes),
            torch.from_numpy(by_tail),
            _offsets(tails[by_tail], graph.n_nodes),
            tuple(_relation(heads, tails, kinds == r) for r in range(2 * n_relations)),
        )

    def first_weights(self) -> Tensor:
        """One over the number of a head's edges under that relation, before any learning."""
        width = len(self.relations)
        key = self.head.astype(np.int64) * width + self.relation
        _, kind, count = np.unique(key, return_inverse=True, return_counts=True)
        return torch.from_numpy((1.0 / count[kind]).astype(np.float32))


def _offsets(sorted_nodes: Ints, n: int) -> Tensor:
    return torch.from_numpy(np.searchsorted(sorted_nodes, np.arange(n + 1)).astype(np.int32))


def _relation(head: Ints, tail: Ints, mask: NDArray[np.bool_]) -> Relation:
    edge = np.flatnonzero(mask)
    heads, head_at = np.unique(head[edge], return_inverse=True)
    tails, tail_at = np.unique(tail[edge], return_inverse=True)
    return Relation(edge, heads.astype(np.int64), tails.astype(np.int64), head_at, tail_at)


@torch.no_grad()
def attention(edges: Edges, node: Tensor, relation: Tensor, project: Tensor) -> Tensor:
    """(E,) softmax over all edges of a head of `(W_r e_t) . tanh(W_r e_h + e_r)`.

    `node` (N, d), `relation` (R, k), `project` (R, d, k).
    """
    logit = np.empty(len(edges.head), np.float32)
    for r, part in enumerate(edges.relations):
        near = torch.tanh(node[torch.from_numpy(part.heads)] @ project[r] + relation[r])
        far = node[torch.from_numpy(part.tails)] @ project[r]
        logit[part.edge] = _dots(near.numpy(), far.numpy(), part.head_at, part.tail_at)
    return torch.from_numpy(_softmax(logit, edges.offsets.numpy()))


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _dots(
    near: NDArray[np.float32],
    far: NDArray[np.float32],
    head: NDArray[np.int64],
    tail: NDArray[np.int64],
) -> NDArray[np.float32]:
    out = np.zeros(len(head), np.float32)
    for e in range(len(head)):
        total = np.float32(0)
        for k in range(near.shape[1]):
            total += near[head[e], k] * far[tail[e], k]
        out[e] = total
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _softmax(logit: NDArray[np.float32], offsets: Ints) -> NDArray[np.float32]:
    out = np.empty_like(logit)
    for h in range(len(offsets) - 1):
        lo, hi = offsets[h], offsets[h + 1]
        if lo == hi:
            continue
        top = logit[lo:hi].max()
        total = 0.0
        for e in range(lo, hi):
            out[e] = np.exp(logit[e] - top)
            total += out[e]
        for e in range(lo, hi):
            out[e] = np.float32(out[e] / total)
    return out


Entries = tuple[Tensor, Tensor, Tensor]
"""Column of every entry, first entry of every row, weight of every entry."""


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A sparse matrix ready to be multiplied with, from either side."""

    rows: Entries
    columns: Entries
    """The entries of the transposed matrix."""

    def forward(self, dense: Tensor) -> Tensor:
        """`A @ dense`."""
        return _bag(dense, self.rows)

    def backward(self, grad: Tensor) -> Tensor:
        """The gradient by `dense`: `A.T @ grad`."""
        return _bag(grad, self.columns)


class Propagation:
    """The attention matrix, whole and cut to the rows of users and items.

    Nothing reads what the last layer would make of the other entities.
    """

    def __init__(self, edges: Edges, weight: Tensor, n_ranked: int) -> None:
        self.weight, self.n_ranked = weight, n_ranked
        head, tail = torch.from_numpy(edges.head), torch.from_numpy(edges.tail)
        by_tail, offsets = edges.by_tail, edges.offsets
        self.whole = Product(
            (tail, offsets, weight), (head[by_tail], edges.tail_offsets, weight[by_tail])
        )
        last = int(offsets[n_ranked])
        kept = by_tail < last
        before = torch.zeros(len(by_tail) + 1, dtype=torch.int32)
        before[1:] = kept.cumsum(0)
        some = by_tail[kept]
        self.ranked = Product(
            (tail[:last], offsets[: n_ranked + 1], weight[:last]),
            (head[some], before[edges.tail_offsets.long()], weight[some]),
        )


def _bag(dense: Tensor, entries: Entries) -> Tensor:
    indices, offsets, weight = entries
    return F.embedding_bag(
        indices, dense, offsets, mode="sum", per_sample_weights=weight, include_last_offset=True
    )
