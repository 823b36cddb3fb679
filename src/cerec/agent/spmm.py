"""Sparse times dense for the symmetric adjacency of the graph.

`embedding_bag` is the fastest CPU kernel there is for it, and since the matrix is symmetric its
backward is the very same call (autograd's own is several times slower).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from cerec.data.ckg import Ckg


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """A symmetric N x N matrix: ragged rows with weights, and a diagonal."""

    indices: Tensor
    """(E,) int32 column of every entry."""
    offsets: Tensor
    """(N + 1,) int32 first entry of every row."""
    weight: Tensor
    """(E,) float32; the entry (e, e') equals the entry (e', e)."""
    diagonal: Tensor | None = None
    """(N, 1) float32 weight of the node itself; None is zero."""

    @staticmethod
    def plain(graph: Ckg) -> Adjacency:
        """Weights `1 / sqrt(degree(e) degree(e'))`, no diagonal (the paper's)."""
        return Adjacency(*_structure(graph), torch.from_numpy(graph.weight))

    @staticmethod
    def looped(graph: Ckg) -> Adjacency:
        """The same with a loop at every node, counted in its degree (GCN's)."""
        ragged = graph.adjacency
        scale = 1.0 / np.sqrt(ragged.counts + 1)
        weight = (scale[ragged.row_of()] * scale[ragged.indices]).astype(np.float32)
        loop = (scale * scale).astype(np.float32)[:, None]
        return Adjacency(*_structure(graph), torch.from_numpy(weight), torch.from_numpy(loop))


def _structure(graph: Ckg) -> tuple[Tensor, Tensor]:
    ragged = graph.adjacency
    return torch.from_numpy(ragged.indices), torch.from_numpy(ragged.indptr.astype(np.int32))


class _SymmetricProduct(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: torch.autograd.function.FunctionCtx,
        dense: Tensor,
        indices: Tensor,
        offsets: Tensor,
        weight: Tensor,
    ) -> Tensor:
        ctx.save_for_backward(indices, offsets, weight)
        return _product(dense, indices, offsets, weight)

    @staticmethod
    def backward(  # type: ignore[override]
        ctx: torch.autograd.function.FunctionCtx, grad: Tensor
    ) -> tuple[Tensor, None, None, None]:
        indices, offsets, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        return _product(grad.contiguous(), indices, offsets, weight), None, None, None


def _product(dense: Tensor, indices: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    return F.embedding_bag(
        indices, dense, offsets, mode="sum", per_sample_weights=weight, include_last_offset=True
    )


def propagate(matrix: Adjacency, dense: Tensor) -> Tensor:
    """`matrix @ dense`, (N, d) -> (N, d); gradients flow to `dense` alone."""
    out: Tensor = _SymmetricProduct.apply(  # type: ignore[no-untyped-call]
        dense.contiguous(), matrix.indices, matrix.offsets, matrix.weight
    )
    return out if matrix.diagonal is None else out + matrix.diagonal * dense
