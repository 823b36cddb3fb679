"""An explanation as HTML for notebooks and reports; everything from data is escaped."""

from __future__ import annotations

from html import escape

from cerec.explain.card import MOST_ROWS, others, summed
from cerec.explain.explanation import Change, Explanation, Reason, Step
from cerec.explain.wording import after_label, before_label, checked, relation_label, segments

_BOX = (
    "font-family:system-ui,sans-serif;max-width:44rem;border:1px solid #8886;border-radius:8px;"
    "padding:.8rem 1.1rem;margin:.5rem 0;line-height:1.45"
)
_COLOURS = {"verified": "#2e7d32", "not_recommended": "#1565c0", "timed_out": "#c62828"}


def explanation_html(e: Explanation) -> str:
    """A self-contained fragment: the sentence, the changes, the path, how it was checked."""
    asked = "Why not" if e.question == "why_not" else "Why"
    colour, status = _COLOURS.get(e.status, "#b26a00"), e.status.replace("_", " ")
    parts = [
        f'<div style="display:flex;justify-content:space-between;gap:1rem">'
        f"<strong>{asked} {escape(e.name_of(e.item))}?</strong>"
        f'<span style="color:{colour};white-space:nowrap">{status}</span></div>',
        f'<p style="margin:.5rem 0">{_emphasised(e)}</p>',
        _reasons(e.reasons),
        _changes(e.changes),
        _path(e.path),
    ]
    for note in (checked(e), *e.notes):
        if note:
            parts.append(f'<div style="opacity:.65;font-size:.85em">{escape(note)}</div>')
    for title, other in others(e):
        title = f"<strong>{escape(title)}.</strong>"
        parts.append(f'<p style="margin:.7rem 0 .3rem">{title} {_emphasised(other)}</p>')
        parts.append(_changes(other.changes))
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def _emphasised(e: Explanation) -> str:
    """The sentence with the names of items in italics."""
    return "".join(
        f"<em>{escape(part)}</em>" if is_name else escape(part) for part, is_name in segments(e)
    )


def _reasons(reasons: tuple[Reason, ...]) -> str:
    """Bars that add up to how far the item is above the average one."""
    if not reasons:
        return ""
    shown = summed(reasons)
    largest = max(abs(x) for _, x in shown) or 1.0
    cell, rows = '<td style="text-align:left;padding:.1rem .8rem .1rem 0">', []
    for label, x in shown:
        colour, width = "#2e7d32" if x >= 0 else "#c62828", 8 * abs(x) / largest
        bar = f'<div style="background:{colour};height:.7em;width:{width:.2f}rem"></div>'
        rows.append(f"<tr>{cell}{escape(label)}</td>{cell}{x:+.3g}</td>{cell}{bar}</td></tr>")
    total = sum(x for _, x in shown)
    rows.append(f"<tr>{cell}<b>above the average item</b></td>{cell}<b>{total:+.3g}</b></td></tr>")
    return f'<table style="border-collapse:collapse;margin:.3rem 0">{"".join(rows)}</table>'


def _changes(changes: tuple[Change, ...]) -> str:
    if not changes:
        return ""
    cell = '<td style="text-align:left;padding:.1rem .8rem .1rem 0">'
    rows = []
    for change in changes[:MOST_ROWS]:
        before = f"<s>{escape(before_label(change))}</s>" if change.before else "—"
        after = escape(after_label(change)) if change.after else "<i>removed</i>"
        rows.append(
            f"<tr>{cell}{escape(relation_label(change.relation_name or change.relation))}</td>"
            f"{cell}{before}</td>{cell}→ <b>{after}</b></td></tr>"
        )
    if len(changes) > MOST_ROWS:
        rows.append(f"<tr>{cell}and {len(changes) - MOST_ROWS} more</td></tr>")
    return f'<table style="border-collapse:collapse;margin:.3rem 0">{"".join(rows)}</table>'


def _path(path: tuple[Step, ...]) -> str:
    if not path:
        return ""
    out = [f"<em>{escape(path[0].item.name)}</em>"]
    for step in path:
        out.append(
            f" —{escape(step.relation.name)}→ {escape(step.attribute.name)}"
            f" ←{escape(step.to_relation.name)}— <em>{escape(step.to_item.name)}</em>"
        )
    return f'<div style="font-size:.85em;margin:.3rem 0">Path: {"".join(out)}</div>'
