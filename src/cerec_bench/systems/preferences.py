"""Which attributes matter to a user, by a system that can say so: NeuACF and CaDSI.

The paper's explainability table (section VII-A) takes from both "the last-10 important attributes"
of a user-item pair, for its ground truth holds what a user does *not* like: the ten values with
the lowest preference, lowest first.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.recommend.base import Rows


class Preferring(Protocol):
    """A model that tells how much a user cares for values of `Facts`."""

    def preferences(self, user: int, values: NDArray[np.integer]) -> NDArray[np.float64]:
        """One number per value, comparable between the values of one user."""
        ...


def last_important(model: Preferring, user: int, values: NDArray[np.integer], n: int = 10) -> Rows:
    """Up to n of the values with the lowest preference, lowest first, equal ones as given."""
    order = np.argsort(model.preferences(user, values), kind="stable")
    return np.asarray(values)[order[:n]].astype(np.int32)
