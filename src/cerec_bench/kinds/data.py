"""What is in the data: the figures of the paper's table I, before and after its filters."""

from __future__ import annotations

from collections.abc import Mapping

from cerec.data.check import check
from cerec_bench.cells import Cell, Table
from cerec_bench.plans.experiment import Job
from cerec_bench.plans.files import Experiment, Point
from cerec_bench.report.tables import Grid, number

COLUMNS = {
    "users": "users",
    "items": "items",
    "interactions": "interactions",
    "density": "density",
    "entities": "other entities",
    "relations": "relations",
    "triples": "triples",
}


def measure(job: Job) -> Table:
    """Figures of the data as it came and as it is learned from; what stands in two parts."""
    whole = check(job.library.whole(job.point.set))
    leaks = {
        f.kind: {"pairs": f.count, "share": f.share}
        for f in whole.findings
        if f.kind in ("leak", "leak_valid")
    }
    return {"came": whole.figures, "learned": check(job.data).figures, "leaks": leaks}


def tables(experiment: Experiment, here: Mapping[Point, Cell]) -> tuple[list[Grid], list[str]]:
    """The data as it came, as it is learned from, and the paper's own table."""
    title = {p: experiment.sets[p.set].title for p in here}
    head = ["", *COLUMNS.values()]
    came = [[title[p], *_row(cell.found["came"])] for p, cell in here.items()]
    learned = [
        [title[p], *_row(f), f"{f['values']:,}", f"{f['facts_of_items']:,}"]
        for p, cell in here.items()
        for f in [cell.found["learned"]]
    ]
    leaks = [
        [
            title[p],
            *(f"{cell.found['came'].get(k, 0):,}" for k in ("train_pairs", "test_pairs")),
            f"{cell.found['leaks'].get('leak', {}).get('pairs', 0):,}",
        ]
        for p, cell in here.items()
        if cell.found["came"].get("test_pairs")
    ]
    grids = [
        Grid("As the files came.", head, came),
        Grid("What experiments learn from.", [*head, "values", "facts"], learned),
        Grid("The paper's table I.", head, [[n, *_row(r)] for n, r in experiment.paper.items()]),
    ]
    if leaks:
        leak_head = ["", "train pairs", "test pairs", "in both"]
        grids.append(Grid("Pairs in both the train and the test file.", leak_head, leaks))
    return grids, []


def _row(figures: Table) -> list[str]:
    cells = figures["users"] * figures["items"]
    density = number(100 * figures["interactions"] / cells if cells else None, 3) + " %"
    return [density if name == "density" else f"{figures[name]:,}" for name in COLUMNS]
