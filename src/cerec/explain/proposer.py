"""Who names counterfactual items and walks to them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.walk.paths import Proposals


class Proposer(Protocol):
    """Names up to `width` candidate items for each pair, as a trained agent does."""

    def propose(
        self,
        user: NDArray[np.int64],
        item: NDArray[np.int64],
        excluded: Ragged,
        width: int,
    ) -> Proposals:
        """Candidates for pairs (user[b], item[b]), none of them in `excluded.row(b)`."""
        ...
