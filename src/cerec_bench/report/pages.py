"""The one template of a results page, a screen long.

The question; the answer in a sentence; one figure or table; how; what is missing; the full tables
behind a link.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cerec.files import replacing
from cerec_bench.report.tables import Grid

MOST_ROWS = 14
"""Rows of the table on a page; the others are in the full tables."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of results."""

    name: str
    question: str
    answer: str
    tables: Sequence[Grid]
    """All of them; the first is on the page."""
    how: Sequence[str]
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()
    """For the full tables."""
    chart: str = ""
    """File name of the figure in the folder of the full tables; it takes the table's place."""

    def markdown(self, full: str) -> str:
        """The page; `full` is the way from it to the folder of the full tables."""
        parts = [f"# {self.question}", self.answer]
        if self.chart:
            parts.append(f"![{self.question}]({full}/{self.chart})")
        elif self.tables:
            first = self.tables[0]
            parts.append(Grid(first.caption, first.head, first.rows[:MOST_ROWS]).markdown())
        parts += ["## How", "\n".join(f"- {line}" for line in self.how)]
        lacks = self.missing or ["Nothing of this plan."]
        parts += ["## What is missing", "\n".join(f"- {line}" for line in lacks)]
        parts.append(f"[Full tables]({full}/tables.md)")
        return "\n\n".join(part for part in parts if part) + "\n"

    def full(self) -> dict[str, str]:
        """File name -> text of the full tables."""
        texts = [f"# {self.question}: full tables", *(t.markdown() for t in self.tables)]
        texts.append("\n".join(f"- {note}" for note in self.notes))
        out = {"tables.md": "\n\n".join(text for text in texts if text) + "\n"}
        if self.tables:
            out["tables.tex"] = "\n\n".join(t.latex() for t in self.tables) + "\n"
            out["tables.csv"] = "\n".join(t.csv() for t in self.tables)
        return out

    def write(self, results: Path, pages: Path) -> Path:
        """Write the full tables to `results`, the page to `pages`; the path of the page."""
        for file, text in self.full().items():
            with replacing(results / file) as target:
                target.write_text(text, encoding="utf-8")
        path = pages / f"{self.name}.md"
        way = Path(os.path.relpath(results, pages)).as_posix()
        with replacing(path) as target:
            target.write_text(self.markdown(way), encoding="utf-8")
        return path
