"""How well a recommender recommends that was trained with given settings."""

from __future__ import annotations

from cerec_bench.reproduce.jobs import Job
from cerec_bench.reproduce.plan import Table


def measure(job: Job) -> Table:
    """Validation and test figures of a run, and how long it learned."""
    run = job.trained(agent=True, keep=False)
    learned = [row for row in run.history if row["phase"] == "recommender"]
    return {
        "valid": run.metrics["valid"],
        "test": run.metrics["test"],
        "best_epoch": run.meta["best_epoch"],
        "epochs": len(learned),
        "train_seconds": run.meta["seconds"],
    }
