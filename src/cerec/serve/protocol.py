"""HTTP as uvicorn reads it with httptools, with a bound on what it holds back.

httptools keeps the first line and the headers of a request until they are complete, and so it
keeps a header of any length. uvicorn bounds them with h11 alone.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from cerec.serve.limits import Limits

_PIECE = 4096


def bounded(limits: Limits) -> type[HttpToolsProtocol]:
    """A protocol for `uvicorn.Config(http=...)` that answers 431 to longer heads and closes."""

    class Bounded(BoundedProtocol):
        most = limits.head

    return Bounded


class BoundedProtocol(HttpToolsProtocol):
    """Counts the bytes in a row by which no head ended and no body came.

    So it bounds what a chunked body may be followed by (trailers) as well.
    """

    most: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting = 0
        self._came = False

    def data_received(self, data: bytes) -> None:
        """Read the data in pieces, so that the end of a head is seen near to where it is."""
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            self._came = False
            super().data_received(piece)
            if self.transport.is_closing():
                return
            self._waiting = 0 if self._came else self._waiting + len(piece)
            if self._waiting > self.most:
                self._refuse()
                return

    def on_headers_complete(self) -> None:
        """A head has ended."""
        self._came = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body has come."""
        self._came = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request has ended."""
        self._came = True
        super().on_message_complete()

    def _refuse(self) -> None:
        """Answer 431 and close; only close where an answer has begun."""
        self.logger.warning("Request head of more than %d bytes refused.", self.most)
        if self.cycle is None or self.cycle.response_complete:
            text = f"the first line and the headers may hold {self.most} bytes".encode()
            lines = (
                b"content-type: text/plain; charset=utf-8",
                b"content-length: " + str(len(text)).encode(),
                b"connection: close",
            )
            head = STATUS_LINE[431] + b"".join(line + b"\r\n" for line in lines)
            self.transport.write(head + b"\r\n" + text)
        self.transport.close()
