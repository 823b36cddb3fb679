"""Patience on a validation number."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Stopper:
    """Remembers the best value seen; says when enough looks have passed without a better one."""

    patience: int
    best: float = -math.inf
    best_epoch: int = -1
    waited: int = 0

    def look(self, epoch: int, value: float) -> bool:
        """True when `value` is the best so far.

        nan is nothing to look at. It is never better than a number, and any number is better than
        it; where there was no number yet the state is kept and the training goes on.
        """
        if math.isnan(value) and self.best == -math.inf:
            self.best_epoch = epoch
            return True
        if value > self.best:
            self.best, self.best_epoch, self.waited = value, epoch, 0
            return True
        self.waited += 1
        return False

    @property
    def done(self) -> bool:
        """True when `patience` looks in a row brought nothing better."""
        return self.waited >= self.patience
