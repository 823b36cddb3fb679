"""Users without a train item: nothing was learned of them, so they get what most like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.scorer import Scorer


def for_newcomers(scorer: Scorer, known: Ragged) -> Scorer:
    """The scorer with the mean of all other users in the place of users without a train item.

    Their own vectors are as they were drawn at the start, and would rank at random.
    """
    new = known.counts == 0
    if not new.any() or new.all():
        return scorer
    return replace(
        scorer,
        user=_filled(scorer.user, new),
        effect_user=_filled(scorer.effect_user, new),
        matrix=None if scorer.matrix is None else _filled(scorer.matrix, new),
    )


def _filled(table: NDArray[np.float32], new: NDArray[np.bool_]) -> NDArray[np.float32]:
    out = table.copy()
    out[new] = table[~new].mean(axis=0, dtype=np.float64)
    return out
