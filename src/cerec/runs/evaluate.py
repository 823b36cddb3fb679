"""How good a recommender is on what was held out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.errors import ConfigError, RunError
from cerec.metrics import PerUser, mean, per_user
from cerec.recommend.context import lists_of
from cerec.recommend.rank import lists
from cerec.recommend.scorer import Scorer
from cerec.recommend.subject import Subject
from cerec.runs.run import Run

REPORTED = ("recall", "ndcg", "hr", "precision", "mrr", "map")
Lists = NDArray[np.int32]


def subject_lists(subject: Subject, known: Ragged, k: int) -> Lists:
    """(U, k) the first k items of every user outside `known`, best first; -1 where fewer are."""
    out = np.full((len(known), k), -1, np.int32)
    for users in subject.blocks():
        mine = known.take(users)
        out[users] = lists(subject.scores(users), mine.indptr, mine.indices, k)
    return out


def figures(
    made: Scorer | Subject,
    known: Ragged,
    held_out: Ragged,
    ks: Sequence[int],
    metrics: Sequence[str],
) -> PerUser:
    """Metrics per user on a held-out part; no list is longer than the catalogue."""
    n_items = made.n_items
    cut = {k: min(k, n_items) for k in ks}
    make = subject_lists if isinstance(made, Subject) else lists_of
    found = per_user(
        make(made, known, max(cut.values())),  # type: ignore[arg-type, operator]
        held_out,
        sorted(set(cut.values())),
        metrics,
    )
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
    if run.meta.get("refitted"):
        raise RunError(
            "this run was fitted once more on all interactions, held-out ones included, so it "
            "cannot be measured on them; its figures from before are in run.metrics, and "
            "cerec train --holdout keeps the measured recommender"
        )
    held_out = run.split.valid if part == "valid" else run.split.test
    return figures(run.subject, known, held_out, ks, metrics)


def final_figures(
    made: Scorer | Subject, parts: Split, k: int = 20, *, test: bool = True
) -> dict[str, dict[str, float]]:
    """Validation and test figures of a finished recommender; a part without items is left out."""
    out = {}
    for part, held_out in (("valid", parts.valid), ("test", parts.test)):
        if held_out.size and (test or part == "valid"):
            values = figures(made, parts.known_before(part), held_out, [k], REPORTED)
            out[part] = {**mean(values), "users": int((held_out.counts > 0).sum())}
    return out
