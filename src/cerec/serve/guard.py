"""What every request passes: host, token and size checks, headers, the access log, the counts."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import re
import secrets
import time
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cerec.serve.metrics import Metrics
from cerec.serve.problems import problem

log = logging.getLogger("cerec.serve")
access = logging.getLogger("cerec.access")

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RAW_HEADERS = [(k.lower().encode(), v.encode()) for k, v in SECURITY_HEADERS.items()]
OPEN = frozenset({"/", "/docs", "/health", "/ready"})
"""No run's data in these: they need no token."""
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{0,5})?")
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def is_loopback(host: str) -> bool:
    """True for names and addresses that only this machine can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may ask."""

    token: str | None = None
    """Bearer token every question must carry; None for no token."""
    loopback_only: bool = True
    """Answer only requests addressed to this machine's own names: a web page elsewhere whose name
    was made to point here (DNS rebinding) is refused.
    """
    origins: tuple[str, ...] = ()
    """Origins of other pages that may ask (CORS); none unless given."""


class Guard:
    """Refuses what must not reach the app."""

    def __init__(self, app: ASGIApp, who: Access, body: int, headers: int) -> None:
        self._app, self._who, self._body, self._headers = app, who, body, headers
        self._token = (who.token or "").encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["method"] == "HEAD":
            asked = {**scope, "method": "GET"}  # a copy: who writes the answer has to know
            await self(asked, receive, _headers_only(send))
            scope["route"] = asked.get("route")
            return
        refusal = self._refusal(scope, headers)
        if refusal is None and _BODY.isdisjoint(headers.keys()):  # no body to measure
            await self._app(scope, receive, send)
            return
        if refusal is None and _length(headers) <= self._body:
            try:
                body = await _read(receive, self._body)
            except ConnectionError:  # nobody is there to be answered
                return
            if body is not None:
                scope["cerec.body"] = body
                await self._app(scope, _replay(body, receive), send)
                return
        if refusal is None:
            refusal = problem(413, f"the body may hold {self._body} bytes", {"Connection": "close"})
        await refusal(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        if len(scope["headers"]) > self._headers:
            return problem(431, f"a request may have {self._headers} headers")
        if sum(name == b"host" for name, _ in scope["headers"]) > 1:
            return problem(400, "a request has one Host header", {"Connection": "close"})
        if self._who.loopback_only and not is_loopback(_hostname(headers.get("host", ""))):
            return problem(421, "this service answers to localhost only")
        path = scope["path"]
        if not self._token or path in OPEN or path.startswith("/static/"):
            return None
        kind, _, given = headers.get("authorization", "").partition(" ")
        # both sides as bytes: compare_digest refuses text outside ASCII
        same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token)
        if kind.lower() == "bearer" and same:
            return None
        return problem(401, "send the header 'Authorization: Bearer <token>'", _CHALLENGE)


_BODY = frozenset({"content-length", "transfer-encoding"})
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


def _hostname(host: str) -> str:
    """The name in a Host header; nothing where it is no name with or without a port."""
    found = _HOST.fullmatch(host)
    return found[1] if found else ""


def _headers_only(send: Send) -> Send:
    """What answers HEAD as GET, without the body."""

    async def bare(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return bare


def _length(headers: Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isdecimal() and len(text) < 19 else 1 << 62


async def _read(receive: Receive, most: int) -> bytes | None:
    """The whole body, or None when it is longer than `most`."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionAbortedError
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return first.pop() if first else await receive()

    return replayed


class Observe:
    """Adds the security headers, writes the access log, counts and times every answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and note what became of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, size, start = 0, 0, time.perf_counter()
        given = Headers(scope=scope).get("x-request-id", "")
        mark = given if _ID.fullmatch(given) else secrets.token_hex(8)

        async def noted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                own = (b"x-request-id", mark.encode())
                headers = message["headers"] = [*message["headers"], *_RAW_HEADERS, own]
                if all(name != b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-store"))
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:  # a bug: the trace goes to the log, not to the client
            log.exception("%s %s failed (request %s)", scope["method"], scope["path"], mark)
            if not status:
                answer = problem(500, "the service failed to answer; its log says more")
                await answer(scope, receive, noted)
        finally:
            seconds = time.perf_counter() - start
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "OTHER"
            self._metrics.observe(method, route, status, seconds)
            if access.isEnabledFor(logging.INFO):  # the query holds people's ids: it stays out
                path = scope["path"].encode("unicode_escape").decode()
                said = {"request": mark, "method": method, "path": path, "status": status}
                said |= {"bytes": size, "ms": round(seconds * 1e3, 1)}
                access.info("%s %s %d", method, path, status, extra={"said": said})


_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
