"""Sparse matrix times dense vectors, forward and backward by the one fast torch kernel.

`embedding_bag` is the fastest CPU kernel there is for it; autograd's own backward is several times
slower than the same call with the transpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from cerec.data.ragged import Ragged


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """A matrix with its transpose, ready for `multiply`."""

    indices: Tensor
    offsets: Tensor
    weight: Tensor
    transpose: Sparse | None = None
    """None when the matrix is its own transpose."""

    @staticmethod
    def build(rows: Ragged, weight: NDArray[np.float32], n_columns: int | None) -> Sparse:
        """The matrix with `weight` at the entries of `rows`; `n_columns` None: it is symmetric."""
        if n_columns is None:
            return _parts(rows, weight, None)
        order = np.argsort(rows.indices, kind="stable")
        flipped = rows.transpose(n_columns)
        return _parts(rows, weight, _parts(flipped, weight[order], None))


def _parts(rows: Ragged, weight: NDArray[np.float32], transpose: Sparse | None) -> Sparse:
    return Sparse(
        torch.from_numpy(rows.indices),
        torch.from_numpy(rows.indptr.astype(np.int32)),
        torch.from_numpy(weight.astype(np.float32)),
        transpose,
    )


class _Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Sparse, dense: Tensor) -> Tensor:
        ctx.matrix = matrix
        return _bag(matrix, dense)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[None, Tensor]:
        matrix = ctx.matrix
        return None, _bag(matrix.transpose or matrix, grad[0].contiguous())


def _bag(matrix: Sparse, dense: Tensor) -> Tensor:
    return F.embedding_bag(
        matrix.indices,
        dense,
        matrix.offsets,
        mode="sum",
        per_sample_weights=matrix.weight,
        include_last_offset=True,
    )


def multiply(matrix: Sparse, dense: Tensor) -> Tensor:
    """The product `matrix @ dense`, (n, d); gradients flow through `dense`."""
    out: Tensor = _Multiply.apply(matrix, dense)  # type: ignore[no-untyped-call]
    return out
