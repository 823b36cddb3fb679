"""The fitted model for other people and further items, with B, q and w as they are.

An item that came after the fit is its values only: no item speaks for it, its popularity is the
mean, and its vector is what its values say.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.linear.model import LinearArrays
from cerec.recommend.linear.values import only, scales
from cerec.recommend.protocol import Doubles

Rows = NDArray[np.integer]


def grown(
    a: LinearArrays, history: Ragged, weight: Doubles, facts: Facts, item_row: Rows, value_row: Rows
) -> LinearArrays:
    """`item_row`: item of the model -> row in `facts`; `value_row`: value of the model -> row."""
    n_items = len(facts.of_item)
    order = np.argsort(value_row)
    vocabulary = value_row[order].astype(np.int32)
    keep = np.zeros(facts.n_values, bool)
    keep[vocabulary] = True
    kept = only(facts.of_item, keep)
    of_item = Ragged(kept.indptr, (np.cumsum(keep, dtype=np.int32) - 1)[kept.indices])
    scale, value_vector = scales(of_item), a.value_vector[order]
    own = np.full(n_items, a.own.mean() if len(a.own) else 0.0)
    own[item_row] = a.own
    vector = np.zeros((n_items, value_vector.shape[1]))
    np.add.at(vector, of_item.row_of(), value_vector[of_item.indices])
    vector *= scale[:, None]
    vector[item_row] = a.item_vector
    pair_ptr, pair, strength = _moved(a, item_row, n_items)
    return replace(
        a,
        history_ptr=history.indptr,
        history=history.indices,
        weight=weight,
        own=own,
        common=a.common[order],
        pair_ptr=pair_ptr,
        pair=pair,
        strength=strength,
        vocabulary=vocabulary,
        value_ptr=of_item.indptr,
        value=of_item.indices,
        scale=scale,
        share=a.share[order],
        unit=a.unit[order],
        item_vector=vector,
        value_vector=value_vector,
    )


def _moved(
    a: LinearArrays, item_row: Rows, n_items: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """B with its items at their new rows."""
    counts = np.zeros(n_items, np.int64)
    counts[item_row] = np.diff(a.pair_ptr)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    target = item_row[a.pair].astype(np.int32)
    if (np.diff(item_row) > 0).all():
        return indptr, target, a.strength
    source = item_row[Ragged(a.pair_ptr, a.pair).row_of()]
    order = np.lexsort((target, source))
    return indptr, target[order], a.strength[order]
