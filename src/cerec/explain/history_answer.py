"""An answer by what the user did, and who finds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.explain.explanation import Certificate


@dataclass(frozen=True, slots=True, eq=False)
class HistoryAnswer:
    """A set of the user's own items without which an item would not be listed."""

    items: NDArray[np.int32]
    """Item rows."""
    rank_after: int
    score_after: float
    cutoff: float
    """Score of the replacement, both by the shortened history."""
    replacement: int
    certificate: Certificate | None
    verified: bool
    """Whether the shortened history was scored anew by the model."""


class HistorySearch(Protocol):
    """Finds smallest sets of the user's own items."""

    def answer(self, user: int, item: int, k: int) -> HistoryAnswer | None:
        """The smallest set for a listed item; None where there is none."""
        ...
