"""The paper's table III: explainers on the same listed items, against truths and re-scoring."""

from __future__ import annotations

from cerec_bench.consistency import subject_of
from cerec_bench.explainers.cells import Cell as Fit
from cerec_bench.explainers.registry import METHODS
from cerec_bench.explainers.report import summary_of
from cerec_bench.explainers.runner import Comparison, Plan
from cerec_bench.explainers.table import to_json
from cerec_bench.reproduce.jobs import Job
from cerec_bench.reproduce.plan import Table


def measure(job: Job) -> Table:
    """The lines of the table; the comparison keeps its own cells, so a stopped one goes on."""
    run = job.trained(agent=False, keep=True)
    run.config = job.cell.config
    asked = job.option("methods", list(METHODS))
    plan = Plan(
        methods=tuple(asked),
        truths=tuple(job.option("truths", ["dns", "planted", "heldout"])),
        seeds=job.option("seeds", 5),
        pairs=job.option("pairs", 500),
        draws=job.option("draws", 30),
    )

    def told(fit: Fit, known: bool) -> None:
        job.note(f"{fit.method} {fit.seed}" + (" (kept)" if known else ""))

    comparison = Comparison(subject_of(run), plan, job.work / "cells" / job.cell.set, on_cell=told)
    comparison.run()
    lines, about = summary_of(comparison)
    return to_json(lines, about)
