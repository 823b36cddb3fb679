"""An explanation as a card in a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cerec.explain.explanation import Change, Explanation, Step
from cerec.explain.wording import after_label, before_label, checked, relation_label, segments

MOST_ROWS = 12
"""Changes shown in a card, line by line."""
_COLOURS = {
    "verified": "green",
    "not_found": "yellow",
    "no_attributes": "yellow",
    "not_recommended": "blue",
    "timed_out": "red",
}


def card(e: Explanation) -> Panel:
    """A panel with the sentence, the changes, the path, how it was checked, and alternatives."""
    parts: list[RenderableType] = [sentence_text(e)]
    if e.changes:
        parts += [Text(), changes_table(e.changes)]
    if e.path:
        parts += [Text(), path_text(e.path)]
    if checked(e):
        parts += [Text(), Text(checked(e), style="dim")]
    for number, other in enumerate(e.alternatives, start=2):
        parts += [
            Text(),
            Text(f"Another answer ({number})", style="bold"),
            sentence_text(other),
        ]
        parts.append(changes_table(other.changes))
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
        table.add_row(Text(relation_label(change)), before, "→", after)
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
