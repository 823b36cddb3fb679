"""Rows of experiments/helps.py against each other: over users, over seeds, the agent's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import helps_users
import numpy as np
from helps_models import METRICS
from helps_rows import AS_LEARNED, BY_ID, LITERAL_ROW, ONE_STEP
from scipy.stats import ttest_1samp, ttest_ind

from cerec_bench.statistics import compare, holm

LEARNED = {
    "attributes / DNS 4 + imagined by need, learned": (ONE_STEP, AS_LEARNED),
    "attributes / learned walk (the paper's form)": (
        LITERAL_ROW,
        "attributes / walk, after 10 epochs of uniform",
    ),
    "id / learned walk (the paper's form)": (BY_ID, "id / walk, after 10 epochs of uniform"),
}
"""Rows in which the agent chooses, and the same with a uniform walk, without and with its start."""


def comparisons(
    folder: Path, cells: list[dict[str, Any]], ours: dict[str, Any], kept: dict[str, Any]
) -> dict[str, Any]:
    """Our row against every other: difference, interval, Wilcoxon over users, Holm over rows.

    Where the numbers of users are there for fewer seeds than an earlier test had (`kept`), or for
    none, that one stands while its models do; where none was made, there is no p over users.
    """
    out: dict[str, Any] = {}
    for metric in METRICS:
        rows = {}
        for cell in cells:
            if cell is ours:
                continue
            line = cell["method"]["vectors"] == "line"
            models = [[run[metric] for run in c["runs"]] for c in (ours, cell)]
            seeds = len(models[0]) if line else min(map(len, models))
            tested = over_users(folder, ours, cell, metric, seeds)
            before = kept.get(metric, {}).get(cell["name"], {"p": None})
            if before["p"] is not None and before["tested"] > tested.get("tested", 0):
                parts = {key: before[key] for key in TESTED}
                tested = parts if holds(parts, metric, cell, ours) else tested
            means = [np.mean(values[:seeds]) for values in models]
            rows[cell["name"]] = {
                "difference": float(means[0] - means[1]),
                "seeds": seeds,
                "p": None,
                **tested,
                "p_seeds": over_seeds(*models, line=line),
            }
        found = [row for row in rows.values() if row["p"] is not None]
        for row, p in zip(found, holm([row["p"] for row in found]), strict=True):
            row["p_holm"] = p
        out[metric] = rows
    return out


TESTED = ("gap", "low", "high", "p", "effect", "users", "tested")
"""Of a comparison what is of the users: `gap` and the rest are of `tested` seeds."""


def over_users(
    folder: Path, ours: dict[str, Any], cell: dict[str, Any], metric: str, seeds: int
) -> dict[str, Any]:
    """The paired test, over the seeds for which the numbers of users of both are there.

    Empty where there is none.
    """
    one = len(cell["runs"]) == 1  # a line is set against each of our models
    pairs = [
        (
            helps_users.of_seed(folder, ours["slug"], metric, seed),
            helps_users.of_seed(folder, cell["slug"], metric, 0 if one else seed),
        )
        for seed in range(seeds)
    ]
    both = [pair for pair in pairs if all(values is not None for values in pair)]
    if not both:
        return {}
    gap = compare(*(np.mean(side, axis=0) for side in zip(*both, strict=True)))
    found = (gap.difference, gap.low, gap.high, gap.p, gap.effect, gap.n, len(both))
    return dict(zip(TESTED, found, strict=True))


def over_seeds(ours: list[float], others: list[float], *, line: bool) -> float | None:
    """P of Welch's t over the models of two rows, or of one and a line, which has no spread.

    None where a row has a single model.
    """
    if line and len(ours) > 1:
        return float(ttest_1samp(ours, others[0]).pvalue)
    if min(len(ours), len(others)) < 2:
        return None
    return float(ttest_ind(ours, others, equal_var=False).pvalue)


def holds(row: dict[str, Any], metric: str, cell: dict[str, Any], ours: dict[str, Any]) -> bool:
    """True where a kept comparison is of the models that are there now, not of earlier ones."""
    mine, others = (
        np.mean([run[metric] for run in runs[: row["tested"]]])
        for runs in (ours["runs"], cell["runs"])
    )
    return bool(abs(mine - others - row["gap"]) < 1e-6)


def learned(folder: Path, cells: list[dict[str, Any]], kept: dict[str, Any]) -> dict[str, Any]:
    """Each row in which the agent chooses against its likes that learned as long as it did."""
    named = {cell["name"]: cell for cell in cells}
    return {
        name: comparisons(
            folder,
            [named[n] for n in others if n in named and span(named[n]) == span(named[name])],
            named[name],
            kept.get(name, {}),
        )
        for name, others in LEARNED.items()
        if name in named
    }


def span(cell: dict[str, Any]) -> tuple[int, int]:
    """How long a row learned: its wait, and the epochs allowed where they cut a model short."""
    cut = [run["allowed"] for run in cell["runs"] if may_rise(run)]
    return cell["runs"][0]["patience"], max(cut, default=0)


def may_rise(run: dict[str, Any]) -> bool:
    """True for a model whose epochs were used up before its wait was over."""
    return bool(run["epoch"] + run["patience"] > run["allowed"])
