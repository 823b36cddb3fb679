"""Models of the package `implicit`: ALS, BPR, LMF and item-kNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from cerec.errors import ConfigError, one_of
from cerec.recommend.adapters.base import Ids, floats
from cerec.recommend.adapters.factors import Factors
from cerec.recommend.adapters.itemitem import ItemItem
from cerec.recommend.protocol import Doubles, ItemRows

Vector = Literal["stored", "refolded"]


def Implicit(
    model: Any, user_items: sp.csr_matrix, *, users: Ids, items: Ids, vector: Vector = "stored"
) -> Factors | ItemItem:
    """A fitted model and the matrix it was fitted on.

        R = cerec.adapters.Implicit(model, user_items, users=user_ids, items=item_ids)

    A factor model explains the *stored* user vectors, those of `model.recommend(...)`. Those of
    ALS are not quite what the history gives: with vector="refolded" the lists are those of
    `model.recommend(..., recalculate_user=True)`, and answers by history are verified.
    """
    import implicit

    one_of("vector", vector, ("stored", "refolded"))
    matrix = sp.csr_matrix(user_items)
    refolded = vector == "refolded"

    def lists(rows: ItemRows, k: int) -> Sequence[ItemRows]:
        more = {"recalculate_user": True} if refolded else {}
        return list(model.recommend(rows, matrix[rows], N=k, **more)[0])

    if isinstance(model, implicit.nearest_neighbours.ItemItemRecommender):
        seen = matrix.copy()
        seen.data = np.ones_like(seen.data)
        return ItemItem(model.similarity, seen, users=users, items=items, lists=lists)
    base = implicit.cpu.matrix_factorization_base.MatrixFactorizationBase
    if not isinstance(model, base):
        raise ConfigError(
            f"Implicit takes a model of the package implicit on the CPU (model.to_cpu() makes "
            f"one), got {type(model).__name__}"
        )
    user, item = (floats(n, f, (-1, -1)) for n, f in _factors(model))
    if not refolded:
        return Factors(user, item, users=users, items=items, known=matrix, lists=lists)

    def fold(rows: ItemRows, x: sp.csr_matrix) -> Any:
        try:
            return model.recalculate_user(rows, x)
        except NotImplementedError:
            name = type(model).__name__
            raise ConfigError(f"{name} cannot refold users; use vector='stored'") from None

    def scores_from(histories: Sequence[ItemRows]) -> Doubles:
        indptr = np.cumsum([0, *map(len, histories)])
        flat = np.concatenate([*histories, np.zeros(0, np.int32)])
        ones = np.ones(len(flat), matrix.dtype)
        x = sp.csr_matrix((ones, flat, indptr), (len(histories), matrix.shape[1]))
        return np.asarray(fold(np.arange(len(histories)), x), np.float64) @ item.T.astype(float)

    if (matrix.data != 1).any():
        raise ConfigError("vector='refolded' asks about histories, so user_items must be of ones")
    user = fold(np.arange(matrix.shape[0]), matrix)
    return Factors(
        user, item, users=users, items=items, known=matrix, lists=lists, scores_from=scores_from
    )


def _factors(model: Any) -> list[tuple[str, Any]]:
    return [("user factors", model.user_factors), ("item factors", model.item_factors)]
