"""Running the service: address, token, start and graceful stop of one process."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cerec.errors import ConfigError
from cerec.serve.guard import is_loopback
from cerec.serve.limits import Limits

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

STOP_SECONDS = 15
_SWITCH_SECONDS = 5e-4  # how long a computing thread may keep the loop from answering others


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the service listens and who may ask."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0 takes a free port."""
    token: str | None = None
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"port must be between 0 and 65535, got {self.port}")
        if self.token is not None and len(self.token) < 16:
            raise ConfigError("the token must have at least 16 characters")
        if self.token is None and not is_loopback(self.host):
            raise ConfigError(
                f"listening on {self.host!r} lets other machines in, so a token is required: "
                "set CEREC_TOKEN or give --token-file, or stay on 127.0.0.1"
            )


def listen(address: Address) -> socket.socket:
    """A bound socket; an address in use or not ours is said in one line."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on {address.host}:{address.port}: {error.strerror}; "
            "choose another --host or --port"
        ) from None
    return listener


def url_of(listener: socket.socket) -> str:
    """The page's address."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


def http_config(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    """How uvicorn reads requests and answers them, within `limits`."""
    import uvicorn

    from cerec.serve.protocol import bounded

    return uvicorn.Config(
        app,
        http=bounded(limits),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=STOP_SECONDS,
    )


Beat = Callable[[], Awaitable[None]]


def run_app(
    app: ASGIApp,
    listener: socket.socket,
    limits: Limits,
    *,
    started: Callable[[str], None] = lambda _url: None,
    beside: Beat | None = None,
) -> None:
    """Run an app on a bound socket until SIGINT or SIGTERM, then finish what has begun.

    `beside` runs on the same loop meanwhile.
    """
    import uvicorn

    sys.setswitchinterval(_SWITCH_SECONDS)
    config = http_config(app, limits)
    listener.listen(config.backlog)  # who comes between these lines waits and is not refused
    started(url_of(listener))

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Stop on a signal; uvicorn raises it again afterwards, so that we would not exit 0."""
            names = (signal.SIGINT, signal.SIGTERM)
            before = {number: signal.signal(number, self.handle_exit) for number in names}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    async def work() -> None:
        async with _beside(beside):
            await Server(config).serve(sockets=[listener])

    with listener, asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(work())


@asynccontextmanager
async def _beside(work: Beat | None) -> AsyncIterator[None]:
    task = None if work is None else asyncio.ensure_future(work())
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
