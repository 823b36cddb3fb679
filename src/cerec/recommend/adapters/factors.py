"""Factor models: a score is the product of a user's and an item's vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.errors import DataError
from cerec.recommend.adapters.base import Adapter, Ids, Known, Lists, floats
from cerec.recommend.protocol import Doubles, ItemRows, Pair


class Factors(Adapter):
    """s(u, i) = U_u . V_i + bias_i.

        R = cerec.adapters.Factors(U, V, users=user_ids, items=item_ids)

    Rows are in the order of `users` and `items`. A row with nan is a user or an item without a
    vector: such an item is never listed, such a user has no list. A bias of users changes no list.
    """

    def __init__(
        self,
        user: Any,
        item: Any,
        *,
        users: Ids,
        items: Ids,
        bias: Any = None,
        known: Known = None,
        lists: Lists | None = None,
        scores_from: Callable[[Sequence[ItemRows]], Doubles] | None = None,
    ) -> None:
        """`lists(users, k)`: the model's own, for the check. `scores_from(histories)`: scores of
        people known by item rows alone, where user vectors are a function of the history.
        """
        super().__init__(users, items, known)
        self.user = floats("user factors", user, (len(self.users), -1))
        self.item = floats("item factors", item, (len(self.items), -1))
        if self.user.shape[1] != self.item.shape[1]:
            raise DataError(
                f"user factors have {self.user.shape[1]} columns and item factors "
                f"{self.item.shape[1]}; both must come from the same model"
            )
        if bias is not None:
            column = floats("bias", bias, (len(self.items),))
            self.user = np.column_stack([self.user, np.ones(len(self.user), self.user.dtype)])
            self.item = np.column_stack([self.item, column])
        self.lists, self.scores_from = lists, scores_from

    def scores(self, users: ItemRows) -> Doubles:
        """(n, I) products in doubles."""
        return self.user[users].astype(np.float64) @ self.item.T.astype(np.float64)


class FeatureFactors(Factors):
    """A factor model that has vectors of item values: V_i = own_i + scale_i * sum of value_a.

    Its effects U_u . value_a are the model's own, so answers by attributes are verified.
    """

    def __init__(
        self,
        user: Any,
        item: Any,
        value: Any,
        *,
        values: Sequence[Pair],
        scale: NDArray[Any] | None = None,
        users: Ids,
        items: Ids,
        **more: Any,
    ) -> None:
        """`value` (V, d) belongs to `values`, pairs of (relation, attribute) of the data."""
        super().__init__(user, item, users=users, items=items, **more)
        self.values = [(str(r), str(a)) for r, a in values]
        self.value = floats("value factors", value, (len(self.values), self.user.shape[1]))
        one = np.ones(len(self.items)) if scale is None else scale
        self.scales = floats("scale", one, (len(self.items),)).astype(np.float64)
        if not (self.scales > 0).all():
            raise DataError(f"scale must be above 0, got {self.scales.min()}")

    def effects(self, users: ItemRows) -> Doubles:
        """(n, V)"""
        return self.user[users].astype(np.float64) @ self.value.T.astype(np.float64)

    def scale(self, items: ItemRows) -> Doubles:
        """(n,)"""
        return self.scales[items]
