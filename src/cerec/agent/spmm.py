"""Sparse times dense for the symmetric adjacency of the graph."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from cerec.data.ckg import Ckg
from cerec.recommend.sparse import Sparse, multiply


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """A symmetric N x N matrix: ragged rows with weights, and a diagonal."""

    rows: Sparse
    """The entry (e, e') equals the entry (e', e)."""
    diagonal: Tensor | None = None
    """(N, 1) float32 weight of the node itself; None is zero."""

    @staticmethod
    def plain(graph: Ckg) -> Adjacency:
        """Weights `1 / sqrt(degree(e) degree(e'))`, no diagonal (the paper's)."""
        return Adjacency(Sparse.build(graph.adjacency, graph.weight, None))


def propagate(matrix: Adjacency, dense: Tensor) -> Tensor:
    """`matrix @ dense`, (N, d) -> (N, d); gradients flow to `dense` alone."""
    out = multiply(matrix.rows, dense.contiguous())
    return out if matrix.diagonal is None else out + matrix.diagonal * dense
