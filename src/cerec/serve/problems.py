"""Errors as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from cerec.errors import CerecError, UnknownIdError
from cerec.explain.explanation import FORMAT, Explanation
from cerec.serve.gate import BusyError, TooSlowError

MEDIA_TYPE = "application/problem+json"
_TITLES = {
    400: "Bad request",
    401: "Token needed",
    404: "Not found",
    405: "Method not allowed",
    413: "Body too large",
    421: "Wrong host",
    422: "Invalid request",
    429: "Too many requests",
    431: "Headers too large",
    500: "Internal error",
    503: "Not available",
}


def _plain(value: Any) -> dict[str, Any]:
    """The fields of a frozen value; an explanation without the seconds it took."""
    found = {name: getattr(value, name) for name in value.__slots__ if name != "seconds"}
    return {"format": FORMAT, **found} if isinstance(value, Explanation) else found


_JSON = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False, default=_plain
)


def encode(value: Any) -> bytes:
    """JSON in UTF-8; a lone surrogate, which UTF-8 cannot carry, becomes `?`."""
    text = _JSON.encode(value)
    return text.encode("utf-8", "replace")


def problem(
    status: int, detail: str, headers: dict[str, str] | None = None, **more: Any
) -> Response:
    """One problem: `title` for the kind, `detail` for this case, `more` for programs."""
    title = _TITLES.get(status, "Error")
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return Response(encode(body), status, headers=headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Turn every mistake of a client into a problem."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(CerecError, _mistake)
    app.add_exception_handler(BusyError, _busy)
    app.add_exception_handler(TooSlowError, _too_slow)


async def _invalid(_request: Request, error: Exception) -> Response:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    errors = [{"field": _field(e["loc"]), "message": str(e["msg"])} for e in found]
    detail = "; ".join(f"{e['field']}: {e['message']}" for e in errors[:3])
    return problem(422, detail, errors=errors[:20])


def _field(loc: tuple[Any, ...]) -> str:
    # ("query", "k") -> k, ("body", "attributes", 3, "relation") -> attributes.3.relation
    parts = [str(p) for p in loc[1:]] if loc and loc[0] in {"query", "body"} else map(str, loc)
    return ".".join(parts) or "body"


async def _http(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return problem(error.status_code, str(error.detail), dict(error.headers or {}))


async def _mistake(_request: Request, error: Exception) -> Response:
    if isinstance(error, UnknownIdError):
        return problem(404, str(error), kind=error.kind, matches=list(error.matches))
    field = getattr(error, "field", None)
    errors = [{"field": field, "message": str(error)}] if field else []
    return problem(422, str(error), errors=errors)


def busy() -> Response:
    """What to say when all places are taken."""
    return problem(429, "all places are taken; try again in a second", {"Retry-After": "1"})


async def _busy(_request: Request, _error: Exception) -> Response:
    return busy()


async def _too_slow(_request: Request, _error: Exception) -> Response:
    return problem(503, "no answer within the time limit; ask for less", {"Retry-After": "5"})
