"""How well a recommender recommends that was trained with given settings."""

from __future__ import annotations

from cerec_bench.cells import Table
from cerec_bench.plans.experiment import Job


def measure(job: Job) -> Table:
    """Validation and test figures of a run, and how long it learned."""
    run = job.run()
    learned = [row for row in run.history if row["phase"] == "recommender"]
    return {
        "valid": run.metrics["valid"],
        "test": run.metrics["test"],
        "best_epoch": run.meta["best_epoch"],
        "epochs": len(learned),
        "train_seconds": run.meta["seconds"],
    }
