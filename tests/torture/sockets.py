"""Raw bytes against a listening service: no 5xx, no trace in its log, and /health answers."""

from __future__ import annotations

import logging
import random
import socket
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import cerec
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.serve.limits import Limits
from cerec.serve.service import Service
from live_server import listening
from mutations import mutate

_REQUESTS = (
    b"GET /v1/users?q=u HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /v1/recommendations?user=u01&k=3 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"HEAD /health HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n",
    b"POST /v1/explanation HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b'Content-Length: 34\r\n\r\n{"user":"u01","item":"m01","k": 5}',
    b"POST /v1/what-if HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'1f\r\n{"user":"u01","item":"m01","k":\r\n3\r\n 5}\r\n0\r\n\r\n',
)


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(logging.Formatter().format(record))


def run(
    folder: Path, rng: random.Random, end: float, counts: Counter[str], wrong: list[str]
) -> None:
    """Requests mutated, cut, glued together and abandoned, until `end`."""
    del folder
    data = make_world(WorldConfig(users=30, items=40, interactions=500), seed=0)
    service = Service(cerec.train(data, seed=0))
    errors = _Errors()
    logging.getLogger().addHandler(errors)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    limits = Limits(read=1.0, connections=50)
    with listening(service, limits=limits) as (url, _):
        to = urlsplit(url).hostname, urlsplit(url).port
        left: list[socket.socket] = []
        while time.monotonic() < end:
            seed = rng.randrange(1 << 60)
            own = random.Random(seed)
            sent = b"".join(own.choices(_REQUESTS, k=own.randint(1, 3)))
            if own.random() < 0.9:
                sent = mutate(sent, own)
            answer, client = _exchange(to, sent, own)
            kind = answer[9:12].decode("ascii", "replace") if answer else "closed"
            counts[f"raw request: {kind}"] += 1
            if kind.startswith("5") and kind != "503":
                wrong.append(f"socket {seed}: {answer[:200]!r} for {sent[:200]!r}")
            left.append(client)  # abandoned, not closed
            if len(left) > 100:
                left.pop(0).close()
            if own.random() < 0.02 and not _healthy(to):
                wrong.append(f"socket {seed}: /health did not answer")
        for client in left:
            client.close()
    wrong += [f"log: {said[-400:]}" for said in errors.said[:5]]
    logging.getLogger().removeHandler(errors)


def _exchange(
    to: tuple[object, object], sent: bytes, rng: random.Random
) -> tuple[bytes, socket.socket]:
    client = socket.create_connection(to, timeout=30)  # type: ignore[arg-type]
    try:
        at = rng.randint(0, len(sent))
        client.settimeout(0.3)
        client.sendall(sent[:at])
        client.sendall(sent[at:])
        return client.recv(4096), client
    except OSError:
        return b"", client


def _healthy(to: tuple[object, object]) -> bool:
    with socket.create_connection(to, timeout=30) as client:  # type: ignore[arg-type]
        client.sendall(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
        return client.recv(100).startswith(b"HTTP/1.1 200")
