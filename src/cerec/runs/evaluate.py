"""How good a recommender is on what was held out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.errors import ConfigError
from cerec.metrics import PerUser, mean, per_user
from cerec.recommend.context import lists_of
from cerec.recommend.scorer import Scorer
from cerec.runs.run import Run

REPORTED = ("recall", "ndcg", "hr", "precision", "mrr", "map")


def figures(
    scorer: Scorer, known: Ragged, held_out: Ragged, ks: Sequence[int], metrics: Sequence[str]
) -> PerUser:
    """Metrics per user on a held-out part; no list is longer than the catalogue."""
    cut = {k: min(k, scorer.n_items) for k in ks}
    rows = lists_of(scorer, known, max(cut.values()))
    found = per_user(rows, held_out, sorted(set(cut.values())), metrics)
    # of all metrics, precision alone counts the places that stay empty
    return {
        f"{name}@{k}": found[f"{name}@{n}"] * (n / k if name == "precision" else 1)
        for k, n in cut.items()
        for name in metrics
    }


def validation_figures(scorer: Scorer, parts: Split, metric: str) -> dict[str, float]:
    """What early stopping looks at: recall and NDCG on the validation part."""
    k = int(metric.partition("@")[2])
    return mean(figures(scorer, parts.train, parts.valid, [k], ("recall", "ndcg")))


def evaluate_run(
    run: Run, part: str, ks: Sequence[int], metrics: Sequence[str] = REPORTED
) -> PerUser:
    """Metrics per user of a run on its part "valid" or "test", at each list length of `ks`."""
    known = run.split.known_before(part)  # refuses other parts
    if not isinstance(ks, Sequence | np.ndarray) or len(ks) == 0 or isinstance(ks, str):
        raise ConfigError(f"ks must be a list of list lengths, such as [10, 20], got {ks!r}")
    if not all(isinstance(k, int | np.integer) and k >= 1 for k in ks):
        raise ConfigError(f"list lengths must be whole numbers of at least 1, got {ks!r}")
    held_out = run.split.valid if part == "valid" else run.split.test
    return figures(run.scorer, known, held_out, ks, metrics)


def final_figures(
    scorer: Scorer, parts: Split, k: int = 20, *, test: bool = True
) -> dict[str, dict[str, float]]:
    """Validation and test figures of a finished recommender; a part without items is left out."""
    out = {}
    for part, held_out in (("valid", parts.valid), ("test", parts.test)):
        if held_out.size and (test or part == "valid"):
            values = figures(scorer, parts.known_before(part), held_out, [k], REPORTED)
            out[part] = {**mean(values), "users": int((held_out.counts > 0).sum())}
    return out
