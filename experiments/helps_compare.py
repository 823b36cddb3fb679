"""Rows of experiments/helps.py against each other: over users, over seeds, the agent's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import helps_users
import numpy as np
from helps_models import METRICS
from helps_rows import AS_LEARNED, BY_ID, LITERAL_ROW, ONE_STEP, SHORT_ROW
from scipy.stats import ttest_1samp, ttest_ind

from cerec.evaluate.statistics import compare, holm

LEARNED = {
    "attributes / DNS 4 + imagined by need, learned": (
        ONE_STEP,
        AS_LEARNED,
        SHORT_ROW,
    ),
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

    Where the numbers of users are not there, the comparison made with them (`kept`) stands; where
    none was made, there is the difference of the means, and no p over users.
    """
    out: dict[str, Any] = {}
    for metric in METRICS:
        rows = {}
        for cell in cells:
            if cell is ours:
                continue
            line = cell["method"]["vectors"] == "line"
            both = min(len(cell["runs"]), len(ours["runs"]))
            mine = len(ours["runs"]) if line else both
            values = helps_users.mean(folder, ours["slug"], metric, mine)
            others = helps_users.mean(folder, cell["slug"], metric, both)
            models = [[run[metric] for run in c["runs"]] for c in (ours, cell)]
            row = kept.get(metric, {}).get(cell["name"])
            if values is not None and others is not None:
                gap = compare(values, others)
                row = {
                    "difference": gap.difference,
                    "low": gap.low,
                    "high": gap.high,
                    "p": gap.p,
                    "effect": gap.effect,
                    "users": gap.n,
                    "seeds": mine,
                }
            elif row is None or row["p"] is None or not holds(row, metric, cell, ours):
                means = np.mean(models[0][:mine]), np.mean(models[1][:both])
                row = {"difference": float(means[0] - means[1]), "p": None, "seeds": mine}
            rows[cell["name"]] = {**row, "p_seeds": over_seeds(*models, line=line)}
        tested = [row for row in rows.values() if row["p"] is not None]
        for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
            row["p_holm"] = p
        out[metric] = rows
    return out


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
        np.mean([run[metric] for run in runs[: row["seeds"]]])
        for runs in (ours["runs"], cell["runs"])
    )
    return bool(abs(mine - others - row["difference"]) < 1e-6)


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
