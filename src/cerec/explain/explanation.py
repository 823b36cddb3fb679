"""The answer to "why this?": a frozen value that can be checked again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

Status = Literal[
    "verified", "canonical", "fitted", "not_found", "no_attributes", "not_recommended", "timed_out"
]
"""`verified`: the model itself scored the change. `canonical`, `fitted`: by effects made from its
vectors, or fitted to its scores. `not_found`: no allowed change does it. `not_recommended`: the
item is not in the list."""
Certificate = Literal["minimum", "toward", "irreducible"]
"""`minimum`: nothing smaller exists. `toward`: nothing smaller toward the counterfactual item.
`irreducible`: no change can be left out."""
Asked = Literal["why", "why_not"]
By = Literal["attributes", "history", "agent"]
Kind = Literal["value", "history", "own", "other", "usual values", "usual history"]
ANSWERED = ("verified", "canonical", "fitted")
FORMAT = 2
"""Version of the fields, in `to_dict` under `format`."""


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
    values_before: int = 1
    """How many values of this relation the item has; wording depends on it."""
    support: int | None = None
    """Items that have the value `after`."""
    along: bool = False
    """Whether it goes along with the change before it, as a category's parent; it counts as one
    with it."""


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
class Reason:
    """One part of a score. All parts add up to how far it is above the average unseen item's.

    A value and an item of the history count in full. What the values, and the history, do for the
    average unseen item is taken off by one part each (`usual values`, `usual history`); `own` is
    already relative to that item.
    """

    kind: Kind
    part: float
    id: str | None = None
    """Of the attribute or the item of the history."""
    name: str = ""
    relation: str | None = None
    relation_name: str = ""
    count: int | None = None
    """Items of the user that have the value; None where counts do not carry its effect."""
    usual: float | None = None
    """How many would be usual."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The smallest change found for one item, why the item stands where it does, and how both were
    checked.

    `why`: the changes take `item` out of the list and `replacement`, at rank k + 1 before, comes
    in. `why_not`: they bring `item` in and `replacement`, at rank k before, drops out. `cutoff`
    is the score of the replacement, which the item's own score has to pass.
    """

    user: str
    item: str
    k: int
    status: Status
    counterfactual_item: str | None
    """A real item that has all gained values; with `by` "agent", or where the path leads to it,
    the one the agent named."""
    replacement: str | None
    changes: tuple[Change, ...]
    path: tuple[Step, ...]
    rank_before: int | None
    """Rank among the items unseen by the user; None for an item the user knows."""
    rank_after: int | None
    score_before: float | None
    score_after: float | None
    cutoff: float | None
    certificate: Certificate | None
    text: str
    seconds: float = 0.0
    question: Asked = "why"
    by: By = "attributes"
    """What the answer changes: attributes of the item, toward the agent's item or freely, or the
    user's own history."""
    history: tuple[Named, ...] = ()
    """Items of the user without which the item would not be listed, or, for `why_not`, further ones
    with which it would be (`by` "history")."""
    names: tuple[Named, ...] = ()
    """Of user and item, then of counterfactual item and replacement, where there are any. What has
    no name of its own is named by its id."""
    reasons: tuple[Reason, ...] = ()
    """The parts of the score, largest first."""
    margin: float | None = None
    """How far beyond the cut-off the item comes to stand."""
    holds: float | None = None
    """Probability that the answer outlasts a tenth of the data; None where it is not known."""
    fidelity: float | None = None
    """R^2 of fitted effects on items they have not seen; None for the recommender's own."""
    notes: tuple[str, ...] = ()
    """What else to know, such as relations that were kept as they are."""
    alternatives: tuple[Explanation, ...] = ()
    """Other answers, on request; none gains what another one gains."""
    by_relation: tuple[Explanation, ...] = ()
    """The best answer within each relation alone, on request."""
    beside: Explanation | None = None
    """An answer of the other kind."""

    @property
    def size(self) -> int:
        """Number of changes, or of items of the history."""
        if self.by == "history":
            return len(self.history)
        return sum(not c.along for c in self.changes)

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return self.status in ANSWERED

    def name_of(self, item: str) -> str:
        """The name of item, counterfactual item or replacement, by id."""
        return next((n.name for n in self.names[1:] if n.id == item), item)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers; `from_dict` gives back an equal value."""
        return {"format": FORMAT} | {n: _plain(getattr(self, n)) for n in self.__slots__}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)

    @staticmethod
    def from_dict(plain: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` wrote."""
        read = {name: _READ.get(name, _same)(v) for name, v in plain.items() if name != "format"}
        return Explanation(**read)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from cerec.explain.html import explanation_html  # views import this module

        return explanation_html(self)

    def __rich__(self) -> Any:
        from cerec.explain.card import card

        return card(self)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, Explanation):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    return value


def _same(value: Any) -> Any:
    return value


def _step(plain: Mapping[str, Any]) -> Step:
    return Step(**{name: Named(**n) for name, n in plain.items()})


def _each(make: Callable[[Mapping[str, Any]], Any]) -> Callable[[Any], Any]:
    return lambda values: tuple(make(v) for v in values)


_READ: dict[str, Callable[[Any], Any]] = {
    "changes": _each(lambda c: Change(**c)),
    "path": _each(_step),
    "history": _each(lambda n: Named(**n)),
    "names": _each(lambda n: Named(**n)),
    "reasons": _each(lambda r: Reason(**r)),
    "notes": tuple,
    "alternatives": _each(Explanation.from_dict),
    "by_relation": _each(Explanation.from_dict),
    "beside": lambda e: None if e is None else Explanation.from_dict(e),
}


@dataclass(frozen=True, slots=True)
class Ranked:
    """One entry of a list of items."""

    item: str
    name: str
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What becomes of an item's rank, and of the list, had the item other attributes."""

    user: str
    item: str
    k: int
    attributes: tuple[tuple[str, str], ...]
    """The (relation, attribute) pairs tried, in the order of the vocabulary."""
    score_before: float
    score: float
    rank_before: int
    rank_after: int
    list: tuple[Ranked, ...]
    """The first k with the changed item."""

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Why one item stands before another, by the parts in which their scores differ."""

    user: str
    item: Named
    other: Named
    rank: int | None
    other_rank: int | None
    difference: float
    """Score of the item minus score of the other."""
    parts: tuple[Reason, ...]
    """They add up to the difference; the largest come first."""
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    def __str__(self) -> str:
        return self.text
