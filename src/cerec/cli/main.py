"""The `cerec` command. Importing torch and numba takes seconds: this file imports neither."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit the process."""
    with _leaving_at_once():
        from cerec.cli.app import run
    code = run(argv)
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # all is done and said
    sys.exit(code)


@contextmanager
def _leaving_at_once() -> Iterator[None]:
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


if __name__ == "__main__":
    main()
