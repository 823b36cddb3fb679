"""The report of `check`: figures and findings, as values that print and serialise."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Worst first. Data with an error cannot be used."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a person should know about the data."""

    severity: Severity
    kind: str
    """A short name that stays the same between versions, such as `leak`."""
    what: str
    """One sentence with the figures in it."""
    count: int
    """How many users, items, pairs, ... are concerned."""
    share: float
    """The same as a share of all of them."""
    remedy: str
    """What to do about it."""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quantiles:
    """How many partners the members of one kind have: smallest, quartiles, largest."""

    of: str
    least: int
    low: int
    median: int
    high: int
    most: int
    mean: float


@dataclass(frozen=True, slots=True)
class RelationSummary:
    """One relation: how much it says, and an example by name."""

    id: str
    name: str
    triples: int
    items: int
    """Items it says something about."""
    values: int
    """Distinct things it says."""
    example: str


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found: figures, degrees, relations from the largest, findings worst first."""

    name: str
    figures: dict[str, int | float]
    degrees: tuple[Quantiles, ...]
    relations: tuple[RelationSummary, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def usable(self) -> bool:
        """False if a finding is an error."""
        return all(f.severity != "error" for f in self.findings)

    def find(self, kind: str) -> Finding | None:
        """The finding of a kind, if there is one."""
        return next((f for f in self.findings if f.kind == kind), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and dictionaries, for JSON."""
        return {**dataclasses.asdict(self), "usable": self.usable}
