"""From the answers of explainers to lines of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec_bench.cells import Arrays, Cell
from cerec_bench.explainers.measures import consistency, harmonic, stability
from cerec_bench.explainers.protocol import Answer, Rows
from cerec_bench.explainers.registry import Entry, method
from cerec_bench.explainers.truths import Truth
from cerec_bench.explainers.verdict import Verdicts
from cerec_bench.report.tables import Column, Grid, compared
from cerec_bench.statistics import Figure, Line, bootstrap, holm, mcnemar, signed_rank, spread

Floats = NDArray[np.float64]
CHECKS = ("found", "flipped", "pn_all", "ps_all", "pn_item", "ps_item")
AGREEMENT = ("precision", "recall", "f1")
_SETS = ("values", "lost", "gained", "removed")


def packed(answers: Sequence[Answer], verdicts: Verdicts) -> Arrays:
    """Answers and what became of them as arrays."""
    arrays: Arrays = {f"verdict.{n}": getattr(verdicts, n) for n in Verdicts.__slots__}
    for name in _SETS:
        rows = [getattr(a, name) for a in answers]
        arrays[f"{name}.indptr"] = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        arrays[f"{name}.rows"] = np.concatenate([*rows, np.zeros(0, np.int32)]).astype(np.int32)
    others = [-1 if a.counterfactual is None else a.counterfactual for a in answers]
    arrays["counterfactual"] = np.array(others, np.int32)
    arrays["strays"] = np.array([a.strays for a in answers], np.int32)
    return arrays


def unpacked(arrays: Arrays) -> tuple[list[Answer], Verdicts]:
    """What `packed` packed, the time of single answers left out."""
    verdicts = Verdicts(**{n: arrays[f"verdict.{n}"] for n in Verdicts.__slots__})
    sets = {n: list(_split(arrays[f"{n}.indptr"], arrays[f"{n}.rows"])) for n in _SETS}
    others, strays = arrays["counterfactual"].tolist(), arrays["strays"].tolist()
    answers = [
        Answer(
            values=sets["values"][n],
            lost=sets["lost"][n],
            gained=sets["gained"][n],
            removed=sets["removed"][n],
            counterfactual=None if other < 0 else other,
            strays=stray,
        )
        for n, (other, stray) in enumerate(zip(others, strays, strict=True))
    ]
    return answers, verdicts


def _split(indptr: NDArray[np.int64], rows: Rows) -> Iterator[Rows]:
    return (rows[low:high] for low, high in pairwise(indptr))


def _first(cell: Cell) -> list[Answer]:
    """The answers of the first draw."""
    return unpacked(cell.arrays)[0][:: cell.found["draws"]]


def lines_of(
    cells: Mapping[str, Sequence[Cell]], truths: Mapping[str, Truth], user: Rows, base: str
) -> list[Line]:
    """A line per method, tested against the method `base`; `user`: of every pair."""
    first = next((cell for cell in cells[base] if not cell.error), None)
    sizes = None if first is None else np.array([len(a.values) for a in _first(first)])
    numbers = {n: _numbers(method(n), cells[n], truths, sizes) for n in cells}
    return _tested([_line(n, cells[n], numbers[n], user) for n in cells], numbers, base)


def _numbers(
    entry: Entry, cells: Sequence[Cell], truths: Mapping[str, Truth], sizes: Any
) -> dict[str, Floats]:
    """Metric -> (seeds or draws, pairs), nan where it does not apply."""
    parts, answers = [], []
    for cell in cells:
        if cell.error:
            continue
        draws, (given, verdicts) = cell.found["draws"], unpacked(cell.arrays)
        flat = _of_cell(entry, given, verdicts, draws, truths, sizes)
        parts.append({metric: v.reshape(-1, draws).T for metric, v in flat.items()})
        answers += [given[d::draws] for d in range(draws)]
    if not parts:
        return {}
    out = {metric: np.concatenate([p[metric] for p in parts]) for metric in parts[0]}
    if len(answers) > 1 or not entry.seeded:
        out["stability"] = stability(answers if len(answers) > 1 else answers * 2)[None, :]
    return out


def _of_cell(
    entry: Entry,
    answers: Sequence[Answer],
    verdicts: Verdicts,
    draws: int,
    truths: Mapping[str, Truth],
    sizes: NDArray[np.int64] | None,
) -> dict[str, Floats]:
    found = verdicts.found
    flat: dict[str, Floats] = {
        "found": found.astype(float),
        "flipped": verdicts.flipped.astype(float),
        "size": np.where(found, verdicts.size, np.nan),
        "similarity": verdicts.similarity,
    }
    if entry.acts_on == "history":
        return flat
    pair = np.repeat(np.arange(len(answers) // draws), draws)
    named = np.array([len(a.values) + a.strays for a in answers], float)
    flat["named"] = np.where(found, named, np.nan)
    flat |= {check: getattr(verdicts, check).astype(float) for check in CHECKS[2:]}
    for name, truth in truths.items():
        agreed = consistency(truth, answers, pair)
        flat |= {f"{measure}:{name}": getattr(agreed, measure) for measure in AGREEMENT}
        if sizes is not None and not truth.both and not entry.draws:
            cut = [
                replace(a, values=a.values[: max(int(n), 1)])
                for a, n in zip(answers, sizes[pair], strict=True)
            ]
            flat[f"matched:{name}"] = consistency(truth, cut, pair).precision
    return flat


def _line(name: str, cells: Sequence[Cell], numbers: Mapping[str, Floats], user: Rows) -> Line:
    entry, done = method(name), [cell for cell in cells if not cell.error]
    if not done:
        return Line(name, entry.title, entry.note, cells[0].error)
    figures = {metric: _figure(values, user) for metric, values in numbers.items()}
    for form in ("all", "item"):
        if f"pn_{form}" in figures:
            mean = harmonic(figures[f"pn_{form}"].mean, figures[f"ps_{form}"].mean)
            figures[f"fns_{form}"] = Figure(mean, n=len(user))
    seconds = float(np.mean([c.found["explain_seconds"] for c in done]))
    other = {
        "seeds": len(done),
        "draws": done[0].found["draws"],
        "fit_seconds": float(np.mean([c.found["fit_seconds"] for c in done])),
        "ms": 1e3 * seconds / len(user),
        "peak_mb": max(c.about["peak_mb"] for c in done),
    }
    return Line(name, entry.title, entry.note, "", figures, other)


def _figure(values: Floats, user: Rows) -> Figure:
    there = ~np.isnan(values)
    counts = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    by_pair = np.divide(total, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    known = by_pair[~np.isnan(by_pair)]
    if len(known) == 0:
        return Figure(float("nan"))
    by_seed = [float(row[ok].mean()) for row, ok in zip(values, there, strict=True) if ok.any()]
    low, high = bootstrap(by_pair, user, rounds=1000)
    return Figure(float(known.mean()), spread(by_seed)[1], low, high, len(known))


def _tested(
    lines: Sequence[Line], numbers: Mapping[str, dict[str, Floats]], base: str
) -> list[Line]:
    """The lines with p-values against the reference: McNemar for checks, Wilcoxon for the rest."""
    found = {x.name: dict(x.figures) for x in lines}
    others = [x.name for x in lines if x.name != base and x.figures]
    for metric, ours in numbers[base].items():
        if metric in ("similarity", "stability", "named"):
            continue
        rivals = [name for name in others if metric in numbers[name]]
        raw = [_p(metric, ours, numbers[name][metric]) for name in rivals]
        for name, p in zip(rivals, holm(raw), strict=True):
            found[name][metric] = replace(found[name][metric], p=p)
    return [replace(x, figures=found[x.name]) for x in lines]


def _p(metric: str, ours: Floats, theirs: Floats) -> float:
    """Checks and sizes by their first seed or draw; agreement by means over seeds."""
    if metric in CHECKS:
        return mcnemar(ours[0] > 0, theirs[0] > 0)
    gap = ours[0] - theirs[0] if metric == "size" else ours.mean(axis=0) - theirs.mean(axis=0)
    return signed_rank(gap[~np.isnan(gap)])[0]


def check_columns() -> list[Column]:
    """The columns of the checks."""
    shown = {"found": "answers %", "flipped": "flips %"}
    out = [Column(key, title, 100, 1) for key, title in shown.items()]
    out += [Column("size", "changes", 1, 2, ranked=False)]
    out += [Column(f"{n}_all", f"{n.upper()} %", 100, 1) for n in ("pn", "ps")]
    return [*out, Column("stability", "stable", 1, 2), Column("ms", "ms", 1, 2, ranked=False)]


def agreement_columns(truth: str) -> list[Column]:
    """The columns of the paper's table III."""
    titles = ("precision %", "recall %", "F1 %")
    return [Column(f"{m}:{truth}", t, 100, 2) for m, t in zip(AGREEMENT, titles, strict=True)]


def grids_of(name: str, lines: Sequence[Line], about: Mapping[str, Any]) -> list[Grid]:
    """The checks, then the agreement with every truth."""
    what = "train pairs" if about["positives"] else f"listed pairs, top {about['k']}"
    caption = (
        f"{name}: {about['pairs']:,} {what}, of {about['users_explained']:,} users; "
        f"a star: differs from {about['reference']}, p < 0.05."
    )
    grids = [] if about["positives"] else [compared(lines, check_columns(), caption)]
    for truth in about["truths"]:
        theirs = [line for line in lines if f"f1:{truth}" in line.figures]
        head = f"{name}, {what}: agreement with {truth}"
        grids.append(compared(theirs, agreement_columns(truth), head))
    return grids
