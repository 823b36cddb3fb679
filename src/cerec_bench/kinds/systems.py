"""The paper's table II: all systems on one split, equal tuning, over several seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cerec_bench.cells import Cell, Table
from cerec_bench.plans.experiment import Job
from cerec_bench.plans.files import Experiment, Point
from cerec_bench.plans.fit import FitConfig
from cerec_bench.plans.systems import Plan, Systems, columns
from cerec_bench.report.tables import Grid, compared, from_json, notes, to_json
from cerec_bench.statistics import Line


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


measure.recipe = 2  # type: ignore[attr-defined]  # the linear recommender fits in another way
measure.reads = ("filters", "split")  # type: ignore[attr-defined]


def tables(experiment: Experiment, here: Mapping[Point, Cell]) -> tuple[list[Grid], list[str]]:
    """One table per set."""
    grids, said = [], []
    for point, cell in here.items():
        about, lines = cell.found["about"], from_json(cell.found)
        title = _title(experiment, point)
        caption = (
            f"{title}: {about['users']:,} users, {about['items']:,} items; "
            f"{about['trials']} settings tried by each, then {about['seeds']} seeds. A star: "
            f"differs from {about['reference']} over users, p < 0.05 (Wilcoxon, Holm)."
        )
        grids.append(compared(lines, columns(about["ks"]), caption))
        said += [f"{title}. {note}" for note in notes(lines)]
    return grids, said


def summary(experiment: Experiment, here: Mapping[Point, Cell]) -> Grid:
    """How the reference does against the best of the others on every set."""
    rows = []
    for point, cell in here.items():
        about, lines = cell.found["about"], from_json(cell.found)
        k = about["ks"][0]
        told = _against(lines, about["reference"], k)
        rows.append([_title(experiment, point), *told])
    parts = [x for m in ("Recall", "NDCG") for x in (f"{m}@{k}", "best rival", "p")]
    return Grid("", ["", *parts, "CPU s", "MB"], rows)


def _title(experiment: Experiment, point: Point) -> str:
    left_out = point.settings.get("filters.leave_out")
    without = f" without {', '.join(left_out)}" if left_out else ""
    return experiment.sets[point.set].title + without


def _against(lines: Sequence[Line], reference: str, k: int) -> list[str]:
    """The reference and its best rival by recall and NDCG, corrected p, and what its fit took."""
    mine = next(line for line in lines if line.name == reference)
    out = []
    for key in (f"recall@{k}", f"ndcg@{k}"):
        others = [x for x in lines if x is not mine and key in x.figures]
        best = max(others, key=lambda x: x.figures[key].mean)
        p = best.figures[key].p
        told = "-" if p is None else "< 1e-9" if p < 1e-9 else f"{p:.2g}"
        rival = f"{best.title} {best.figures[key].mean:.4f}"
        out += [f"{mine.figures[key].mean:.4f}", rival, told]
    return [*out, f"{mine.other['cpu_seconds']:.0f}", f"{mine.other['peak_mb']:,.0f}"]
