"""Findings as plain values for JSON, as Markdown, and pages of Markdown as HTML for notebooks."""

from __future__ import annotations

import html
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Page(ABC):
    """What a finding can be shown as; a subclass writes `text`."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        return dict(plain(self))

    @abstractmethod
    def text(self) -> str:
        """A page in Markdown."""

    def _repr_html_(self) -> str:
        return as_html(self.text())


class Share(NamedTuple):
    """A share with its interval over users (95 %)."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"

    @property
    def signed(self) -> str:
        """With the sign of each number."""
        return f"{self.value:+.1%} ({self.low:+.1%} to {self.high:+.1%})"


def plain(value: Any) -> Any:
    """Dataclasses and named tuples as JSON can hold them; what is not a number becomes None."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if hasattr(value, "_asdict"):
        return {name: plain(x) for name, x in value._asdict().items()}
    if isinstance(value, dict):
        return {str(name): plain(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [plain(x) for x in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def percent(x: float) -> str:
    """As people write it: a decimal only where it says something."""
    return f"{x:.0%}" if abs(x) >= 0.1 or round(x, 3) == 0 else f"{x:.1%}"


def joined(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def plural(n: int, one: str, many: str = "") -> str:
    """`1 item`, `2 items`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown; nothing without rows."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(c.replace('|', '/').replace(chr(10), ' ') for c in cells)} |"

    return [line(heads), line(["---"] * len(heads)), *map(line, rows), ""] if rows else []


def as_html(page: str) -> str:
    """The headings, tables, lists and paragraphs that our pages are made of."""
    out: list[str] = []
    for block in re.split(r"\n\s*\n", page.strip()):
        lines = block.splitlines()
        if lines[0].startswith("#"):
            level = len(lines[0]) - len(lines[0].lstrip("#"))
            out.append(f"<h{level}>{_words(lines[0].lstrip('# '))}</h{level}>")
        elif lines[0].startswith("|"):
            head, *rows = ([_words(c.strip()) for c in x[1:-1].split("|")] for x in lines)
            top = "".join(f"<th>{c}</th>" for c in head)
            body = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in r)}</tr>" for r in rows[1:])
            out.append(f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>")
        elif lines[0].startswith("- "):
            out.append(f"<ul>{''.join(f'<li>{_words(x[2:])}</li>' for x in lines)}</ul>")
        else:
            out.append(f"<p>{_words(' '.join(lines))}</p>")
    return "\n".join(out)


def _words(text: str) -> str:
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))
    return re.sub(r"(?<!\w)\*(\w[^*]*)\*", r"<i>\1</i>", text)
