"""The paper's table III: explainers on the same listed items, against truths and re-scoring."""

from __future__ import annotations

from collections.abc import Mapping

from cerec_bench.cells import Cell, Table
from cerec_bench.explainers.registry import METHODS
from cerec_bench.plans.experiment import Job
from cerec_bench.plans.explainers import Explainers, Plan, Theme
from cerec_bench.plans.files import Experiment, Point
from cerec_bench.plans.judged import grids_of
from cerec_bench.report.tables import Grid, from_json, notes, number, to_json


def measure(job: Job) -> Table:
    """The lines of the table; every method and seed is a cell, so a stopped one continues."""
    run = job.run(agent=False, keep=True)
    run.config = job.point.config
    plan = Plan(
        methods=tuple(job.option("methods", list(METHODS))),
        truths=tuple(job.option("truths", ["dns", "planted", "heldout"])),
        seeds=job.option("seeds", 5),
        pairs=job.option("pairs", 500),
        draws=job.option("draws", 30),
        positives=job.option("positives", False),
    )
    lines, about = Explainers(Theme.of(run), plan, job.cells).summary()
    return to_json(lines, about)


def tables(experiment: Experiment, here: Mapping[Point, Cell]) -> tuple[list[Grid], list[str]]:
    """Per set the checks, then the agreement with every truth; what the DNS truth holds."""
    grids, said, held = [], [], []
    for point, cell in here.items():
        about, lines = cell.found["about"], from_json(cell.found)
        title = experiment.sets[point.set].title
        grids += grids_of(title, lines, about)
        said += [f"{title}. {note}" for note in notes(lines)]
        if (found := about["truths"].get("dns", {}).get("planted")) is not None:
            sides = ("disliked", "disliked_by_chance", "liked", "liked_by_chance")
            held.append(
                [f"{title}, {point.part.name}", *(number(100 * found[s], 1) for s in sides)]
            )
    if held:
        head = ["", "disliked %", "by chance %", "liked %", "by chance %"]
        grids.append(Grid("What the DNS truth holds, by the tastes that were planted.", head, held))
    return [*grids, *_paper(experiment.paper)], list(dict.fromkeys(said))


def _paper(paper: Table) -> list[Grid]:
    head = ["", "precision %", "recall %", "F1 %"]
    return [
        Grid(
            f"The paper's table III: {name}", head, [[m, *map(number, v)] for m, v in rows.items()]
        )
        for name, rows in paper.items()
    ]
