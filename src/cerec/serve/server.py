"""Running the service: address, token, start and graceful stop."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cerec.errors import ConfigError
from cerec.serve.guard import Access, is_loopback
from cerec.serve.limits import Limits
from cerec.serve.service import Service

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

_STOP_SECONDS = 15
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
    """How uvicorn reads requests and answers them, heads bounded whichever parser is there."""
    import uvicorn

    http: type[asyncio.Protocol] | str = "h11"
    if importlib.util.find_spec("httptools") is not None:
        from cerec.serve.protocol import bounded

        http = bounded(limits)
    return uvicorn.Config(
        app,
        http=http,
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_STOP_SECONDS,
        limit_concurrency=None,
        h11_max_incomplete_event_size=limits.head,
    )


def serve(
    service: Service,
    listener: socket.socket,
    address: Address,
    *,
    limits: Limits | None = None,
    started: Callable[[str], None] = lambda _url: None,
) -> None:
    """Answer until SIGINT or SIGTERM, then finish what has begun (up to 15 seconds) and return."""
    from cerec.serve.app import create_app

    limits = limits or Limits()
    who = Access(
        token=address.token, loopback_only=is_loopback(address.host), origins=address.origins
    )
    logging.getLogger("cerec.access").setLevel(logging.INFO)
    sys.setswitchinterval(_SWITCH_SECONDS)
    app = create_app(service, limits=limits, access=who)
    run_app(app, listener, limits, started=started)


def run_app(
    app: ASGIApp,
    listener: socket.socket,
    limits: Limits,
    *,
    started: Callable[[str], None] = lambda _url: None,
) -> None:
    """Run an app on a bound socket until a signal stops it."""
    import uvicorn

    config = http_config(app, limits)
    listener.listen(config.backlog)  # who comes between these lines waits and is not refused
    started(url_of(listener))
    with listener:
        uvicorn.Server(config).run(sockets=[listener])
