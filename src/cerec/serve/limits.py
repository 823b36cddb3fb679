"""How much one request may ask for, and how many may wait."""

from __future__ import annotations

from dataclasses import dataclass

from cerec.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of the service; every one of them is in the OpenAPI description or in an answer."""

    body: int = 256 * 1024
    """Bytes of a request's body."""
    head: int = 32 * 1024
    """Bytes of a request's first line and headers, to within a read of 4 KiB."""
    headers: int = 100
    """Headers of a request."""
    k: int = 200
    """Length of a list."""
    results: int = 100
    """Entries of one page of a search or a history."""
    alternatives: int = 8
    """Answers of one explanation."""
    changes: int = 64
    """`max_changes` of one explanation."""
    locks: int = 32
    """Locked relations and attributes of one explanation."""
    attributes: int = 10_000
    """Attributes of one what-if question."""
    budget: float = 2.0
    """Seconds one explanation may search."""
    seconds: float = 10.0
    """Seconds until a request is answered with 503, waiting included."""
    threads: int = 2
    """Threads of a process that answer."""
    waiting: int = 64
    """Requests that may wait for a thread of a process; more are answered with 429."""
    connections: int = 1024
    """Connections of a process; for one more, that goes which has been idle longest."""
    read: float = 10.0
    """Seconds a client may take to send a request."""
    write: float = 20.0
    """Seconds a client may take to receive an answer."""
    kept: int = 32 * 1024 * 1024
    """Bytes of answers that a process keeps for equal questions."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            least = 0 if name in ("waiting", "kept") else 1e-3 if isinstance(value, float) else 1
            if not value >= least:
                raise ConfigError(f"limits.{name} must be at least {least}, got {value}")
