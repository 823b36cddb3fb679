"""Is a difference more than chance? Paired tests over users, seeds as spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cerec.errors import ConfigError
from cerec.rng import generator


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a table."""

    mean: float
    """Over users or pairs, then over seeds."""
    sd: float = 0.0
    """Over seeds."""
    low: float = float("nan")
    high: float = float("nan")
    """Bootstrap interval over users."""
    n: int = 0
    """Users or pairs that have the number."""
    p: float | None = None
    """Against the reference over users, Holm-corrected over the rows; None for the reference."""
    effect: float | None = None
    """Rank-biserial: above 0 when more users do better here than with the reference."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a comparison: a system, or an explainer."""

    name: str
    title: str
    note: str = ""
    error: str = ""
    """Why there are no numbers."""
    figures: dict[str, Figure] = field(default_factory=dict)
    other: dict[str, Any] = field(default_factory=dict)
    """Seeds, settings, what it took, and numbers that are not tested."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system against another over the same users."""

    difference: float
    """Mean of (ours - theirs)."""
    low: float
    """Lower end of the bootstrap interval of the difference."""
    high: float
    """Upper end."""
    p: float
    """Two-sided Wilcoxon signed-rank; 1 when no user differs."""
    effect: float
    """Matched-pairs rank-biserial correlation: (rank sum won - lost) / all ranks, in -1..1."""
    n: int
    """Users that have a value in both."""


def compare(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], *, seed: int = 0, level: float = 0.95
) -> Comparison:
    """Paired comparison of per-user values; users with nan in either are left out."""
    if ours.shape != theirs.shape:
        raise ConfigError(f"paired values must align, got shapes {ours.shape} and {theirs.shape}")
    both = ~(np.isnan(ours) | np.isnan(theirs))
    gap = (ours - theirs)[both]
    if len(gap) == 0:
        return Comparison(float("nan"), float("nan"), float("nan"), 1.0, 0.0, 0)
    low, high = bootstrap(gap, seed=seed, level=level)
    p, effect = signed_rank(gap)
    return Comparison(float(gap.mean()), low, high, p, effect, len(gap))


def signed_rank(gap: NDArray[np.float64]) -> tuple[float, float]:
    """(two-sided p, rank-biserial effect) of the Wilcoxon signed-rank test; zeros are dropped.

    Exact for up to 50 differences without ties (scipy's rule), else the normal approximation.
    """
    gap = gap[np.abs(gap) > 1e-12]
    if len(gap) == 0:
        return 1.0, 0.0
    rank = stats.rankdata(np.abs(gap))
    effect = float((rank * np.sign(gap)).sum() / rank.sum())
    return float(stats.wilcoxon(gap).pvalue), effect


def bootstrap(
    values: NDArray[np.float64],
    by: NDArray[np.integer] | None = None,
    *,
    seed: int = 0,
    level: float = 0.95,
    rounds: int = 2000,
) -> tuple[float, float]:
    """Percentile interval of the mean, users drawn with replacement; nan are left out.

    `by`: the user of each value, whose values are alike and go together; None: one value each.
    """
    there = ~np.isnan(values)
    groups = np.arange(len(values)) if by is None else by
    _, at = np.unique(groups[there], return_inverse=True)
    if len(at) == 0:
        return float("nan"), float("nan")
    total, count = np.bincount(at, values[there]), np.bincount(at)
    rng = generator(seed, "statistics/bootstrap")
    means = []
    for _ in range(rounds):
        drawn = rng.integers(0, len(count), len(count))
        means.append(total[drawn].sum() / count[drawn].sum())
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def mcnemar(ours: NDArray[np.bool_], theirs: NDArray[np.bool_]) -> float:
    """Two-sided exact McNemar test: do two methods succeed equally often on the same pairs?"""
    only_ours, only_theirs = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    n = only_ours + only_theirs
    return 1.0 if n == 0 else float(stats.binomtest(only_ours, n, 0.5).pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """Holm-adjusted p-values in the given order: reject those below the wanted level."""
    order = sorted(range(len(p)), key=lambda n: p[n])
    adjusted = [0.0] * len(p)
    running = 0.0
    for place, n in enumerate(order):
        running = max(running, min(1.0, (len(p) - place) * p[n]))
        adjusted[n] = running
    return adjusted


def spread(per_seed: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation over seeds (0 for a single seed)."""
    values = np.asarray(per_seed, np.float64)
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
