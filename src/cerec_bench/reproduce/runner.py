"""Runs what an experiment lacks, cell by cell, each kept as soon as it is done."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cerec.errors import DataError
from cerec_bench.reproduce import (
    cases,
    comparing,
    consistency,
    describing,
    explaining,
    recommending,
    walking,
)
from cerec_bench.reproduce.jobs import Job, Measure
from cerec_bench.reproduce.plan import Cell, Experiment
from cerec_bench.reproduce.store import Result, provenance, read_result, write_result
from cerec_bench.reproduce.worlds import Library

KINDS: dict[str, Measure] = {
    "data": describing.measure,
    "recommender": recommending.measure,
    "agent": walking.measure,
    "explanations": explaining.measure,
    "cases": cases.measure,
    "grid": comparing.measure,
    "consistency": consistency.measure,
}
"""What a part may measure."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """Whom to tell: the number of cells, each one begun and done, and small steps of one."""

    begun: Callable[[Cell, int, int], None]
    """The cell, its number from 1, how many there are."""
    note: Callable[[str], None]
    skipped: Callable[[str], None]
    """Why cells are left out."""


def run_experiment(
    experiment: Experiment,
    folder: Path,
    data: Path | None,
    *,
    command: Sequence[str],
    watch: Watcher,
    only: Sequence[str] = (),
    deadline: float = float("inf"),
) -> int:
    """Compute every cell that is not there or was made with other settings; how many were.

    `only` names the sets to run. After `deadline` (`time.monotonic()`) no cell begins.
    """
    library = Library(dict(experiment.sets), data)
    wanted = [c for c in experiment.cells() if not only or c.set in only]
    absent = sorted({c.set for c in wanted if not library.has(c.set)})
    if absent and len(absent) == len({c.set for c in wanted}):
        library.whole(absent[0])  # says what is wrong
    for name in absent:
        watch.skipped(f"{experiment.name}: no folder {name} below {data}; its cells are left out")
    cells = [c for c in wanted if c.set not in absent]
    work, made = folder / ".work", 0
    for n, cell in enumerate(cells, start=1):
        watch.begun(cell, n, len(cells))
        if kept(library, folder, experiment, cell):
            continue
        if time.monotonic() > deadline:
            watch.skipped(f"{experiment.name}: out of time, {len(cells) - n + 1} cells not begun")
            break
        run_cell(experiment, cell, library, folder, work, command, watch.note)
        made += 1
    else:
        shutil.rmtree(work / experiment.name, ignore_errors=True)
    return made


def kept(library: Library, folder: Path, experiment: Experiment, cell: Cell) -> bool:
    """Whether the result of a cell is there, made from this data with today's settings."""
    result = read_result(folder, experiment, cell)
    if result is None or not result.about:  # what another command made is kept as it is
        return result is not None
    if result.changed:
        return False
    return bool(result.about["data"]["fingerprint"] == library.parted(cell).fingerprint)


def run_cell(
    experiment: Experiment,
    cell: Cell,
    library: Library,
    folder: Path,
    work: Path,
    command: Sequence[str],
    note: Callable[[str], None],
) -> Result:
    """Compute one cell and keep it."""
    if cell.kind not in KINDS:
        raise DataError(
            f"{experiment.name}: unknown kind {cell.kind!r}; there are {', '.join(KINDS)}"
        )
    started = time.perf_counter()
    job = Job(cell, library, folder / experiment.page, work / experiment.name, note)
    found = KINDS[cell.kind](job)
    about = provenance(cell, job.data, command, time.perf_counter() - started)
    result = Result(cell, found, about)
    write_result(folder, experiment, result)
    return result
