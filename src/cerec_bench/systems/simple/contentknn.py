"""Content-kNN: items with the same attribute values as those the user took."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cerec_bench.systems.simple.base import ItemItem, Train, neighbours


def contentknn(
    train: Train,
    *,
    most: int = 100,
    rarity: float = 1.0,
    common: float = 0.3,
) -> ItemItem:
    """The `most` nearest items by cosine of their values, a value counting idf^rarity.

    Values on more than a share `common` of the items say little, cost most, and are left out.
    """
    n_items, rows, held = train.n_items, train.facts.of_item, train.facts.holders.counts
    ones, shape = np.ones(rows.size, np.float32), (n_items, train.facts.n_values)
    of_item = sp.csr_matrix((ones, rows.indices, rows.indptr), shape=shape)
    kept = (held > 0) & (held <= max(common * n_items, 2.0))
    idf = np.where(kept, np.log((n_items + 1.0) / np.maximum(held, 1.0)) ** (2.0 * rarity), 0.0)
    length = np.sqrt(of_item @ idf)
    unit = np.where(length > 0, 1.0 / np.maximum(length, 1e-12), 0.0)
    holders = (of_item @ sp.diags(kept.astype(np.float32))).tocsr()
    holders.eliminate_zeros()
    near = neighbours(holders, idf, unit, unit, shrink=0.0, most=most)
    return ItemItem(train.matrix, near.T.tocsr())
