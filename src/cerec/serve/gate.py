"""The threads that answer, and the bounded queue before them."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from cerec.serve.limits import Limits

Q = TypeVar("Q")
T = TypeVar("T")
_TOGETHER = 32
"""Questions answered in one go at the most."""


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
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="cerec-answer")
        self._seconds = limits.seconds
        self._waiting: dict[Hashable, deque[tuple[Any, Future[Any]]]] = {}
        self._lock = threading.Lock()
        self.places = limits.threads + limits.waiting
        self.inside = 0
        self.refused = 0

    @property
    def full(self) -> bool:
        """Whether all places are taken."""
        return self.inside >= self.places

    async def run(self, question: Callable[[], T]) -> T:
        """The answer to `question`, computed on a thread.

        Raises `BusyError` at once when all places are taken, and `TooSlowError` after the
        time-out; a question that has not begun by then is dropped.
        """
        loop = self._enter()
        work = self._pool.submit(question)
        work.add_done_callback(lambda _: self._release(loop))
        return await self._within(work)

    async def together(self, kind: Hashable, one: Q, answer: Callable[[list[Q]], list[T]]) -> T:
        """The answer to `one`, worked out with others of its kind that wait at the same time.

        `answer` gives the answers to several; where it fails, each is asked by itself.
        """
        loop = self._enter()
        work: Future[T] = Future()
        work.add_done_callback(lambda _: self._release(loop))
        with self._lock:
            self._waiting.setdefault(kind, deque()).append((one, work))
        self._pool.submit(self._take, kind, answer)
        return await self._within(work)

    def _take(self, kind: Hashable, answer: Callable[[list[Any]], list[Any]]) -> None:
        """Answer what waits of a kind; nothing where another thread has done it already."""
        with self._lock:
            waiting = self._waiting.get(kind, deque())
            found = [waiting.popleft() for _ in range(min(len(waiting), _TOGETHER))]
            if not waiting:
                self._waiting.pop(kind, None)
        some = [(one, work) for one, work in found if work.set_running_or_notify_cancel()]
        try:
            answers = answer([one for one, _ in some]) if some else []
        except Exception as error:
            if len(some) == 1:
                some[0][1].set_exception(error)
            else:
                self._each(some, answer)
            return
        for (_, work), found_one in zip(some, answers, strict=True):
            work.set_result(found_one)

    def _each(
        self, some: list[tuple[Any, Future[Any]]], answer: Callable[[list[Any]], list[Any]]
    ) -> None:
        for one, work in some:
            try:
                work.set_result(answer([one])[0])
            except Exception as error:
                work.set_exception(error)

    def _enter(self) -> asyncio.AbstractEventLoop:
        if self.full:
            self.refused += 1
            raise BusyError
        self.inside += 1
        return asyncio.get_running_loop()

    async def _within(self, work: Future[T]) -> T:
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

    def _release(self, loop: asyncio.AbstractEventLoop) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        self.inside -= 1

    def close(self) -> None:
        """Drop what has not begun and wait for what has."""
        self._pool.shutdown(wait=True, cancel_futures=True)
