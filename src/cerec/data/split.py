"""Train, validation and test parts of the interactions."""

from __future__ import annotations

from dataclasses import dataclass

from cerec.ragged import Ragged


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """User -> item rows for each part; the parts are disjoint."""

    train: Ragged
    valid: Ragged
    test: Ragged
