"""The `cerec` command. Importing numba takes a while: neither this file nor `app` imports it."""

from __future__ import annotations

import atexit
import gc
import signal
import sys
from collections.abc import Sequence

from cerec.shutdown import leaving_at_once


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit the process."""
    gc.disable()  # until all is imported: looking through modules for garbage takes a fifth of it
    with leaving_at_once():
        from cerec.cli.app import run
    code = run(argv)
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # all is done and said
    sys.exit(code)


if __name__ == "__main__":
    main()
