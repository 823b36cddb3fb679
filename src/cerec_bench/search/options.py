"""What a person may ask of an explanation beyond user, item and list length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from cerec.errors import ConfigError
from cerec.explain.lookup import Lock

Preference = Literal["similar", "decisive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Limits and wishes for one explanation."""

    k: int = 20
    """Length of the list."""
    lock: tuple[Lock, ...] = ()
    """Relations, or (relation, attribute) pairs, that may be neither lost nor gained."""
    max_changes: int | None = None
    """Most changes an answer may make."""
    alternatives: int = 0
    """How many other answers to add; none changes a part of what another one changes."""
    budget: float | None = None
    """Seconds; the clock is read between batches of candidates."""
    bound: bool = False
    """Whether to add the fewest changes over all values of the data, a lower bound."""
    exhaustive: bool = False
    """Whether to try every item at once instead of the proposed ones first."""
    prefer: Preference = "similar"
    """Which of equally small changes: towards the most similar item, or the one that moves the
    score most."""

    def __post_init__(self) -> None:
        _at_least("k", self.k, 1)
        _at_least("alternatives", self.alternatives, 0)
        if self.max_changes is not None:
            _at_least("max_changes", self.max_changes, 1)
        if self.prefer not in get_args(Preference):
            raise ConfigError(f"prefer must be similar or decisive, got {self.prefer!r}")
        if self.budget is not None and not self.budget > 0:
            raise ConfigError(f"budget must be a positive number of seconds, got {self.budget}")


def _at_least(name: str, value: int, least: int) -> None:
    if not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, got {value!r}")
