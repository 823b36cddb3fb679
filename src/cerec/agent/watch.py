"""An eye on the loss while a training runs."""

from __future__ import annotations

import logging
import math

from cerec.checkpoint import Row
from cerec.settings.recommender import RecommenderConfig

log = logging.getLogger("cerec")
_TIMES = 4  # the loss of knowing nothing; a sound training stays below it


class LossWatch:
    """Says once when the loss is several times that of knowing nothing, or when nothing counts."""

    def __init__(self, config: RecommenderConfig) -> None:
        self._chance = math.log(2) * (1 + config.alone)
        self._lower = f"recommender.learning_rate ({config.learning_rate})"
        if config.init > RecommenderConfig().init:
            self._lower += f" or recommender.init ({config.init})"
        self._told: set[str] = set()

    def __call__(self, row: Row) -> None:
        """Take one row of the history."""
        loss = row.get("loss")
        if not isinstance(loss, float):
            return
        if loss == 0.0:
            self._tell("empty", "no pair was learned from; do the negatives leave all of them out?")
        elif loss > _TIMES * self._chance:
            self._tell(
                "high",
                f"the loss is {loss:.3g}, where knowing nothing has at most {self._chance:.2g}; "
                f"lower {self._lower}",
            )

    def _tell(self, what: str, words: str) -> None:
        if what not in self._told:
            self._told.add(what)
            log.warning(f"note: {words}")
