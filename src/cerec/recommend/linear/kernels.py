"""Sums over a history for a few candidates instead of all items."""

from __future__ import annotations

import numba
import numpy as np

from cerec.recommend.linear.candidates import Sample
from cerec.recommend.linear.fit import FitMaterial
from cerec.recommend.linear.itemitem import Pairs
from cerec.recommend.protocol import Doubles
from cerec.threads import in_chunks


def pair_sums(material: FitMaterial, sample: Sample, pairs: Pairs) -> Doubles:
    """(c,) sum over the user's history of B[h, i], for every candidate of the sample."""
    out = np.zeros(len(sample.item))
    rows = material.history.indptr, material.history.indices, material.weight
    strength = pairs.targets.indptr, pairs.targets.indices, pairs.strength
    args = sample.users, sample.indptr, sample.item, *rows, *strength, material.n_items
    in_chunks(len(sample.users), lambda a, b: _pair_sums(*args, a, b, out))
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _pair_sums(  # type: ignore[no-untyped-def]
    users,
    indptr,
    item,
    history_ptr,
    history,
    taken,
    pair_ptr,
    pair,
    strength,
    n_items,
    first,
    last,
    out,
):
    total = np.empty(n_items)
    for n in range(first, last):
        u = users[n]
        total[:] = 0.0
        for p in range(history_ptr[u], history_ptr[u + 1]):
            x, h = taken[p], history[p]
            for q in range(pair_ptr[h], pair_ptr[h + 1]):
                total[pair[q]] += x * strength[q]
        for c in range(indptr[n], indptr[n + 1]):
            out[c] = total[item[c]]
