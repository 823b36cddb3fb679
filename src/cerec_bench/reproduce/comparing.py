"""The paper's table II: all systems on one split, equal tuning, over several seeds."""

from __future__ import annotations

from dataclasses import asdict

from cerec.data.split import split
from cerec.settings.data import SplitConfig
from cerec_bench.compare.fit import FitConfig
from cerec_bench.compare.grid import Cell as Fit
from cerec_bench.compare.grid import Grid, Plan, read_per_user
from cerec_bench.compare.table import columns, summarise, to_json
from cerec_bench.reproduce.jobs import Job
from cerec_bench.reproduce.plan import Table


def measure(job: Job) -> Table:
    """The lines of the table; the grid keeps its own cells, so a stopped one goes on."""
    plan = Plan(
        models=tuple(job.option("models", ["popularity", "bpr", "linear"])),
        seeds=job.option("seeds", 5),
        trials=job.option("budget", 10),
        ks=tuple(job.option("ks", [20, 40, 60, 80])),
        fit=FitConfig(
            epochs=job.option("epochs", 300),
            every=job.option("every", 3),
            patience=job.option("patience", 5),
            seconds=job.option("seconds", None),
        ),
    )

    def told(fit: Fit, known: bool) -> None:
        job.note(f"{fit.model} {fit.kind} {fit.seed}" + (" (kept)" if known else ""))

    parts = split(job.data, SplitConfig(), seed=0)
    grid = Grid(job.data, parts, plan, job.work / "cells" / job.cell.set, on_cell=told)
    fits = grid.run()
    reference = "linear" if "linear" in plan.models else plan.models[0]
    lines = summarise(
        fits,
        lambda key: read_per_user(grid.per_user_path(key)),
        columns(plan.ks),
        reference=reference,
    )
    about = {
        "data": job.data.name,
        "fingerprint": job.data.fingerprint,
        "users": len(job.data.users),
        "items": len(job.data.items),
        "split": {part: getattr(parts, part).size for part in ("train", "valid", "test")},
        "seeds": plan.seeds,
        "trials": plan.trials,
        "ks": list(plan.ks),
        "fit": asdict(plan.fit),
        "reference": reference,
    }
    return to_json(lines, about)
