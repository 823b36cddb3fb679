"""What one training was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cerec.history import Row
from cerec.recommend.base import NegativeSampler
from cerec.settings.run import RunConfig


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Settings, seed, and who wants to see the progress."""

    config: RunConfig
    seed: int
    begun: dict[str, Any]
    """Data, settings and seed as they are written into the folder at the start."""
    removed: list[str]
    """What the filters left out."""
    started: float
    on_row: Callable[[Row], None] | None
    negatives: NegativeSampler | None
