"""What goes in and what comes out, for the OpenAPI description and for checking input."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Named(BaseModel):
    """An id and its name for people; the name is the id where there is no other."""

    id: str
    name: str


class UserFound(Named):
    """A user; `history` counts what the recommender knows the user took."""

    history: int


class ItemFound(Named):
    """An item; `users` counts who took it."""

    users: int


class ValueFound(Named):
    """An attribute; `items` counts who has it by this relation."""

    items: int


class Users(BaseModel):
    """One page of users."""

    total: int
    results: list[UserFound]


class Items(BaseModel):
    """One page of items."""

    total: int
    results: list[ItemFound]


class Values(BaseModel):
    """One page of attributes of one relation."""

    total: int
    results: list[ValueFound]


class History(BaseModel):
    """One page of what a user took."""

    user: Named
    total: int
    results: list[Named]


class Recommendation(BaseModel):
    """One entry of a list."""

    item: str
    name: str
    score: float
    rank: int


class Recommendations(BaseModel):
    """A user's list, best first."""

    user: Named
    k: int
    results: list[Recommendation]
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "user": {"id": "42", "name": "42"},
                    "k": 1,
                    "results": [{"item": "7", "name": "Heat", "score": 3.25, "rank": 1}],
                }
            ]
        }
    )


class Attribute(BaseModel):
    """One attribute of an item."""

    relation: Named
    attribute: Named
    items: int
    pull: float | None
    """What the score would lose without it; null when no user was named."""


class Attributes(BaseModel):
    """What is known of an item."""

    item: Named
    total: int
    results: list[Attribute]


class Change(BaseModel):
    """One value of one relation replaced, added (`before` null) or removed (`after` null)."""

    relation: str
    before: str | None
    after: str | None
    relation_name: str
    before_name: str | None
    after_name: str | None
    model_config = ConfigDict(extra="allow")


class Step(BaseModel):
    """`item` has `attribute` by `relation`; `to_item` has it by `to_relation`."""

    item: Named
    relation: Named
    attribute: Named
    to_relation: Named
    to_item: Named


class Reason(BaseModel):
    """One part of a score; the parts add up to the lead over the average unseen item."""

    model_config = ConfigDict(extra="allow")


class Explanation(BaseModel):
    """The smallest change found, and how it was checked. How long it took is in `Server-Timing`."""

    user: str
    item: str
    k: int
    question: Literal["why", "why_not"]
    status: Literal[
        "verified",
        "canonical",
        "fitted",
        "not_found",
        "no_attributes",
        "not_recommended",
        "timed_out",
    ]
    by: Literal["attributes", "history", "agent"]
    counterfactual_item: str | None
    replacement: str | None
    changes: list[Change]
    path: list[Step]
    rank_before: int | None
    rank_after: int | None
    score_before: float | None
    score_after: float | None
    cutoff: float | None
    certificate: Literal["minimum", "toward", "irreducible"] | None
    text: str
    names: list[Named]
    history: list[Named]
    reasons: list[Reason]
    margin: float | None
    holds: float | None
    notes: list[str]
    alternatives: list[Explanation]
    by_relation: list[Explanation]
    beside: Explanation | None
    model_config = ConfigDict(extra="allow")


class WhatIf(BaseModel):
    """What would become of the item and of the list."""

    user: str
    item: str
    k: int
    attributes: list[tuple[str, str]]
    score_before: float
    score: float
    rank_before: int | None
    rank_after: int | None
    list: list[Recommendation]
    model_config = ConfigDict(extra="allow")


class RunFacts(BaseModel):
    """Data, model, metrics and settings of the run."""

    name: str
    data: dict[str, int]
    relations: list[dict[str, Any]]
    recommender: str
    effects: str
    fidelity: float | None
    metrics: dict[str, Any]
    settings: dict[str, Any]
    notes: list[str]


class Overview(BaseModel):
    """Training curves, and explanations over a fixed sample of users."""

    history: list[dict[str, Any]]
    sample: dict[str, int]
    coverage: float | None
    status: dict[str, int]
    certificates: dict[str, int]
    sizes: list[dict[str, int]]
    falls: list[dict[str, int]]
    decisive: list[dict[str, Any]]
    relations: list[dict[str, Any]]


class FieldError(BaseModel):
    """What is wrong with one field."""

    field: str
    message: str


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] | None = None
    kind: str | None = None
    matches: list[str] | None = None
    """Ids near the unknown one."""
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not found",
                    "status": 404,
                    "detail": "unknown user '4z'; did you mean '42'?",
                    "kind": "user",
                    "matches": ["42"],
                }
            ]
        }
    )
