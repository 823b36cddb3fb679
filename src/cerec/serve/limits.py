"""How much one request may ask for, and how many may wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from cerec.errors import ConfigError
from cerec.threads import cores

T = TypeVar("T")


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
    workers: int = field(default_factory=cores)
    """Threads that answer."""
    waiting: int = 128
    """Requests that may wait for a thread; more are answered with 429."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            least = 0 if name == "waiting" else 1e-3 if isinstance(value, float) else 1
            if not value >= least:
                raise ConfigError(f"limits.{name} must be at least {least}, got {value}")


class BusyError(Exception):
    """Too many requests wait already."""


class TooSlowError(Exception):
    """No answer within `Limits.seconds`."""


class Gate:
    """Runs questions on a few threads, lets a bounded number wait, and refuses the rest.

    Belongs to one event loop. A place is given back when the work itself has ended, not when
    its client has gone, so the bound holds whatever clients do.
    """

    def __init__(self, limits: Limits) -> None:
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="cerec-answer")
        self._seconds = limits.seconds
        self.places = limits.workers + limits.waiting
        self.inside = 0
        self.refused = 0

    async def run(self, question: Callable[[], T]) -> T:
        """The answer to `question`, computed on a thread.

        Raises `BusyError` at once when all places are taken, and `TooSlowError` after the
        time-out; a question that has not begun by then is dropped.
        """
        if self.inside >= self.places:
            self.refused += 1
            raise BusyError
        self.inside += 1
        loop = asyncio.get_running_loop()
        work = self._pool.submit(question)
        work.add_done_callback(lambda done: self._release(loop, done))
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(work)
        except TimeoutError:
            raise TooSlowError from None

    async def wait(self, work: Future[T]) -> T:
        """The result of work that runs elsewhere, shared with others; it takes no place."""
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.shield(asyncio.wrap_future(work))
        except TimeoutError:
            raise TooSlowError from None

    def _release(self, loop: asyncio.AbstractEventLoop, _done: Future[T]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        self.inside -= 1

    def close(self) -> None:
        """Drop what has not begun and wait for what has."""
        self._pool.shutdown(wait=True, cancel_futures=True)
