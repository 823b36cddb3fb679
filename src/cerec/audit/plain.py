"""Findings as plain values for JSON, and pages of Markdown as HTML for notebooks."""

from __future__ import annotations

import html
import re
from typing import Any

import numpy as np


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
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


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
