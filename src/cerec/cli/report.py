"""The report on data, for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cerec.data.check import Report
from cerec.data.findings import Finding

_STYLE = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_SHOWN = 12
_FIGURES = {
    "users": "users",
    "items": "items",
    "interactions": "interactions",
    "entities": "other entities",
    "relations": "relations",
    "triples": "triples",
    "density": "density",
    "values": "values of items",
    "train_pairs": "in train",
    "valid_pairs": "in validation",
    "test_pairs": "in test",
}


def show_report(report: Report, console: Console) -> None:
    """Print figures, degrees, relations and findings."""
    console.print(_figures(report))
    console.print(_degrees(report))
    if report.relations:
        console.print(_relations(report))
    for note in report.notes:
        console.print(Text(f"({note})", style="dim"))
    if not report.findings:
        console.print("Nothing to remark.")
    for finding in report.findings:
        _show(finding, console)


def _figures(report: Report) -> Table:
    table = Table(title=Text(report.name), show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for key, name in _FIGURES.items():
        if key in report.figures:
            value = report.figures[key]
            table.add_row(name, f"{value:.3%}" if isinstance(value, float) else f"{value:,}")
    return table


def _degrees(report: Report) -> Table:
    table = Table("", title="how many")
    for name in ("least", "25 %", "median", "75 %", "most", "mean"):
        table.add_column(name, justify="right")
    for q in report.degrees:
        cells = (q.least, q.low, q.median, q.high, q.most)
        table.add_row(q.of, *(f"{c:,}" for c in cells), f"{q.mean:,.1f}")
    return table


def _relations(report: Report) -> Table:
    more = len(report.relations) - _SHOWN
    table = Table(title="largest relations", caption=f"and {more} smaller" if more > 0 else None)
    table.add_column("relation", overflow="fold")
    for name in ("triples", "items", "values"):
        table.add_column(name, justify="right")
    table.add_column("for example", overflow="ellipsis", no_wrap=True, max_width=30)
    for r in report.relations[:_SHOWN]:
        counts = (f"{n:,}" for n in (r.triples, r.items, r.values))
        table.add_row(Text(r.name), *counts, Text(r.example))
    return table


def _show(finding: Finding, console: Console) -> None:
    text = Text(f"{finding.severity}: ", style=_STYLE[finding.severity])
    text.append(finding.what, style="default not bold")
    console.print(text)
    if finding.examples:
        console.print(Text(f"  for example {'; '.join(finding.examples)}", style="dim"))
    console.print(Text(f"  {finding.remedy}"))
