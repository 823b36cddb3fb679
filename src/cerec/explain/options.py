"""What a person may ask of an explanation beyond user, item and list length."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack, get_args

from cerec.errors import ConfigError, one_of
from cerec.explain.lookup import Lock

Way = Literal["attributes", "history", "both", "agent"]
Changes = Literal["replace", "remove", "any"]
Preference = Literal["decisive", "near"]
Scope = Literal["value", "item"]


class Wishes(TypedDict, total=False):
    """Keywords of a question beside k; `Options` says what they mean and checks them."""

    by: Way | None
    changes: Changes
    prefer: Preference
    scope: Scope
    lock: Iterable[Lock]
    unlock: Iterable[str]
    max_changes: int | None
    alternatives: int
    robust: float | None
    budget: float | None
    relations: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Limits and wishes for one explanation, or for many."""

    k: int = 20
    """Length of the list."""
    by: Way | None = None
    """Change attributes, the user's history, `both`, or attributes toward the `agent`'s item.
    None: attributes where the model's own effects give an answer, else the history."""
    changes: Changes = "replace"
    """The kind of changes; `any` also adds and removes."""
    prefer: Preference = "decisive"
    """Of equally small answers: the one that moves the score most, or the one toward the real item
    that shares most with this one."""
    scope: Scope = "value"
    """Gain any values, or only such as one real item has together."""
    lock: tuple[Lock, ...] = ()
    """Relations, or (relation, attribute) pairs, that may be neither lost nor gained."""
    unlock: tuple[str, ...] = ()
    """Relations that may change although they look computed from what people did."""
    max_changes: int | None = None
    """Most changes an answer may make."""
    alternatives: int = 0
    """How many other answers to add."""
    robust: float | None = None
    """Only answers that hold with this probability, between 0 and 1; see `Explanation.holds`."""
    budget: float | None = None
    """Seconds for one explanation of a recommender that is asked for every score."""
    relations: bool = False
    """Whether to add the best answer within each relation alone."""

    @staticmethod
    def of(k: int, **wishes: Unpack[Wishes]) -> Options:
        """Options from keywords as people write them."""
        return Options(k=k, **wishes)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        _whole("k", self.k, 1)
        _whole("alternatives", self.alternatives, 0)
        if self.max_changes is not None:
            _whole("max_changes", self.max_changes, 1)
        if self.by is not None:
            one_of("by", self.by, get_args(Way))
        for name, allowed in (("changes", Changes), ("prefer", Preference), ("scope", Scope)):
            one_of(name, getattr(self, name), get_args(allowed))
        if self.changes == "remove" and (self.scope == "item" or self.prefer == "near"):
            asked = "scope='item'" if self.scope == "item" else "prefer='near'"
            raise ConfigError(f"{asked} is about gained values, and changes='remove' gains none")
        if self.budget is not None and not self.budget > 0:
            raise ConfigError(f"budget must be a positive number of seconds, got {self.budget}")
        if self.robust is not None:
            self._check_robust()
        for name in ("lock", "unlock"):
            object.__setattr__(self, name, _several(name, getattr(self, name)))

    def _check_robust(self) -> None:
        p = self.robust
        if isinstance(p, bool) or not isinstance(p, int | float) or not 0.0 < p < 1.0:
            raise ConfigError(f"robust must be a probability between 0 and 1, got {p!r}")
        if self.by not in (None, "attributes") or self.prefer == "near" or self.alternatives:
            raise ConfigError(
                "robust= asks for one answer by attributes; leave out by, prefer and alternatives"
            )


def _whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, got {value!r}")


def _several(name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ConfigError(f"{name} takes several entries, such as {name}=[{value!r}]")
    return tuple(tuple(v) if isinstance(v, list) else v for v in value)
