"""Stopping when asked: the first Ctrl-C or SIGTERM ends the work at the next good moment."""

from __future__ import annotations

import logging
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


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Within it the first Ctrl-C or SIGTERM only sets `asked`; the second interrupts at once.

    Signals that were ignored stay ignored. Outside the main thread, where Python has no signals,
    nothing is ever asked.
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
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
