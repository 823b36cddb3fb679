"""Item-kNN with an asymmetric cosine (Aiolli 2013) and users weighed by their history's length."""

from __future__ import annotations

from cerec_bench.systems.simple.base import ItemItem, Train, neighbours, powers


def itemknn(
    train: Train,
    *,
    most: int = 100,
    asymmetry: float = 0.5,
    user_weight: float = 0.5,
    shrink: float = 0.0,
) -> ItemItem:
    """The `most` items h nearest to each item i, by

        sum over common users of n_u^-user_weight / (n_i^asymmetry n_h^(1 - asymmetry))

    damped by common / (common + shrink); asymmetry .5 is the cosine.
    """
    users, items = powers(train.matrix.getnnz(axis=1), -user_weight), train.matrix.getnnz(axis=0)
    left, right = powers(items, -asymmetry), powers(items, asymmetry - 1.0)
    near = neighbours(train.matrix.T.tocsr(), users, left, right, shrink=shrink, most=most)
    return ItemItem(train.matrix, near.T.tocsr())
