"""Tables as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cerec.files import finite
from cerec_bench.statistics import Figure, Line, spread


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts; `**bold**` and `*slanted*` as in Markdown, a star behind a backslash."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Pipes and dashes; all columns but the first to the right."""
        rule = ["---", *["---:"] * (len(self.head) - 1)]
        lines = [list(self.head), rule, *map(list, self.rows)]
        body = "\n".join("| " + " | ".join(map(_piped, line)) + " |" for line in lines)
        return f"{self.caption}\n\n{body}" if self.caption else body

    def latex(self) -> str:
        """A booktabs table."""
        body = [" & ".join(map(_latex, row)) + r" \\" for row in self.rows]
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(self.caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(self.head) - 1)}}}",
            r"\toprule",
            " & ".join(map(_latex, self.head)) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines)

    def csv(self) -> str:
        """Rows of plain texts."""
        plain = [[re.sub(r"\\?\*", "", cell) for cell in row] for row in (self.head, *self.rows)]
        return csv_text(plain)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a comparison."""

    key: str
    """Of `Line.figures`, or of `Line.other`."""
    title: str
    factor: float = 1.0
    """100 for per cent."""
    digits: int = 4
    ranked: bool = True
    """Whether the best is bold and the second slanted."""


def compared(lines: Sequence[Line], columns: Sequence[Column], caption: str = "") -> Grid:
    """A row per line: mean and spread over seeds, a star where it differs from the reference."""
    order = {c.key: _order(lines, c.key) if c.ranked else [] for c in columns}
    rows = [[line.title, *(_cell(line, c, order[c.key]) for c in columns)] for line in lines]
    return Grid(caption, ["", *(c.title for c in columns)], rows)


def _order(lines: Sequence[Line], key: str) -> list[str]:
    there = [x for x in lines if key in x.figures and not math.isnan(x.figures[key].mean)]
    return [x.name for x in sorted(there, key=lambda x: -x.figures[key].mean)]


def _cell(line: Line, column: Column, order: Sequence[str]) -> str:
    figure, digits = line.figures.get(column.key), column.digits
    if figure is None:
        value = line.other.get(column.key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return number(column.factor * value, digits)
        return "-" if value is None or line.error else str(value)
    text = number(column.factor * figure.mean, digits)
    if figure.sd > 0:
        text += f" ± {column.factor * figure.sd:.{digits}f}"
    place = order.index(line.name) if line.name in order else 9
    mark = {0: "**", 1: "*"}.get(place, "")
    return f"{mark}{text}{mark}" + (r"\*" if figure.p is not None and figure.p < 0.05 else "")


def notes(lines: Iterable[Line]) -> list[str]:
    """What a table must say beside its numbers."""
    return [f"{x.title}: {x.error or x.note}." for x in lines if x.error or x.note]


def long_csv(results: Mapping[str, Sequence[Line]]) -> str:
    """A row per data set, line and number."""
    names = ("mean", "sd", "low", "high", "n", "p", "effect")
    rows = [["data", "name", "figure", *names, "error"]]
    for data, lines in results.items():
        for line in lines:
            if line.error:
                rows.append([data, line.name, "", *[""] * len(names), line.error])
            for key, figure in line.figures.items():
                values = [_blank(getattr(figure, name)) for name in names]
                rows.append([data, line.name, key, *values, ""])
            for key, value in line.other.items():
                text = value if isinstance(value, int | float | str) else json.dumps(value)
                rows.append([data, line.name, key, _blank(text), *[""] * len(names)])
    return csv_text(rows)


def csv_text(rows: Sequence[Sequence[Any]]) -> str:
    """Rows as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def to_json(lines: Sequence[Line], about: dict[str, Any]) -> dict[str, Any]:
    """Everything, for programs; numbers that are not finite become null."""
    return {"about": about, "lines": [finite(asdict(line)) for line in lines]}


def from_json(table: Mapping[str, Any]) -> list[Line]:
    """The lines that `to_json` wrote."""
    out = []
    for line in table["lines"]:
        figures = {key: _figure(numbers) for key, numbers in line["figures"].items()}
        out.append(Line(**{**line, "figures": figures}))
    return out


def _figure(plain: Mapping[str, Any]) -> Figure:
    nan = {k: float("nan") for k in ("mean", "sd", "low", "high") if plain[k] is None}
    return Figure(**{**plain, **nan})


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many digits after the point, or a dash."""
    return "-" if value is None or value != value else f"{value:,.{digits}f}"


def spread_text(values: Sequence[float], digits: int = 4) -> str:
    """Mean, and the standard deviation where there are several."""
    if not values:
        return "-"
    mean, sd = spread(list(values))
    return number(mean, digits) + (f" ± {sd:.{digits}f}" if len(values) > 1 else "")


def _blank(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _piped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


_ESCAPES = {
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "±": r"$\pm$",
    "→": r"$\to$",
    "≥": r"$\ge$",
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "`": "",
    "–": "--",
}


def _latex(text: str) -> str:
    starred = text.replace("\\*", "\0")
    escaped = "".join(_ESCAPES.get(c, c) for c in starred)
    bold = re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", escaped)
    slanted = re.sub(r"\*(.+?)\*", r"\\emph{\1}", bold)
    return slanted.replace("*", "").replace("\0", "$^{*}$")
