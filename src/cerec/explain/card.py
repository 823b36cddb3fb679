"""An explanation as a card in a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cerec.explain.explanation import Change, Explanation, Reason, Step
from cerec.explain.wording import (
    after_label,
    before_label,
    checked,
    reason_label,
    relation_label,
    segments,
)

MOST_ROWS = 12
"""Changes shown in a card, line by line."""
MOST_REASONS = 6
"""Parts of the score shown by name; the others are added up."""
_OTHERS = {"value": "other attributes", "history": "other items you know", "": "smaller parts"}
_BAR = 24
_COLOURS = {
    "verified": "green",
    "canonical": "cyan",
    "fitted": "cyan",
    "not_found": "yellow",
    "no_attributes": "yellow",
    "not_recommended": "blue",
    "timed_out": "red",
}


def card(e: Explanation) -> Panel:
    """A panel with the sentence, the reasons, the changes, the path, how it was checked, and
    other answers.
    """
    parts: list[RenderableType] = [sentence_text(e)]
    if e.reasons:
        parts += [Text(), reasons_table(e.reasons)]
    if e.changes:
        parts += [Text(), changes_table(e.changes)]
    if e.path:
        parts += [Text(), path_text(e.path)]
    for note in (checked(e), *e.notes):
        parts += [Text(), Text(note, style="dim")] if note else []
    for title, other in others(e):
        parts += [Text(), Text(title, style="bold"), sentence_text(other)]
        parts += [changes_table(other.changes)] if other.changes else []
    asked = "Why not" if e.question == "why_not" else "Why"
    colour = _COLOURS[e.status]
    return Panel(
        Group(*parts),
        title=Text(f"{asked} {e.name_of(e.item)}?", style="bold"),
        title_align="left",
        subtitle=Text(e.status.replace("_", " "), style=colour),
        subtitle_align="right",
        border_style=colour,
        box=box.ROUNDED,
        padding=(1, 2),
        width=96,
    )


def others(e: Explanation) -> list[tuple[str, Explanation]]:
    """Further answers with their titles."""
    found = [(f"Another answer ({n})", a) for n, a in enumerate(e.alternatives, start=2)]
    for a in e.by_relation:
        names = {relation_label(c.relation_name or c.relation) for c in a.changes}
        found.append((f"By its {', '.join(sorted(names))} alone", a))
    if e.beside is not None:
        title = "By your history" if e.beside.by == "history" else "By its attributes"
        found.append((title, e.beside))
    return found


def summed(reasons: tuple[Reason, ...]) -> list[tuple[str, float]]:
    """The largest parts by name, and the rest by kind: they add up."""
    shown = [(reason_label(r), r.part) for r in reasons[:MOST_REASONS]]
    for kind, words in _OTHERS.items():
        rest = [r for r in reasons[MOST_REASONS:] if (r.kind if r.kind in _OTHERS else "") == kind]
        if len(rest) == 1:
            shown.append((reason_label(rest[0]), rest[0].part))
        elif rest:
            shown.append((f"{len(rest)} {words}", sum(r.part for r in rest)))
    return shown


def reasons_table(reasons: tuple[Reason, ...]) -> Table:
    """One line per part of the score above the average item's, with a bar."""
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(max_width=44)
    table.add_column(justify="right")
    table.add_column()
    shown = summed(reasons)
    largest = max((abs(x) for _, x in shown), default=0.0) or 1.0
    for label, x in shown:
        bar = Text("█" * max(1, round(_BAR * abs(x) / largest)), "green" if x >= 0 else "red")
        table.add_row(Text(label), f"{x:+.3g}", bar)
    total = sum(x for _, x in shown)
    table.add_row(Text("above the average item", "bold"), Text(f"{total:+.3g}", "bold"), "")
    return table


def sentence_text(e: Explanation) -> Text:
    """The sentence with the names of items in italics."""
    out = Text()
    for part, is_name in segments(e):
        out.append(part, style="bold italic" if is_name else "")
    return out


def changes_table(changes: tuple[Change, ...]) -> Table:
    """One line per change: relation, value before, value after."""
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(style="cyan", max_width=24)
    table.add_column(style="red", max_width=30)
    table.add_column()
    table.add_column(style="green", max_width=30)
    for change in changes[:MOST_ROWS]:
        # the style of a span, not of the whole: the line must not go on into the padding
        before = Text.assemble((before_label(change), "strike") if change.before else ("—", "dim"))
        after = Text(after_label(change)) if change.after else Text("removed", "dim")
        label = relation_label(change.relation_name or change.relation)
        table.add_row(Text(label), before, "→", after)
    if len(changes) > MOST_ROWS:
        table.add_row(Text(f"and {len(changes) - MOST_ROWS} more", "dim"))
    return table


def path_text(path: tuple[Step, ...]) -> Text:
    """The walk: item, by relation through attribute, to item ..."""
    out = Text("path  ", style="dim")
    out.append(path[0].item.name, style="italic")
    for step in path:
        out.append(f" —{step.relation.name}→ ", style="dim")
        out.append(step.attribute.name)
        out.append(f" ←{step.to_relation.name}— ", style="dim")
        out.append(step.to_item.name, style="italic")
    return out
