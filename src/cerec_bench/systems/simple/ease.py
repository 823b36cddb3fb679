"""EASE (Steck 2019): ridge regression of every item on the others."""

from __future__ import annotations

import scipy.sparse as sp

from cerec.recommend.linear.itemitem import pairs_of
from cerec_bench.systems.simple.base import DENSE_ITEMS, ItemItem, Train


def ease(
    train: Train,
    *,
    penalty: float = 3.0,
    user_weight: float = 0.0,
    most: int = 100,
) -> ItemItem:
    """Column i is the ridge regression of item i on the others, `penalty` in units of the mean
    diagonal of the Gram matrix, users weighed by n_u^-user_weight.

    Beyond 5,000 items a column is solved on its `most` nearest items, else on all of them.
    """
    n_items = train.n_items
    pairs = pairs_of(train.gram(user_weight), penalty, 0 if n_items <= DENSE_ITEMS else most)
    shape = n_items, n_items
    weight = sp.csr_matrix(
        (pairs.strength, pairs.targets.indices, pairs.targets.indptr), shape=shape
    )
    return ItemItem(train.matrix, weight.toarray() if n_items <= DENSE_ITEMS else weight)
