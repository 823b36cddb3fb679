"""What may be asked, for the OpenAPI description and for checking input."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Id = Annotated[str, Field(min_length=1, max_length=512, examples=["42"])]
Lock = Id | tuple[Id, Id]
History = Annotated[list[Id], Field(min_length=1, max_length=10_000)]


class ExplainQuestion(BaseModel):
    """`item` for why it is in the list, or `why_not` for why another is not; one of the two."""

    user: Id | None = None
    history: History | None = None
    """Items of somebody who is not in the data, in place of `user`."""
    item: Id | None = None
    why_not: Id | None = None
    k: int = 20
    """Length of the list."""
    lock: list[Lock] = []
    """Relations, or (relation, attribute) pairs, that must stay as they are."""
    max_changes: int | None = None
    """Most changes an answer may make."""
    alternatives: int = 0
    """How many other answers to add."""
    budget: float = 1.0
    """Seconds to search."""
    by: Literal["attributes", "history", "both", "agent"] | None = None
    """Change attributes, the user's history, both, or attributes toward the agent's item. Null:
    attributes where they give an answer, else the history."""
    changes: Literal["replace", "remove", "any"] = "replace"
    """The kind of changes."""
    prefer: Literal["decisive", "near"] = "decisive"
    """Of equally small changes: what moves the score most, or what is near a real item."""
    scope: Literal["value", "item"] = "value"
    """Gain any values, or only such as one real item has together."""
    unlock: list[Id] = []
    """Relations that may change although they look computed from what people did."""
    robust: float | None = Field(None, gt=0, lt=1, allow_inf_nan=False)
    """Only an answer that holds with this probability if a tenth of the data is missing."""
    relations: bool = False
    """Whether to add the best answer within each relation alone."""
    model_config = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_extra={
            "examples": [
                {"user": "42", "item": "7", "k": 20, "lock": ["genre"], "alternatives": 2},
                {"user": "42", "why_not": "9"},
                {"history": ["3", "14", "15"], "item": "7"},
            ]
        },
    )


class WhatIfQuestion(BaseModel):
    """An item imagined with exactly these attributes."""

    user: Id | None = None
    history: History | None = None
    """Items of somebody who is not in the data, in place of `user`."""
    item: Id
    attributes: list[tuple[Id, Id]]
    """(relation, attribute) pairs."""
    k: int = 20
    """Length of the list."""
    model_config = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_extra={
            "examples": [
                {"user": "42", "item": "7", "attributes": [["director", "michael-mann"]], "k": 20}
            ]
        },
    )
