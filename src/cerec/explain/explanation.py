"""The answer to "why this?": a frozen value that can be checked again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["verified", "not_found", "no_attributes", "not_recommended", "timed_out"]
Certificate = Literal["minimum", "irreducible"]


@dataclass(frozen=True, slots=True)
class Named:
    """An id and its name for people."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Change:
    """One value of one relation replaced, added (`before` is None) or removed (`after` is None)."""

    relation: str
    before: str | None
    after: str | None
    relation_name: str = ""
    before_name: str | None = None
    after_name: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path: `item` has `attribute` by `relation`, and so has `to_item` by
    `to_relation`.
    """

    item: Named
    relation: Named
    attribute: Named
    to_relation: Named
    to_item: Named


@dataclass(frozen=True, slots=True)
class Explanation:
    """The smallest change found for one recommended item, and how it was checked."""

    user: str
    item: str
    k: int
    status: Status
    counterfactual_item: str | None
    replacement: str | None
    changes: tuple[Change, ...]
    path: tuple[Step, ...]
    rank_before: int | None
    rank_after: int | None
    score_before: float | None
    score_after: float | None
    cutoff: float | None
    certificate: Certificate | None
    text: str
    seconds: float
    question: Literal["why", "why_not"] = "why"
    names: tuple[Named, ...] = ()
    """Names of user, item, counterfactual item and replacement, where there are any."""
