"""The answer to "why this?": a frozen value that can be checked again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

Status = Literal["verified", "not_found", "no_attributes", "not_recommended", "timed_out"]
Certificate = Literal["minimum", "irreducible"]
Question = Literal["why", "why_not"]
FoundBy = Literal["proposer", "effects", "all_items"]


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
    """The smallest change found for one recommended item, and how it was checked.

    `why`: the changes take `item` out of the list and `replacement`, at rank k + 1 before, comes
    in. `why_not`: they bring `item` in and `replacement`, at rank k before, drops out. `cutoff`
    is the score of the replacement, which the item's own score has to pass.
    """

    user: str
    item: str
    k: int
    status: Status
    counterfactual_item: str | None
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
    """`minimum`: no fewer changes towards the counterfactual item flip. `irreducible`: none of
    these changes can be left out."""
    text: str
    seconds: float
    question: Question = "why"
    names: tuple[Named, ...] = ()
    """Of user and item, then of counterfactual item and replacement, where there are any. What has
    no name of its own is named by its id."""
    target: tuple[tuple[str, str], ...] = ()
    """(relation, attribute) of the counterfactual item that the item lacks: the paper's set."""
    similarity: float | None = None
    """Cosine of the vectors of item and counterfactual item."""
    found_by: FoundBy | None = None
    """Who named the counterfactual item: the proposer; the effects of the values, where the
    proposer's best took many changes; or the search over all items, where it had none."""
    bound: int | None = None
    """No counterfactual item at all allows fewer changes than this; None when not asked for, or
    when no change of values flips."""
    fidelity: float | None = None
    """Held-out R^2 of the fitted effects; None when the effects are the recommender's own."""
    alternatives: tuple[Explanation, ...] = ()
    """Other answers, on request; none takes away only what another one takes away too."""

    @property
    def size(self) -> int:
        """Number of changes."""
        return len(self.changes)

    @property
    def paper_attributes(self) -> tuple[tuple[str, str], ...]:
        """The paper's explanation: every value of the counterfactual item that the item lacks."""
        return self.target

    def name_of(self, item: str) -> str:
        """The name of item, counterfactual item or replacement, by id."""
        return next((n.name for n in self.names[1:] if n.id == item), item)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers; `from_dict` gives back an equal value."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)

    @staticmethod
    def from_dict(plain: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` wrote."""
        return Explanation(**dict(_restored(plain)))

    def __str__(self) -> str:
        return self.text


def filled(fresh: Explanation, **values: Any) -> Explanation:
    """Set fields of an explanation that nobody else holds yet: a third of the cost of `replace`."""
    for name, value in values.items():
        object.__setattr__(fresh, name, value)
    return fresh


def _plain(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    return [_DICT[type(v)](v) if type(v) in _DICT else list(v) for v in value]


def _named(n: Named) -> dict[str, Any]:
    return {"id": n.id, "name": n.name}


def _change(c: Change) -> dict[str, Any]:
    return {name: getattr(c, name) for name in Change.__slots__}


def _step(s: Step) -> dict[str, Any]:
    return {name: _named(getattr(s, name)) for name in Step.__slots__}


_DICT: dict[type, Callable[[Any], dict[str, Any]]] = {
    Named: _named,
    Change: _change,
    Step: _step,
    Explanation: Explanation.to_dict,
}


def _restored(plain: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in plain.items():
        if name == "changes":
            yield name, tuple(Change(**c) for c in value)
        elif name == "path":
            yield name, tuple(Step(**{k: Named(**n) for k, n in s.items()}) for s in value)
        elif name == "names":
            yield name, tuple(Named(**n) for n in value)
        elif name == "alternatives":
            yield name, tuple(Explanation.from_dict(e) for e in value)
        elif name == "target":
            yield name, tuple((r, a) for r, a in value)
        else:
            yield name, value


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
        plain: dict[str, Any] = {
            f.name: getattr(self, f.name) for f in fields(self) if f.name != "list"
        }
        plain["attributes"] = [[r, a] for r, a in self.attributes]
        plain["list"] = [{f.name: getattr(e, f.name) for f in fields(e)} for e in self.list]
        return plain
