"""The lines of a comparison as text: for people, for papers, for programs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cerec.files import finite
from cerec_bench.explainers.summary import Line

CONSISTENCY = ("precision", "recall", "f1")
CHECKED = (
    ("found", "coverage %", 100.0),
    ("flipped", "flips %", 100.0),
    ("size", "changes", 1.0),
    ("named", "named", 1.0),
    ("pn_all", "PN all %", 100.0),
    ("ps_all", "PS all %", 100.0),
    ("pn_item", "PN item %", 100.0),
    ("ps_item", "PS item %", 100.0),
    ("similarity", "similarity", 1.0),
    ("stability", "stability", 1.0),
)
"""Figures of the second table: key, heading, factor."""
_TITLES = {"precision": "Precision", "recall": "Recall", "f1": "F1"}
Results = Mapping[str, Sequence[Line]]
"""Subject -> lines."""


def truths_of(lines: Sequence[Line]) -> list[str]:
    """The truths the lines were compared with, in order."""
    keys = [key for line in lines for key in line.figures if key.startswith("precision:")]
    return list(dict.fromkeys(key.partition(":")[2] for key in keys))


def agreement_text(line: Line, key: str, *, star: bool = True) -> str:
    """`18.34 ± 0.81` in per cent with the standard error over pairs."""
    figure = line.figures.get(key)
    if figure is None or math.isnan(figure.mean):
        return "-"
    mark = "*" if star and figure.p is not None and figure.p < 0.05 else ""
    return f"{100 * figure.mean:.2f} ± {100 * figure.se:.2f}{mark}"


def check_text(line: Line, key: str, factor: float) -> str:
    """A figure of the second table."""
    figure = line.figures.get(key)
    if figure is None or math.isnan(figure.mean):
        return "-"
    mark = "*" if figure.p is not None and figure.p < 0.05 else ""
    number = factor * figure.mean
    return (f"{number:.1f}" if factor == 100 else f"{number:.2f}") + mark


def best(lines: Sequence[Line], key: str, *, lowest: bool = False) -> str | None:
    """The method with the best mean, None when nobody has the figure."""
    there = [
        line for line in lines if key in line.figures and not math.isnan(line.figures[key].mean)
    ]
    if not there:
        return None
    sign = 1 if lowest else -1
    return min(there, key=lambda line: sign * line.figures[key].mean).method


def consistency_markdown(results: Results, truth: str) -> str:
    """The paper's table III: a line per method, three columns per subject."""
    there = {name: lines for name, lines in results.items() if truth in truths_of(lines)}
    head = [""] + [f"{name}: {_TITLES[m]} %" for name in there for m in CONSISTENCY]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    for method, title in _titles(there):
        cells = []
        for lines in there.values():
            line = next((x for x in lines if x.method == method), None)
            for measure in CONSISTENCY:
                key = f"{measure}:{truth}"
                text = "-" if line is None else agreement_text(line, key)
                cells.append(f"**{text}**" if best(lines, key) == method else text)
        if any(cell != "-" for cell in cells):
            rows.append([title, *cells])
    return _markdown(rows)


def checks_markdown(lines: Sequence[Line]) -> str:
    """One subject: coverage, flips, sizes, necessity and sufficiency, cost."""
    head = ["", *(title for _, title, _ in CHECKED), "seeds", "fit s", "ms / pair", "MB"]
    rows = [head, ["---", *["---:"] * (len(head) - 1)]]
    for line in lines:
        if line.error:
            rows.append([line.title, line.error, *[""] * (len(head) - 2)])
            continue
        cells = [check_text(line, key, factor) for key, _, factor in CHECKED]
        times = f"{line.draws} draws" if line.draws > 1 else str(line.seeds)
        cost = [times, f"{line.fit_seconds:.1f}", f"{line.ms:.2f}", f"{line.peak_mb:.0f}"]
        rows.append([line.title, *cells, *cost])
    return _markdown(rows)


def to_csv(results: Results) -> str:
    """One row per subject, method and figure."""
    out = io.StringIO()
    names = ("mean", "se", "sd", "low", "high", "n", "p")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["data", "method", "figure", *names, "seeds", "draws", "error"])
    for subject, lines in results.items():
        for line in lines:
            tail = [line.seeds, line.draws, line.error]
            if line.error:
                writer.writerow([subject, line.method, "", *[""] * len(names), *tail])
            for key, figure in line.figures.items():
                numbers = [_blank(getattr(figure, name)) for name in names]
                writer.writerow([subject, line.method, key, *numbers, *tail])
            for cost in ("fit_seconds", "ms", "peak_mb"):
                if not line.error:
                    number = [getattr(line, cost), *[""] * (len(names) - 1)]
                    writer.writerow([subject, line.method, cost, *number, *tail])
    return out.getvalue()


def to_latex(results: Results, truth: str) -> str:
    """The paper's table III for one truth: best bold, second underlined."""
    there = {name: lines for name, lines in results.items() if truth in truths_of(lines)}
    body = []
    for method, title in _titles(there):
        cells = []
        for lines in there.values():
            line = next((x for x in lines if x.method == method), None)
            for measure in CONSISTENCY:
                cells.append(_latex_cell(lines, line, f"{measure}:{truth}"))
        body.append(" & ".join([_escaped(title), *cells]) + r" \\")
    groups = " & ".join(rf"\multicolumn{{3}}{{c}}{{\texttt{{{_escaped(name)}}}}}" for name in there)
    head = " & ".join(["Model", *[r"Precision\% & Recall\% & $F_1$\%"] * len(there)])
    parts = [
        rf"\begin{{tabular}}{{l{'ccc' * len(there)}}}",
        r"\toprule",
        rf"& {groups} \\",
        rf"{head} \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(parts) + "\n"


def to_json(lines: Sequence[Line], about: dict[str, Any]) -> dict[str, Any]:
    """Everything of one subject, for programs; numbers that are not finite become null."""
    return {"about": about, "lines": [finite(asdict(line)) for line in lines]}


def _latex_cell(lines: Sequence[Line], line: Line | None, key: str) -> str:
    figure = None if line is None else line.figures.get(key)
    if line is None or figure is None or math.isnan(figure.mean):
        return "--"
    there = [x for x in lines if key in x.figures and not math.isnan(x.figures[key].mean)]
    order = [x.method for x in sorted(there, key=lambda x: -x.figures[key].mean)]
    text = f"{100 * figure.mean:.4f}"
    place = order.index(line.method)
    text = {0: rf"\textbf{{{text}}}", 1: rf"\underline{{{text}}}"}.get(place, text)
    return rf"{text} $\pm$ {100 * figure.se:.2f}"


def _titles(results: Results) -> list[tuple[str, str]]:
    found = {line.method: line.title for lines in results.values() for line in lines}
    return list(found.items())


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _escaped(text: str) -> str:
    for sign in "&%_#":
        text = text.replace(sign, "\\" + sign)
    return text


def _blank(value: Any) -> Any:
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if missing else value
