"""From cells to the table: means over seeds, intervals and tests over users."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from cerec.files import finite
from cerec.metrics import PerUser
from cerec_bench.compare.contenders import contender
from cerec_bench.compare.grid import Cell
from cerec_bench.statistics import bootstrap, holm, signed_rank, spread

SHOWN = ("recall", "ndcg", "hr")
"""The metrics of the paper's table."""
COST = ("seeds", "trials", "seconds", "cpu_seconds", "peak_mb", "error")
_TITLES = {"recall": "Recall", "ndcg": "NDCG", "hr": "HR", "precision": "Precision"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the table."""

    mean: float
    """Over users, then over seeds."""
    sd: float
    """Over seeds."""
    low: float
    high: float
    """Bootstrap interval over users, of their means over seeds."""
    p: float | None = None
    """Wilcoxon signed-rank over users against the reference, Holm-corrected over the contenders;
    None for the reference itself."""
    effect: float | None = None
    """Rank-biserial: above 0 when more users do better here than with the reference."""


@dataclass(frozen=True, slots=True)
class Line:
    """One contender."""

    model: str
    title: str
    note: str
    error: str
    figures: dict[str, Figure] = field(default_factory=dict)
    other: dict[str, float] = field(default_factory=dict)
    """Means of the metrics that are not tested: coverage, novelty, popularity and the rest."""
    params: dict[str, Any] = field(default_factory=dict)
    seeds: int = 0
    trials: int = 0
    timed_out: int = 0
    """Fits that ended by the clock."""
    seconds: float = 0.0
    """Mean wall time of a fit."""
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    """Largest memory of a fit."""
    epochs: float = 0.0


def summarise(
    cells: Sequence[Cell],
    per_user: Callable[[str], PerUser],
    names: Sequence[str],
    *,
    reference: str,
) -> list[Line]:
    """One line per contender in the order of the cells; `names` (`recall@20`, ...) are tested.

    `per_user` gives the metrics of every user of a cell by its key.
    """
    models = list(dict.fromkeys(cell.model for cell in cells))
    users: dict[str, PerUser] = {}
    for model in models:
        done = [c for c in cells if c.model == model and c.kind == "seed" and not c.error]
        if done:
            values = [per_user(c.key) for c in done]
            users[model] = {name: np.mean([v[name] for v in values], axis=0) for name in names}
    tested = {name: _tests(users, name, reference) for name in names}
    return [_line(model, cells, users.get(model, {}), tested) for model in models]


def _tests(users: dict[str, PerUser], name: str, reference: str) -> dict[str, tuple[float, float]]:
    """Contender -> (corrected p, effect) against the reference."""
    if reference not in users:
        return {}
    base, others = users[reference][name], [m for m in users if m != reference]
    raw = []
    for model in others:
        gap = users[model][name] - base
        raw.append(signed_rank(gap[~np.isnan(gap)]))
    corrected = holm([p for p, _ in raw])
    return {m: (p, effect) for m, p, (_, effect) in zip(others, corrected, raw, strict=True)}


def _line(
    model: str,
    cells: Sequence[Cell],
    users: PerUser,
    tested: dict[str, dict[str, tuple[float, float]]],
) -> Line:
    entry = contender(model)
    mine = [cell for cell in cells if cell.model == model]
    done = [cell for cell in mine if cell.kind == "seed" and not cell.error]
    if not done:
        error = next((cell.error for cell in mine if cell.error), "not computed")
        return Line(model, entry.title, entry.note, error)
    figures = {}
    for name, values in users.items():
        centre, sd = spread([cell.test[name] for cell in done])
        low, high = bootstrap(values[~np.isnan(values)], rounds=1000)
        figures[name] = Figure(centre, sd, low, high, *tested[name].get(model, (None, None)))
    rest = [name for name in done[0].test if name not in figures]
    return Line(
        model,
        entry.title,
        entry.note,
        "",
        figures,
        {name: float(np.mean([cell.test[name] for cell in done])) for name in rest},
        done[0].params,
        len(done),
        sum(cell.kind == "trial" for cell in mine),
        sum(cell.timed_out for cell in mine),
        float(np.mean([cell.seconds for cell in done])),
        float(np.mean([cell.cpu_seconds for cell in done])),
        max(cell.peak_mb for cell in mine),
        float(np.mean([cell.epochs for cell in done])),
    )


def columns(ks: Sequence[int], metrics: Sequence[str] = SHOWN) -> list[str]:
    """`recall@20`, `ndcg@20`, ... in the order of the paper's table."""
    return [f"{metric}@{k}" for k in ks for metric in metrics]


def heading(name: str) -> str:
    """`Recall@20`."""
    metric, _, k = name.partition("@")
    return f"{_TITLES.get(metric, metric)}@{k}"


def ranked(lines: Sequence[Line], name: str) -> list[str]:
    """Contenders by falling mean."""
    there = [line for line in lines if name in line.figures]
    return [line.model for line in sorted(there, key=lambda x: -x.figures[name].mean)]


def cell_text(line: Line, name: str) -> str:
    """`.3421` with its spread over seeds, and a mark when it differs from the reference."""
    figure = line.figures.get(name)
    if figure is None:
        return "-"
    spread_text = f" ± {figure.sd:.4f}" if line.seeds > 1 else ""
    mark = "*" if figure.p is not None and figure.p < 0.05 else ""
    return f"{figure.mean:.4f}{spread_text}{mark}"


def to_csv(lines: Sequence[Line]) -> str:
    """One row per contender and metric."""
    out = io.StringIO()
    names = ("mean", "sd", "low", "high", "p", "effect")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["model", "metric", *names, *COST])
    for line in lines:
        cost = [line.seeds, line.trials, f"{line.seconds:.3f}", f"{line.cpu_seconds:.3f}"]
        cost += [f"{line.peak_mb:.1f}", line.error]
        if line.error:
            writer.writerow([line.model, "", *[""] * len(names), *cost])
        for metric, figure in line.figures.items():
            writer.writerow([line.model, metric, *(getattr(figure, n) for n in names), *cost])
        for metric, value in line.other.items():
            writer.writerow([line.model, metric, value, *[""] * (len(names) - 1), *cost])
    return out.getvalue()


def to_json(lines: Sequence[Line], about: dict[str, Any]) -> dict[str, Any]:
    """Everything, for programs; numbers that are not finite become null."""
    return {"about": about, "lines": [finite(asdict(line)) for line in lines]}


def to_markdown(lines: Sequence[Line], names: Sequence[str]) -> str:
    """A table for a page; the best of each column is bold."""
    best = {name: (ranked(lines, name) or [""])[0] for name in names}
    head = ["", *map(heading, names), "seconds", "MB"]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    for line in lines:
        cells = [cell_text(line, name) for name in names]
        cells = [
            f"**{text}**" if best[name] == line.model else text
            for text, name in zip(cells, names, strict=True)
        ]
        rows.append([line.title, *cells, f"{line.seconds:.1f}", f"{line.peak_mb:.0f}"])
    notes = [f"{line.title}: {line.note}." for line in lines if line.note and not line.error]
    notes += [f"{line.title}: {line.error}." for line in lines if line.error]
    return "\n".join(["| " + " | ".join(row) + " |" for row in rows] + ["", *notes]) + "\n"


def to_latex(lines: Sequence[Line], names: Sequence[str]) -> str:
    """A booktabs table: best bold, second underlined, a star where users differ from the
    reference (p < 0.05, Holm).
    """
    order = {name: ranked(lines, name) for name in names}
    body = []
    for line in lines:
        cells = []
        for name in names:
            figure = line.figures.get(name)
            text = "--" if figure is None else f"{figure.mean:.4f}"
            place = order[name].index(line.model) if figure is not None else -1
            text = {0: rf"\textbf{{{text}}}", 1: rf"\underline{{{text}}}"}.get(place, text)
            star = figure is not None and figure.p is not None and figure.p < 0.05
            cells.append(text + ("$^{*}$" if star else ""))
        body.append(" & ".join([line.title, *cells]) + r" \\")
    head = " & ".join(["", *map(heading, names)]) + r" \\"
    begin = rf"\begin{{tabular}}{{l{'c' * len(names)}}}"
    parts = [begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join(parts) + "\n"
