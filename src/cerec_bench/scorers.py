"""The recommender of a run as the compared explainers see it: factors with fitted effects."""

from __future__ import annotations

import numpy as np

from cerec.errors import ConfigError
from cerec.recommend.scorer import Scorer
from cerec.runs.run import Run


def scorer_of(run: Run) -> Scorer:
    """Scores and effects of a factor model; values too rare to count have none."""
    if run.kept.kind != "factors":
        raise ConfigError(
            f"compared explainers need a factor model, this run is {run.kept.kind!r}; "
            "train one with --preset paper"
        )
    a = run.kept.arrays
    effect = np.zeros((run.facts.n_values, a["value"].shape[1]), np.float32)
    effect[run.subject.vocabulary] = a["value"]
    return Scorer(a["user"], a["item"], effect, a["user"], "sum", fidelity=run.kept.fidelity)
