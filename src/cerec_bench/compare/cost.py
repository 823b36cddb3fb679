"""What a piece of work takes: wall time, CPU time and peak memory."""

from __future__ import annotations

import contextlib
import resource
import time
from pathlib import Path
from types import TracebackType

_CLEAR, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


class Meter:
    """`with Meter() as meter: ...`, then `seconds`, `cpu_seconds` and `peak_mb` of the block.

    On Linux the peak of resident memory is counted from the start of the block; elsewhere it is
    that of the process so far.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0

    def __enter__(self) -> Meter:
        with contextlib.suppress(OSError):  # not Linux, or not allowed
            _CLEAR.write_text("5")  # forget the peak so far
        self._started, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds = time.perf_counter() - self._started
        self.cpu_seconds = time.process_time() - self._cpu
        self.peak_mb = _peak_mb()


def _peak_mb() -> float:
    with contextlib.suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
