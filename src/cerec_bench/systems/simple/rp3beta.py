"""RP3-beta (Paudel 2017): three steps of a random walk from the user, less so to popular items."""

from __future__ import annotations

from cerec_bench.systems.simple.base import ItemItem, Train, neighbours, powers


def rp3beta(
    train: Train,
    *,
    most: int = 100,
    alpha: float = 0.5,
    beta: float = 0.4,
) -> ItemItem:
    """From item h to a user and on to item i, the `most` likeliest i of each h:

        sum over common users of (n_h n_u)^-alpha / n_i^beta

    The user's first step is the same for all items, so it is left out.
    """
    users, items = powers(train.matrix.getnnz(axis=1), -alpha), train.matrix.getnnz(axis=0)
    left, right = powers(items, -alpha), powers(items, -beta)
    walk = neighbours(train.matrix.T.tocsr(), users, left, right, shrink=0.0, most=most)
    return ItemItem(train.matrix, walk)
