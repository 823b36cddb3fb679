"""From cells to lines: means over pairs and seeds, errors, intervals, tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cerec_bench.explainers.cells import Outcome
from cerec_bench.explainers.measures import consistency, harmonic, stability
from cerec_bench.explainers.paired import mcnemar, over_users
from cerec_bench.explainers.protocol import Answer
from cerec_bench.explainers.registry import Entry, method
from cerec_bench.explainers.runner import Comparison
from cerec_bench.explainers.truths import Truth
from cerec_bench.statistics import holm, signed_rank, spread

Floats = NDArray[np.float64]
CHECKS = ("found", "flipped", "pn_all", "ps_all", "pn_item", "ps_item")
AGREEMENT = ("precision", "recall", "f1", "matched")


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the table."""

    mean: float
    """Over pairs, then over seeds (random explanations: over draws)."""
    se: float
    """Standard error over pairs, of their means over seeds."""
    sd: float
    """Standard deviation over seeds or draws."""
    low: float
    high: float
    """Bootstrap interval over users."""
    n: int
    """Pairs that have the number."""
    p: float | None = None
    """Against the reference, Holm-corrected over the methods: exact McNemar for checks, Wilcoxon
    signed-rank for sizes and agreement; None for the reference itself."""


_NAN = float("nan")
_NONE = Figure(_NAN, _NAN, _NAN, _NAN, _NAN, 0)


@dataclass(frozen=True, slots=True)
class Line:
    """One method on one subject."""

    method: str
    title: str
    note: str
    error: str
    acts_on: str
    figures: dict[str, Figure] = field(default_factory=dict)
    """`found` (coverage), `flipped`, `size`, `named`, `similarity`, `stability`, `pn_all`, ...;
    `precision:TRUTH`, `recall:TRUTH`, `f1:TRUTH`, `matched:TRUTH`."""
    seeds: int = 0
    draws: int = 1
    fit_seconds: float = 0.0
    ms: float = 0.0
    """Per pair."""
    peak_mb: float = 0.0


def summarise(comparison: Comparison) -> list[Line]:
    """One line per method, in the order of the plan."""
    plan = comparison.plan
    truths = comparison.truths()
    base = plan.reference if plan.reference in plan.methods else plan.methods[0]
    first = next(iter(comparison.outcomes(base)), None)
    sizes = None if first is None else np.array([len(a.values) for a in first.draw(0)])
    numbers = {name: _numbers(comparison, name, truths, sizes) for name in plan.methods}
    lines = [_line(comparison, name, numbers[name]) for name in plan.methods]
    return _tested(lines, numbers, base)


def _numbers(
    comparison: Comparison, name: str, truths: Mapping[str, Truth], sizes: NDArray[np.int64] | None
) -> dict[str, Floats]:
    """Metric -> (seeds or draws, pairs), nan where it does not apply."""
    entry, parts = method(name), []
    answers: list[list[Answer]] = []
    for outcome in comparison.outcomes(name):
        parts.append(_of_cell(entry, outcome, truths, sizes))
        answers += [outcome.draw(d) for d in range(outcome.cell.draws)]
    if not parts:
        return {}
    out = {metric: np.concatenate([p[metric] for p in parts]) for metric in parts[0]}
    if len(answers) > 1:
        out["stability"] = stability(answers)[None, :]
    elif not entry.seeded:
        out["stability"] = stability([answers[0], answers[0]])[None, :]
    return out


def _of_cell(
    entry: Entry, outcome: Outcome, truths: Mapping[str, Truth], sizes: NDArray[np.int64] | None
) -> dict[str, Floats]:
    verdicts, draws = outcome.verdicts, outcome.cell.draws
    by_value = entry.acts_on == "values"
    found = verdicts.found
    flat: dict[str, Floats] = {
        "found": found.astype(float),
        "flipped": verdicts.flipped.astype(float),
        "size": np.where(found, verdicts.size, np.nan),
        "similarity": verdicts.similarity,
    }
    if by_value:
        named = np.array([len(a.values) + a.strays for a in outcome.answers], float)
        flat["named"] = np.where(found, named, np.nan)
        for check in CHECKS[2:]:
            flat[check] = getattr(verdicts, check).astype(float)
        for name, truth in truths.items():
            agreed = consistency(truth, outcome.answers, outcome.pair)
            for measure in AGREEMENT[:3]:
                flat[f"{measure}:{name}"] = getattr(agreed, measure)
            if sizes is not None and not truth.both and not entry.draws:
                cut = _first(outcome.answers, sizes[outcome.pair])
                flat[f"matched:{name}"] = consistency(truth, cut, outcome.pair).precision
    return {metric: values.reshape(-1, draws).T for metric, values in flat.items()}


def _first(answers: Sequence[Answer], sizes: NDArray[np.int64]) -> list[Answer]:
    """Answers cut to their first values, as many as the reference names for the pair."""
    return [
        replace(a, values=a.values[: max(int(n), 1)]) for a, n in zip(answers, sizes, strict=True)
    ]


def _line(comparison: Comparison, name: str, numbers: Mapping[str, Floats]) -> Line:
    entry, cells = method(name), comparison.cells(name)
    bare = Line(name, entry.title, entry.note, "", entry.acts_on)
    done = [cell for cell in cells if not cell.error]
    if not done:
        return replace(bare, error=cells[0].error if cells else "not computed")
    user = comparison.pairs.user
    figures = {metric: _figure(values, user) for metric, values in numbers.items()}
    for form in ("all", "item"):
        if f"pn_{form}" in figures:
            mean = harmonic(figures[f"pn_{form}"].mean, figures[f"ps_{form}"].mean)
            figures[f"fns_{form}"] = replace(_NONE, mean=mean, n=len(user))
    return replace(
        bare,
        figures=figures,
        seeds=len(done),
        draws=done[0].draws,
        fit_seconds=float(np.mean([c.fit_seconds for c in done])),
        ms=1e3 * float(np.mean([c.explain_seconds for c in done])) / len(user),
        peak_mb=max(c.peak_mb for c in done),
    )


def _figure(values: Floats, user: NDArray[np.int32]) -> Figure:
    there = ~np.isnan(values)
    counts = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    by_pair = np.divide(total, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    known = by_pair[~np.isnan(by_pair)]
    if len(known) == 0:
        return _NONE
    se = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else 0.0
    by_seed = [float(row[ok].mean()) for row, ok in zip(values, there, strict=True) if ok.any()]
    low, high = over_users(by_pair, user)
    return Figure(float(known.mean()), se, spread(by_seed)[1], low, high, len(known))


def _tested(
    lines: Sequence[Line], numbers: Mapping[str, dict[str, Floats]], base: str
) -> list[Line]:
    """The lines with p-values against the reference."""
    reference = numbers[base]
    others = [line for line in lines if line.method != base and line.figures]
    found: dict[str, dict[str, Figure]] = {line.method: dict(line.figures) for line in others}
    for metric, ours in reference.items():
        if metric in ("similarity", "stability", "named"):
            continue
        rivals = [line.method for line in others if metric in numbers[line.method]]
        raw = [_p(metric, ours, numbers[name][metric]) for name in rivals]
        for name, p in zip(rivals, holm(raw), strict=True):
            found[name][metric] = replace(found[name][metric], p=p)
    return [replace(line, figures=found.get(line.method, line.figures)) for line in lines]


def _p(metric: str, ours: Floats, theirs: Floats) -> float:
    """Checks and sizes by their first seed or draw; agreement by means over seeds."""
    if metric in CHECKS:
        return mcnemar(ours[0] > 0, theirs[0] > 0)
    gap = ours[0] - theirs[0] if metric == "size" else ours.mean(axis=0) - theirs.mean(axis=0)
    return signed_rank(gap[~np.isnan(gap)])[0]
