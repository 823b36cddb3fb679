"""How well a recommender recommends that was trained with given settings."""

from __future__ import annotations

from cerec_bench.cells import Table
from cerec_bench.plans.experiment import Job


def measure(job: Job) -> Table:
    """Figures of a run, how long it learned, and the epochs in which its agent learned."""
    run = job.run()
    learned = [row for row in run.history if row["phase"] == "recommender"]
    return {
        "valid": run.metrics["valid"],
        "test": run.metrics["test"],
        "best_epoch": run.meta.get("best_epoch"),
        "epochs": len(learned),
        "train_seconds": run.meta["seconds"],
        "walked": [row for row in run.history if "reward" in row],
    }
