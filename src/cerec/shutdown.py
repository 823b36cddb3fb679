"""Stopping when asked: the first Ctrl-C or SIGTERM ends the work at the next good moment."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

log = logging.getLogger("cerec")


@dataclass(slots=True)
class Stop:
    """Whether somebody asked to stop."""

    asked: bool = False


def of_interrupt(error: BaseException | None) -> bool:
    """True where an interrupt is at the root: out of a compiled kernel comes a SystemError of it.

    A kernel that called another gives a SystemError of a SystemError.
    """
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Within it the first Ctrl-C or SIGTERM only sets `asked`; the second interrupts at once.

    Signals that were ignored stay ignored. Outside the main thread, where Python has no signals,
    nothing is ever asked. What an interrupt becomes within a compiled kernel is one again.
    """
    stop = Stop()
    before = {}

    def ask(number: int, frame: FrameType | None) -> None:
        del number, frame
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True
        log.warning("stopping after this epoch; once more to stop at once")

    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    before[number] = signal.signal(number, ask)
        yield stop
    except SystemError as error:
        if not of_interrupt(error):
            raise
        raise KeyboardInterrupt from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """Within it Ctrl-C ends the process: there is nothing to lose, and no import is torn apart."""
    main_thread = threading.current_thread() is threading.main_thread()
    if not main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    del number, frame
    os.write(2, b"cerec: stopped\n")
    os._exit(130)
