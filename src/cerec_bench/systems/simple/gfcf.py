"""GF-CF (Shen 2021): a linear and an ideal low-pass filter on the graph of items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.recommend.linear.folding import truncated_svd
from cerec_bench.systems.simple.base import Floats, ItemItem, Train, powers


@dataclass(frozen=True, slots=True, eq=False)
class Filtered:
    """Scores are a user's train items through both filters."""

    linear: ItemItem
    first: Floats
    """(I, d) of a train item."""
    last: Floats
    """(I, d) of an item to be scored."""

    def scores(self, users: NDArray[np.integer]) -> Floats:
        """(B, I) scores of every item for the given users."""
        taken = self.linear.taken[users]
        return self.linear.scores(users) + (taken @ self.first) @ self.last.T


def gfcf(
    train: Train,
    *,
    dim: int = 128,
    ideal: float = 0.6,
) -> Filtered:
    """With R~ = D_u^-1/2 R D_i^-1/2 and V its `dim` leading right singular vectors, user rows r get

    r R~' R~ + ideal * r D_i^-1/2 V V' D_i^1/2
    """
    n_items, items = train.n_items, train.matrix.getnnz(axis=0)
    down, up = powers(items, -0.5), powers(items, 0.5)
    gram = train.gram(1.0)
    graph = sp.csr_matrix((gram.count, gram.indices, gram.indptr), shape=(n_items, n_items))
    graph = (sp.diags(down) @ graph @ sp.diags(down)).tocsr().astype(np.float32)
    found = truncated_svd(train.matrix, min(dim, *train.matrix.shape))
    vectors = found / np.maximum(np.linalg.norm(found, axis=0), 1e-12)
    first, last = ideal * down[:, None] * vectors, up[:, None] * vectors
    linear = ItemItem(train.matrix, graph)
    return Filtered(linear, first.astype(np.float32), last.astype(np.float32))
