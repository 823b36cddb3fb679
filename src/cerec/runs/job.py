"""What one training is to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cerec.history import Row
from cerec.recommend.base import NegativeSampler
from cerec.recommend.protocol import Trainable
from cerec.settings.run import RunConfig


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Settings, seed, and who wants to see the progress."""

    config: RunConfig
    seed: int
    origin: dict[str, Any]
    """Data, settings and seed as they are written into the folder at the start."""
    started: float
    on_row: Callable[[Row], None] | None = None
    negatives: NegativeSampler | None = None
    model: Trainable | None = None
    """One that somebody brought, in place of the one that the settings name."""
    removed: tuple[str, ...] = ()
    """What the filters left out."""
