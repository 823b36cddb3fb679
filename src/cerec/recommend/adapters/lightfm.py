"""Models of LightFM (`lightfm`, `lightfm-next`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from cerec.errors import DataError
from cerec.recommend.adapters.base import Ids, Known
from cerec.recommend.adapters.factors import Factors, FeatureFactors
from cerec.recommend.protocol import Pair


def LightFM(
    model: Any,
    *,
    users: Ids,
    items: Ids,
    user_features: sp.csr_matrix | None = None,
    item_features: sp.csr_matrix | None = None,
    values: Sequence[Pair | None] | None = None,
    known: Known = None,
) -> Factors:
    """A fitted model, with the features it was fitted on.

        R = cerec.adapters.LightFM(model, users=user_ids, items=item_ids,
                                   item_features=features, values=values)

    `values`: for each column of `item_features`, the (relation, attribute) it stands for, None for
    others such as the item itself. Its embeddings are then the effects of values, the model's own.
    Vectors are representations: sums of embeddings of features.
    """
    _, user = model.get_user_representations(user_features)
    bias, item = model.get_item_representations(item_features)
    ids: dict[str, Any] = {"users": users, "items": items, "known": known}
    if values is None or item_features is None:
        return Factors(user, item, bias=bias, **ids)
    features = sp.csr_matrix(item_features)
    if features.shape[1] != len(values):
        raise DataError(
            f"values has {len(values)} entries, but item_features {features.shape[1]} columns; "
            "give a (relation, attribute) or None for each column"
        )
    columns = np.array([n for n, pair in enumerate(values) if pair is not None], np.int64)
    own = np.column_stack([model.item_embeddings, model.item_biases])[columns]
    return FeatureFactors(
        np.column_stack([user, np.ones(len(user), user.dtype)]),
        np.column_stack([item, bias]),
        own,
        values=[pair for pair in values if pair is not None],
        scale=_scale(features[:, columns]),
        **ids,
    )


def _scale(weight: sp.csr_matrix) -> Any:
    """(I,) the weight that all values of an item have."""
    out = np.ones(weight.shape[0])
    for row in range(weight.shape[0]):
        mine = weight.data[weight.indptr[row] : weight.indptr[row + 1]]
        if len(mine):
            out[row] = mine[0]
            if not np.allclose(mine, mine[0]):
                raise DataError(
                    f"row {row} of item_features weighs its values differently ({mine[0]:g} and "
                    f"{mine[mine != mine[0]][0]:g}); leave values= out, or weigh them alike"
                )
    return out
