"""Tables of a comparison on the screen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from cerec.cli.console import out
from cerec_bench.report.tables import Column, compared, notes
from cerec_bench.statistics import Line


def show(lines: Sequence[Line], columns: Sequence[Column], title: str, tested: str) -> None:
    """The table, what its star means, and what must be said beside it."""
    grid = compared(lines, columns)
    table = Table(title=title)
    table.add_column("", min_width=12)
    for name in grid.head[1:]:
        table.add_column(name, justify="right")
    for row in grid.rows:
        table.add_row(*map(_cell, row))
    out.print(table)
    out.print(f"* differs from {tested}")
    for note in notes(lines):
        out.print(note)


def _cell(text: str) -> Text:
    best, plain = text.startswith("**"), text.replace("\\*", "\0").replace("*", "")
    return Text(plain.replace("\0", "*"), style="bold" if best else "")
