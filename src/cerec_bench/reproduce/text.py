"""Pages of results: paragraphs, tables and figures, as Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cerec.files import replacing


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts; `**bold**` and `*mark*` as in Markdown."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    prose: bool = False
    """Columns of text, all to the left; else of numbers, to the right but the first."""

    def markdown(self) -> str:
        """Pipes and dashes."""
        rest = "---" if self.prose else "---:"
        lines = [list(self.head), ["---", *[rest] * (len(self.head) - 1)], *map(list, self.rows)]
        body = "\n".join("| " + " | ".join(_piped(c) for c in line) + " |" for line in lines)
        return f"{self.caption}\n\n{body}" if self.caption else body

    def latex(self) -> str:
        """A booktabs table."""
        body = [" & ".join(_latex(c) for c in row) + r" \\" for row in self.rows]
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(self.caption)}}}",
            rf"\begin{{tabular}}{{l{('l' if self.prose else 'r') * (len(self.head) - 1)}}}",
            r"\toprule",
            " & ".join(_latex(c) for c in self.head) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG drawing beside the page."""

    name: str
    """File name without suffix; the page's name comes before it."""
    alt: str
    svg: str


Block = str | Grid | Picture


@dataclass(frozen=True, slots=True)
class Page:
    """One page of results."""

    name: str
    title: str
    blocks: Sequence[Block] = field(default=())

    def markdown(self) -> str:
        """The whole page."""
        parts = [f"# {self.title}"]
        for block in self.blocks:
            if isinstance(block, Grid):
                parts.append(block.markdown())
            elif isinstance(block, Picture):
                parts.append(f"![{block.alt}]({self.name}-{block.name}.svg)")
            else:
                parts.append(block)
        return "\n\n".join(parts).rstrip() + "\n"

    def latex(self) -> str:
        """Its tables alone, to be included in a paper."""
        return "\n\n".join(b.latex() for b in self.blocks if isinstance(b, Grid)) + "\n"

    def files(self) -> dict[str, str]:
        """File name -> text."""
        out = {f"{self.name}.md": self.markdown()}
        if any(isinstance(b, Grid) and not b.prose for b in self.blocks):
            out[f"{self.name}.tex"] = self.latex()
        for block in self.blocks:
            if isinstance(block, Picture):
                out[f"{self.name}-{block.name}.svg"] = block.svg
        return out

    def write(self, folder: Path) -> list[Path]:
        """Write its files; those written."""
        made = []
        for name, text in self.files().items():
            with replacing(folder / name) as target:
                target.write_text(text, encoding="utf-8")
            made.append(folder / name)
        return made


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
    r"""Escaped; `**bold**`, `*emphasis*` and a star written `\\*` as LaTeX has them."""
    starred = text.replace("\\*", "\0")
    escaped = "".join(_ESCAPES.get(c, c) for c in starred)
    bold = re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", escaped)
    slanted = re.sub(r"\*(.+?)\*", r"\\emph{\1}", bold)
    return slanted.replace("*", "").replace("\0", "$^{*}$")


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many digits after the point, or a dash."""
    return "-" if value is None or value != value else f"{value:.{digits}f}"


def spread_text(values: Sequence[float], digits: int = 4) -> str:
    """Mean, and the standard deviation where there are several."""
    from cerec_bench.statistics import spread

    if not values:
        return "-"
    mean, sd = spread(list(values))
    return number(mean, digits) + (f" ± {sd:.{digits}f}" if len(values) > 1 else "")


def percent(value: float | None, digits: int = 1) -> str:
    """A share in per cent."""
    return "-" if value is None or value != value else f"{100 * value:.{digits}f} %"
