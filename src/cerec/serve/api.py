"""The endpoints. Ids are query parameters: they are people's own and may hold any character,
slashes and dots included, which a path cannot carry safely.
"""

# Annotations hold the limits of this very app, so they must be evaluated as written:
# no `from __future__ import annotations` in this file.
import json
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import Field, TypeAdapter
from starlette.responses import Response

from cerec.explain.explanation import Explanation, WhatIf
from cerec.serve import questions, schemas
from cerec.serve.gate import Gate
from cerec.serve.limits import Limits
from cerec.serve.problems import MEDIA_TYPE, encode
from cerec.serve.service import Service

_WORDS = {
    400: "The body is not JSON that can be read",
    401: "The token is missing or wrong",
    404: "An unknown id; `matches` holds near ones",
    413: "The body is too large",
    422: "A field is missing or out of range; `errors` names it",
    429: "Too many requests wait already",
    431: "The request has too many headers",
    503: "No answer within the time limit",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": words,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status, words in _WORDS.items()
}


def build_router(service: Service, limits: Limits, gate: Gate) -> APIRouter:
    """Routes under `/v1` that ask `service` through `gate`."""
    router = APIRouter(prefix="/v1", responses=PROBLEMS)
    _add_finding(router, service, limits, gate)
    _add_lists(router, service, limits, gate)
    _add_explaining(router, service, limits, gate)
    _add_run(router, service, gate)
    return router


async def _answer(gate: Gate, service: Service, kind: Any, question: Callable[[], Any]) -> Response:
    # checked and encoded on the worker's thread, which knows whom it asked
    body, version = await gate.run(lambda: (_encoded(kind, question()), service.version))
    return Response(body, headers=_version(version), media_type="application/json")


def _version(version: int) -> dict[str, str]:
    """Which version of the run an answer is from."""
    return {"Cerec-Run-Version": str(version)}


@cache
def _checker(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _encoded(kind: Any, answer: Any) -> bytes:
    """An answer as JSON; one that is not of its kind is a bug, and is not sent."""
    _checker(kind).validate_python(answer)
    return encode(answer)


UserId = Annotated[str, Query(min_length=1, max_length=512, description="Id of a user")]
HistoryIds = Annotated[
    list[questions.Id] | None,
    Query(min_length=1, max_length=1000, description="Items of somebody new; repeatable"),
]
ItemId = Annotated[str, Query(min_length=1, max_length=512, description="Id of an item")]
Text = Annotated[str, Query(max_length=200, description="Part of a name, or an id")]
Offset = Annotated[int, Query(ge=0, le=10_000_000, description="Entries to leave out")]


def _add_finding(router: APIRouter, service: Service, limits: Limits, gate: Gate) -> None:
    limit_type = Annotated[int, Query(ge=1, le=limits.results, description="Entries of the page")]

    @router.get("/users", response_model=schemas.Users, summary="Find users by id or name")
    async def users(q: Text = "", limit: limit_type = 20, offset: Offset = 0) -> Response:
        return await _answer(gate, service, schemas.Users, lambda: service.users(q, limit, offset))

    @router.get("/items", response_model=schemas.Items, summary="Find items by id or name")
    async def items(q: Text = "", limit: limit_type = 20, offset: Offset = 0) -> Response:
        return await _answer(gate, service, schemas.Items, lambda: service.items(q, limit, offset))

    @router.get("/values", response_model=schemas.ValueList, summary="Attributes of a relation")
    async def values(
        relation: Annotated[str, Query(min_length=1, max_length=512)],
        q: Text = "",
        limit: limit_type = 20,
        offset: Offset = 0,
    ) -> Response:
        return await _answer(
            gate, service, schemas.ValueList, lambda: service.values(relation, q, limit, offset)
        )

    @router.get("/history", response_model=schemas.History, summary="What a user took")
    async def history(user: UserId, limit: limit_type = 50, offset: Offset = 0) -> Response:
        return await _answer(
            gate, service, schemas.History, lambda: service.history(user, limit, offset)
        )


def _add_lists(router: APIRouter, service: Service, limits: Limits, gate: Gate) -> None:
    length = Annotated[int, Query(ge=1, le=limits.k, description="Length of the list")]

    @router.get("/recommendations", response_model=schemas.Recommendations, summary="A user's list")
    async def recommendations(
        user: UserId | None = None, history: HistoryIds = None, k: length = 20
    ) -> Response:
        return await _answer(
            gate,
            service,
            schemas.Recommendations,
            lambda: service.recommendations(user, history, k),
        )

    @router.get("/attributes", response_model=schemas.Attributes, summary="What an item has")
    async def attributes(
        item: ItemId,
        user: Annotated[
            str | None,
            Query(min_length=1, max_length=512, description="Adds `pull` for this user"),
        ] = None,
    ) -> Response:
        return await _answer(
            gate, service, schemas.Attributes, lambda: service.attributes(item, user)
        )


def _add_explaining(router: APIRouter, service: Service, limits: Limits, gate: Gate) -> None:
    explain = _question_type(limits)

    @router.post("/explanation", response_model=Explanation, summary="Why this item, or why not")
    async def explanation(question: Annotated[explain, Body()]) -> Response:  # type: ignore[valid-type]
        options = question.model_dump()  # type: ignore[attr-defined]
        pair = options.pop("user"), options.pop("item")
        if None in pair or options["history"] or options["why_not"]:
            named = options | dict(zip(("user", "item"), pair, strict=True))
            one = await gate.run(lambda: _explained(service, [service.explanation(**named)]))
            body, seconds, version = one[0]
        else:
            alike = {n: x for n, x in options.items() if n not in ("history", "why_not")}
            body, seconds, version = await gate.together(
                json.dumps(alike), pair, lambda pairs: _explained_many(service, pairs, alike)
            )
        headers = _version(version) | {"Server-Timing": f"explain;dur={seconds * 1e3:.2f}"}
        return Response(body, headers=headers, media_type="application/json")

    imagine = _what_if_type(limits)

    @router.post("/what-if", response_model=WhatIf, summary="The list had an item other attributes")
    async def what_if(question: Annotated[imagine, Body()]) -> Response:  # type: ignore[valid-type]
        asked = question.model_dump()  # type: ignore[attr-defined]
        return await _answer(gate, service, WhatIf, lambda: service.what_if(**asked))


Encoded = tuple[bytes, float, int]


def _explained_many(
    service: Service, pairs: list[tuple[str, str]], alike: dict[str, Any]
) -> list[Encoded]:
    return _explained(service, service.explanations(pairs, **alike))


def _explained(service: Service, found: list[Explanation]) -> list[Encoded]:
    return [(encode(e), e.seconds, service.version) for e in found]


def _add_run(router: APIRouter, service: Service, gate: Gate) -> None:
    @router.get("/run", response_model=schemas.RunFacts, summary="Data, model and metrics")
    async def run() -> Response:
        return await _answer(gate, service, schemas.RunFacts, lambda: service.facts())

    async def later(kind: Any, work: Future[dict[str, Any]]) -> Response:
        version, found = service.version, await gate.wait(work)
        return Response(
            _encoded(kind, found), headers=_version(version), media_type="application/json"
        )

    @router.get("/overview", response_model=schemas.Overview, summary="Training and explanations")
    async def overview() -> Response:
        return await later(schemas.Overview, service.overview())

    @router.get("/audit", response_model=schemas.Audit, summary="What the lists depend on")
    async def audit() -> Response:
        return await later(schemas.Audit, service.audit())

    @router.get("/trial", response_model=schemas.TrialAnswer, summary="One relation on trial")
    async def trial(
        relation: Annotated[str, Query(min_length=1, max_length=512, description="Its id")],
    ) -> Response:
        return await later(schemas.TrialAnswer, service.trial(relation))


def _question_type(limits: Limits) -> type[questions.ExplainQuestion]:
    """The question with this service's bounds in it."""

    class ExplainQuestion(questions.ExplainQuestion):
        k: int = Field(20, ge=1, le=limits.k, strict=True)
        lock: list[questions.Lock] = Field([], max_length=limits.locks)
        max_changes: int | None = Field(None, ge=1, le=limits.changes, strict=True)
        alternatives: int = Field(0, ge=0, le=limits.alternatives, strict=True)
        budget: float = Field(limits.budget, gt=0, le=limits.budget, allow_inf_nan=False)

    ExplainQuestion.__doc__ = questions.ExplainQuestion.__doc__
    return ExplainQuestion


def _what_if_type(limits: Limits) -> type[questions.WhatIfQuestion]:
    """The question with this service's bounds in it."""

    class WhatIfQuestion(questions.WhatIfQuestion):
        k: int = Field(20, ge=1, le=limits.k, strict=True)
        attributes: list[tuple[questions.Id, questions.Id]] = Field(max_length=limits.attributes)

    WhatIfQuestion.__doc__ = questions.WhatIfQuestion.__doc__
    return WhatIfQuestion
