"""HTTP as uvicorn reads it with httptools, with bounds on heads, connections and time.

uvicorn itself bounds none of these: httptools keeps a head of any length until it is complete, an
idle connection stays for ever, and so does a client that does not take its answer.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from cerec.serve.limits import Limits

_PIECE = 4096


def bounded(limits: Limits) -> type[HttpToolsProtocol]:
    """A protocol for `uvicorn.Config(http=...)` that keeps to `limits`."""
    return type("Bounded", (BoundedProtocol,), {"limits": limits, "idle": {}})


class BoundedProtocol(HttpToolsProtocol):
    """Counts the bytes in a row by which no head ended and no body came.

    So it bounds what a chunked body may be followed by (trailers) as well.
    """

    limits: ClassVar[Limits]
    idle: ClassVar[dict[BoundedProtocol, None]]
    """Connections without a complete request, those that wait longest first."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting = 0
        self._came = False
        self._timer: asyncio.TimerHandle | None = None
        self._cycles: list[RequestResponseCycle] = []

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; where there are too many, the one that is idle longest goes."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            if self.idle:
                next(iter(self.idle)).transport.abort()
            else:
                self._refuse(503, "too many connections")
                return
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self.idle.pop(self, None)
        self._end_by(None)
        for cycle in self._cycles:  # uvicorn tells the last one only
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self.idle[self] = None
        self._end_by(self.limits.read)

    def _end_by(self, seconds: float | None) -> None:
        """Close the connection after so many seconds, and not by an earlier deadline."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Read the data in pieces, so that the end of a head is seen near to where it is."""
        if self._timer is None:  # the first bytes of a further request
            self._await_request()
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            self._came = False
            super().data_received(piece)
            if self.transport.is_closing():
                return
            self._waiting = 0 if self._came else self._waiting + len(piece)
            if self._waiting > self.limits.head:
                most = self.limits.head
                self.logger.warning("Request head of more than %d bytes refused.", most)
                self._refuse(431, f"the first line and the headers may hold {most} bytes")
                return

    def on_headers_complete(self) -> None:
        """A head has ended."""
        self._came = True
        super().on_headers_complete()
        self._cycles = [c for c in self._cycles if not c.response_complete] + [self.cycle]

    def on_body(self, body: bytes) -> None:
        """A piece of the body has come."""
        self._came = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request has ended: from now on it is for us to answer, and for the client to read."""
        self._came = True
        self.idle.pop(self, None)
        self._end_by(self.limits.seconds + self.limits.write)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer has been written."""
        if not self.pipeline:
            self._end_by(None)
            self.idle[self] = None
        super().on_response_complete()

    def _refuse(self, status: int, words: str) -> None:
        """Answer and close; only close where an answer has begun."""
        if self.cycle is None or self.cycle.response_complete:
            text = words.encode()
            lines = (
                b"content-type: text/plain; charset=utf-8",
                b"content-length: " + str(len(text)).encode(),
                b"connection: close",
            )
            head = STATUS_LINE[status] + b"".join(line + b"\r\n" for line in lines)
            self.transport.write(head + b"\r\n" + text)
        self.transport.close()
