"""Items by how many users took them: the least that a recommender must beat."""

from __future__ import annotations

import numpy as np

from cerec.data.ragged import Ragged
from cerec.recommend.scorer import Scorer


def popularity(known: Ragged, n_items: int, n_values: int = 0) -> Scorer:
    """The same list for everyone but for what they have; values have no effect."""
    count = np.bincount(known.indices, minlength=n_items).astype(np.float32)
    user = np.ones((len(known), 1), np.float32)
    return Scorer(user, count[:, None], np.zeros((n_values, 1), np.float32), user, "sum")
