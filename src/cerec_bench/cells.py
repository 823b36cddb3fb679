"""One store of results: a cell is one computation, kept under all that it depends on.

    cells = Cells(Path("results/mine"))
    cell = cells.get("ease", {"data": data.fingerprint, "l2": 1.0}, compute)
    cell.found["recall@20"]

`compute()` gives a table of JSON values, or such a table and named arrays. What is there is not
computed again, so a stopped experiment continues with the same command. Raise `recipe` where
the same inputs are measured in another way: older cells are then not read.

An experiment needs no code here. It is a function and a file of settings:

    def measure(job):                             # your_module.py
        lists = subject_lists(job.run().subject, job.parts.train, 20)
        return {"coverage": len(np.unique(lists)) / len(job.data.items)}

    title = "How much of the catalogue is listed?"       # experiments/coverage.toml
    [[part]]
    kind = "your_module:measure"
    sets = ["demo", "ml-100k"]
    columns = {"coverage" = "coverage"}

Then `cerec bench run coverage` (or `cerec bench run your_folder/coverage.toml`) computes what is
missing and writes its page. `plans.files` says what else a file may hold.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.errors import CerecError
from cerec.files import finite, read_arrays, read_json, write_arrays, write_json
from cerec.runs.folder import versions

Table = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
Compute = Callable[[], Table | tuple[Table, Arrays]]
FORMAT = 2
_CLEAR, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class Cell:
    """A finished computation."""

    path: Path
    depends: Table
    found: Table
    """Empty where the computation was refused."""
    about: Table
    """Command, commit, versions, time, and what it took: `seconds`, `cpu_seconds`, `peak_mb`."""
    error: str = ""
    """Why it was refused."""

    @property
    def arrays(self) -> Arrays:
        """The arrays beside it."""
        return read_arrays(self.path.with_suffix(".safetensors"))


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells in a folder, one JSON file each, arrays beside it."""

    folder: Path
    command: str = ""
    """What a person types to make them again; kept in each."""
    on_cell: Callable[[str, bool], None] | None = field(default=None, compare=False)
    """Called with the name of every cell, and whether it was there before."""

    def get(
        self,
        name: str,
        depends: Mapping[str, Any],
        compute: Compute,
        *,
        recipe: int = 1,
        refusals: bool = False,
    ) -> Cell:
        """The cell of that name with these inputs, read or computed.

        With `refusals` a `CerecError` of the computation becomes a cell, too; else it is raised.
        """
        inputs = json.loads(json.dumps({**depends, "recipe": recipe, "format": FORMAT}))
        path = self.folder / f"{name}-{digest(inputs)}.json"
        known = path.exists()
        if not known:
            wait()
            self._compute(path, inputs, compute, refusals)
        cell = read_cell(path)
        if self.on_cell is not None:
            self.on_cell(name, known)
        return cell

    def find(self, name: str, depends: Mapping[str, Any], *, recipe: int = 1) -> Cell | None:
        """The newest cell of that name with these inputs, whatever else it depends on."""
        wanted = json.loads(json.dumps({**depends, "recipe": recipe, "format": FORMAT}))
        paths = self.folder.glob(f"{name}-????????????.json")
        found = [cell for cell in map(read_cell, paths) if wanted.items() <= cell.depends.items()]
        return max(found, key=lambda cell: str(cell.about["time"]), default=None)

    def _compute(self, path: Path, inputs: Table, compute: Compute, refusals: bool) -> None:
        found: Table = {}
        arrays: Arrays = {}
        error = ""
        with Meter() as meter:
            try:
                made = compute()
                found, arrays = made if isinstance(made, tuple) else (made, {})
            except CerecError as refused:
                if not refusals:
                    raise
                error = str(refused)
        if arrays:
            write_arrays(path.with_suffix(".safetensors"), arrays)
        about = {
            "command": self.command,
            "commit": commit(),
            "versions": versions(),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(meter.seconds, 3),
            "cpu_seconds": round(meter.cpu_seconds, 3),
            "peak_mb": round(meter.peak_mb, 1),
        }
        table = {"depends": inputs, "about": about, "found": finite(found), "error": error}
        write_json(path, table)  # last: with it the cell is there


def read_cell(path: Path) -> Cell:
    """The cell of a file."""
    return Cell(path, **read_json(path))


def digest(value: Any) -> str:
    """A short name of any JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def fingerprint(*arrays: NDArray[Any]) -> str:
    """A short name of the bytes of some arrays."""
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()[:12]


@cache
def commit() -> str | None:
    """The commit of the source this runs from; None for an installed package."""
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


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

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._started
        self.cpu_seconds = time.process_time() - self._cpu
        self.peak_mb = _peak_mb()


def _peak_mb() -> float:
    with contextlib.suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextlib.contextmanager
def measuring() -> Iterator[None]:
    """Hold the lock that pauses experiments, as `make bench` does: they wait before a cell."""
    with _lock_path().open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def wait() -> None:
    """Return once nobody measures times."""
    with _lock_path().open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH)


def _lock_path() -> Path:
    """One file for all processes of the machine; CEREC_BENCH_LOCK names another."""
    return Path(os.environ.get("CEREC_BENCH_LOCK") or f"{tempfile.gettempdir()}/cerec-bench.lock")
