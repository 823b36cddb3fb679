"""What the service answers: every answer is checked against its model before it is sent.

Explanations and lines of lists are described by the frozen values of the library itself.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from cerec.explain.explanation import Named


class UserFound(BaseModel):
    """A user; `history` counts what the recommender knows the user took."""

    id: str
    name: str
    history: int


class ItemFound(BaseModel):
    """An item; `users` counts who took it."""

    id: str
    name: str
    users: int


class ValueFound(BaseModel):
    """An attribute; `items` counts who has it by this relation."""

    id: str
    name: str
    items: int


class Users(BaseModel):
    """One page of users."""

    total: int
    results: list[UserFound]


class Items(BaseModel):
    """One page of items."""

    total: int
    results: list[ItemFound]


class ValueList(BaseModel):
    """One page of attributes of one relation."""

    total: int
    results: list[ValueFound]


class History(BaseModel):
    """One page of what a user took."""

    user: Named
    total: int
    results: list[Named]


class Listed(BaseModel):
    """One entry of a list, with a few of its attributes."""

    item: str
    name: str
    score: float
    rank: int
    about: str


class Recommendations(BaseModel):
    """A user's list, best first."""

    user: Named
    k: int
    results: list[Listed]
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "user": {"id": "42", "name": "42"},
                    "k": 1,
                    "results": [
                        {"item": "7", "name": "Heat", "score": 3.25, "rank": 1, "about": "Crime"}
                    ],
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


class RunFacts(BaseModel):
    """Data, model, metrics and settings of the run."""

    name: str
    data: dict[str, int]
    relations: list[dict[str, Any]]
    recommender: str
    effects: str
    fidelity: float | None
    histories: bool
    """Whether it scores histories, so that an answer can be by them."""
    metrics: dict[str, Any]
    settings: dict[str, Any]
    notes: list[str]


class Overview(BaseModel):
    """Training curves, what explains everybody's list, and a closer look at a fixed sample."""

    history: list[dict[str, Any]]
    sample: dict[str, float | None]
    pairs: int
    """Listed items that `coverage` and `status` count."""
    coverage: float | None
    status: dict[str, int]
    certificates: dict[str, int]
    sizes: list[dict[str, int]]
    falls: list[dict[str, int]]


class Audit(BaseModel):
    """What the order of the lists depends on, as `cerec.audit.Findings` has it, and in words."""

    model_config = ConfigDict(extra="allow")
    text: str
    k: int
    users: int
    pairs: int
    parameters: list[dict[str, Any]]
    values: list[dict[str, Any]]
    segments: list[dict[str, Any]]
    signs: list[dict[str, Any]]


class TrialAnswer(BaseModel):
    """Whether a relation decides who is shown, as `cerec.audit.Trial` has it, and in words."""

    model_config = ConfigDict(extra="allow")
    text: str
    attribute: str
    name: str
    k: int
    users: int
    pairs: int
    depends: dict[str, float | None]
    values: list[dict[str, Any]]


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
