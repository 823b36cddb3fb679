"""Item-item models: EASE, SLIM, nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cerec.errors import DataError
from cerec.lazy import Later
from cerec.recommend.adapters.base import Adapter, Ids, Known, Lists, floats, histories
from cerec.recommend.protocol import Doubles, ItemRows

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Later("scipy.sparse")


class ItemItem(Adapter):
    """s(u, .) = x_u W, with x_u the row of the user and W from history item to scored item.

        R = cerec.adapters.ItemItem(W, X, users=user_ids, items=item_ids)

    A score is a function of the history, so answers by history are verified.
    """

    def __init__(
        self,
        weight: Any,
        history: Any,
        *,
        users: Ids,
        items: Ids,
        known: Known = None,
        lists: Lists | None = None,
    ) -> None:
        """`history`: a sparse matrix (U, I), or a mapping from user id to item ids. It is also
        what is never listed, unless `known` says otherwise.
        """
        super().__init__(users, items, known)
        n_users, n_items = self.shape
        if not sp.issparse(history):
            rows = histories("history", history, self.users, self.items)
            indptr = np.cumsum([0, *map(len, rows)])
            flat = np.concatenate([*rows, np.zeros(0, np.int32)])
            history = sp.csr_matrix((np.ones(len(flat)), flat, indptr), (n_users, n_items))
        if history.shape != (n_users, n_items):
            raise DataError(f"history has shape {history.shape}, expected ({n_users}, {n_items})")
        self.history = sp.csr_matrix(history, dtype=np.float64)
        self.history.eliminate_zeros()
        if (self.history.data != 1.0).any():
            raise DataError("history must be of ones: an item was taken, or it was not")
        if sp.issparse(weight):
            self.weight = sp.csr_matrix(weight, dtype=np.float64)
        else:
            self.weight = floats("weight", weight, (n_items, n_items)).astype(np.float64)
        if self.weight.shape != (n_items, n_items):
            raise DataError(f"weight has shape {self.weight.shape}, expected {n_items, n_items}")
        if self.known is None:
            self.known = self._row
        self.lists = lists

    def _row(self, user: int) -> ItemRows:
        return self.history.indices[self.history.indptr[user] : self.history.indptr[user + 1]]

    def scores(self, users: ItemRows) -> Doubles:
        """(n, I)"""
        return self._scores(self.history[users])

    def scores_from(self, rows: Sequence[ItemRows]) -> Doubles:
        """(n, I)"""
        indptr = np.cumsum([0, *map(len, rows)])
        flat = np.concatenate([*rows, np.zeros(0, np.int32)])
        shape = len(rows), len(self.items)
        return self._scores(sp.csr_matrix((np.ones(len(flat)), flat, indptr), shape))

    def _scores(self, taken: sp.csr_matrix) -> Doubles:
        made = taken @ self.weight
        return np.asarray(made.toarray() if sp.issparse(made) else made, np.float64)
