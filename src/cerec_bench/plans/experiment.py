"""An experiment run: what is missing is computed, cell by cell.

`plans.files` says what a file of settings may hold.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cerec.data.dataset import Dataset
from cerec.data.split import Split
from cerec.runs.run import Run
from cerec.runs.train import train
from cerec.settings.data import FilterConfig
from cerec.settings.run import to_table
from cerec_bench.cells import Cell, Cells, digest
from cerec_bench.plans.files import Experiment, Point, measure_of
from cerec_bench.plans.sets import Library


@dataclass(eq=False)
class Job:
    """What a function that measures is given."""

    point: Point
    library: Library
    cells: Cells
    """For parts of the result that are to be kept by themselves."""
    work: Path
    """Room for trainings, which continue there after a kill."""
    note: Callable[[str], None]
    """Called with what is being done."""

    @property
    def data(self) -> Dataset:
        """The data, filtered, its pairs marked train, validation or test."""
        return self.library.parted(self.point.set, self.point.config)[0]

    @property
    def parts(self) -> Split:
        """Train, validation and test."""
        return self.library.parted(self.point.set, self.point.config)[1]

    @property
    def seed(self) -> int:
        """The seed of the cell."""
        return self.point.seed

    def option(self, name: str, default: Any) -> Any:
        """An option of the part."""
        return self.point.part.options.get(name, default)

    def run(self, *, agent: bool = True, keep: bool = False) -> Run:
        """The run of the cell's settings; without `agent`, of its recommender alone.

        With `keep` it stays in `work`, for other cells with the same recommender.
        """
        config = replace(self.point.config, filters=FilterConfig())
        if not agent:
            plain = type(config)()
            alone = replace(config.train, agent_epochs=0)
            config = replace(config, agent=plain.agent, encoder=plain.encoder, train=alone)
        key = digest([self.data.fingerprint, to_table(config), self.seed, agent])
        folder = self.work / f"{self.point.set}-{key}"
        made = train(self.data, config, seed=self.seed, out=folder, resume=True, on_row=self._row)
        if not made.meta["finished"]:
            raise KeyboardInterrupt  # training ends with its best state; a cell wants all of it
        if not keep:
            shutil.rmtree(folder)
        return made

    def _row(self, row: dict[str, Any]) -> None:
        self.note(f"{row['phase']} {row['epoch']}")


@dataclass(frozen=True, slots=True)
class Done:
    """An experiment with the cells there are."""

    experiment: Experiment
    found: Mapping[Point, Cell]
    skipped: tuple[str, ...] = ()
    """Why some were not computed."""

    @property
    def missing(self) -> list[Point]:
        """What is not computed."""
        return [point for point in self.experiment.points() if point not in self.found]


def run(
    experiment: Experiment,
    folder: Path,
    data: Path | None = None,
    *,
    only: tuple[str, ...] = (),
    deadline: float = float("inf"),
    on_step: Callable[[str, int, int], None] | None = None,
) -> Done:
    """Compute what is missing in `folder`. `only` names sets; after `deadline` none is started.

    `on_step` is called with what is being done, and the cell's number of how many.
    """
    library = Library(dict(experiment.sets), data)
    cells = Cells(folder, command=f"cerec bench run {experiment.name}")
    points = [p for p in experiment.points() if not only or p.set in only]
    absent = {p.set for p in points if not library.has(p.set)}
    if absent and absent == {p.set for p in points}:
        library.whole(points[0].set)  # says what is wrong
    skipped = [f"no folder {name} below {data}; its cells are left out" for name in sorted(absent)]
    points = [p for p in points if p.set not in absent]
    work, found = folder / ".work", {}
    for n, point in enumerate(points, start=1):
        if time.monotonic() > deadline:
            skipped.append(f"out of time, {len(points) - n + 1} cells are left")
            break

        def note(text: str, n: int = n, name: str = point.name) -> None:
            if on_step is not None:
                on_step(f"{name} {text}", n, len(points))

        note("")
        found[point] = _cell(point, library, cells, work, note)
    else:
        shutil.rmtree(work, ignore_errors=True)
    return Done(experiment, {**read(experiment, folder).found, **found}, tuple(skipped))


def _cell(
    point: Point, library: Library, cells: Cells, work: Path, note: Callable[[str], None]
) -> Cell:
    def told(name: str, known: bool) -> None:
        note(name + (" (kept)" if known else ""))

    measure = measure_of(point.part.kind)
    inner = Cells(cells.folder / "cells" / point.set, cells.command, told)
    job = Job(point, library, inner, work, note)
    depends = {**point.depends, "data": job.data.fingerprint}
    recipe = getattr(measure, "recipe", 1)
    return cells.get(point.name, depends, lambda: measure(job), recipe=recipe)


def read(experiment: Experiment, folder: Path) -> Done:
    """The cells of an experiment that are there; needs no data."""
    cells, found = Cells(folder), {}
    for point in experiment.points():
        recipe = getattr(measure_of(point.part.kind), "recipe", 1)
        cell = cells.find(point.name, point.depends, recipe=recipe)
        if cell is not None:
            found[point] = cell
    return Done(experiment, found)
