"""The paper's table II: all systems on one split, equal tuning, over several seeds."""

from __future__ import annotations

from collections.abc import Mapping

from cerec_bench.cells import Cell, Table
from cerec_bench.plans.experiment import Job
from cerec_bench.plans.files import Experiment, Point
from cerec_bench.plans.fit import FitConfig
from cerec_bench.plans.systems import Plan, Systems, columns
from cerec_bench.report.tables import Grid, compared, from_json, notes, to_json


def measure(job: Job) -> Table:
    """The lines of the table; every fit is a cell, so a stopped comparison continues."""
    plan = Plan(
        models=tuple(job.option("models", ["popularity", "bpr", "linear"])),
        seeds=job.option("seeds", 5),
        trials=job.option("budget", 10),
        valid_users=job.option("valid_users", 5000),
        test_users=job.option("test_users", 0),
        ks=tuple(job.option("ks", [20, 40, 60, 80])),
        fit=FitConfig(
            epochs=job.option("epochs", 300),
            every=job.option("every", 3),
            patience=job.option("patience", 5),
            seconds=job.option("seconds", None),
        ),
    )
    lines, about = Systems(job.data, job.parts, plan, job.cells).summary()
    return to_json(lines, about)


def tables(experiment: Experiment, here: Mapping[Point, Cell]) -> tuple[list[Grid], list[str]]:
    """One table per set."""
    grids, said = [], []
    for point, cell in here.items():
        about, lines = cell.found["about"], from_json(cell.found)
        title = experiment.sets[point.set].title
        caption = (
            f"{title}: {about['users']:,} users, {about['items']:,} items; "
            f"{about['trials']} settings tried by each, then {about['seeds']} seeds. A star: "
            f"differs from {about['reference']} over users, p < 0.05 (Wilcoxon, Holm)."
        )
        grids.append(compared(lines, columns(about["ks"]), caption))
        said += [f"{title}. {note}" for note in notes(lines)]
    return grids, said
