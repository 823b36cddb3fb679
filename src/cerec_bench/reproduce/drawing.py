"""An explanation drawn as a path with names, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cerec_bench.search.explanation import Change, Explanation, Step

_WIDTH = 960
_BOX, _ROW = 250, 62
_LEFT, _MIDDLE, _RIGHT = 20, 355, 690
_INK, _QUIET, _OUT, _IN = "#222222", "#777777", "#b03a2e", "#1e7d4f"


def draw_case(answer: Explanation, shared: Sequence[Sequence[str]], most: int = 3) -> str:
    """Item at the left, counterfactual item at the right; between them the walked attribute, other
    shared values, and the changes that take the item out of the list.
    """
    step = answer.path[-1]
    walked = (step.relation.name, step.attribute.name)
    others = [pair for pair in shared if tuple(pair) != walked][:most]
    rows = 1 + len(others) + len(answer.changes)
    height = 70 + _ROW * rows
    middle = 40 + _ROW * (rows - 1) / 2
    item, other = answer.name_of(answer.item), answer.name_of(str(answer.counterfactual_item))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _box(_LEFT, middle, item, f"rank {answer.rank_before} for {answer.user}", "#dce9f5"),
        _box(_RIGHT, middle, other, "counterfactual item", "#f5e6dc"),
    ]
    y = 40.0
    for n, (relation, value) in enumerate([walked, *map(tuple, others)]):
        parts += _shared(y, middle, str(relation), str(value), walked=n == 0)
        y += _ROW
    for change in answer.changes:
        parts += _changed(y, middle, change)
        y += _ROW
    came = answer.name_of(str(answer.replacement))
    said = f"with the change: rank {answer.rank_after}, and {came} comes in"
    parts.append(_text(_WIDTH / 2, height - 16, said, _INK))
    return "\n".join([*parts, "</svg>"]) + "\n"


def steps_text(path: Sequence[Step]) -> str:
    """The walk in one line."""
    first = path[0].item.name
    rest = [
        f" —{s.relation.name}→ {s.attribute.name} ←{s.to_relation.name}— {s.to_item.name}"
        for s in path
    ]
    return first + "".join(rest)


def _shared(y: float, middle: float, relation: str, value: str, *, walked: bool) -> list[str]:
    colour, wide = (_INK, 2) if walked else ("#bbbbbb", 1)
    ends = ((_LEFT + _BOX, _MIDDLE), (_RIGHT, _MIDDLE + _BOX))
    lines = [_line(a, middle, b, y, colour, wide) for a, b in ends]
    note = f"{relation}, the walk" if walked else f"{relation}, shared"
    return [*lines, _box(_MIDDLE, y, value, note, "#f3f3f3")]


def _changed(y: float, middle: float, change: Change) -> list[str]:
    before, after = change.before_name or "(nothing)", change.after_name or "(nothing)"
    left = _line(_LEFT + _BOX, middle, _MIDDLE, y, _OUT, 2, "6 4")
    right = _line(_RIGHT, middle, _MIDDLE + _BOX, y, _IN, 2)
    box = (
        f'<rect x="{_MIDDLE}" y="{y - 22:.0f}" width="{_BOX}" height="44" rx="6" fill="#fff8e1" '
        f'stroke="{_QUIET}"/>'
    )
    name = change.relation_name or change.relation
    said = f"{_cut(before, 17)} → {_cut(after, 17)}"
    x = _MIDDLE + _BOX / 2
    return [
        left,
        right,
        box,
        _text(x, y - 2, said, _INK),
        _text(x, y + 15, f"{name}, changed", _QUIET),
    ]


def _box(x: float, y: float, text: str, note: str, fill: str) -> str:
    rect = (
        f'<rect x="{x}" y="{y - 22:.0f}" width="{_BOX}" height="44" rx="6" fill="{fill}" '
        f'stroke="{_QUIET}"/>'
    )
    centre = x + _BOX / 2
    return rect + _text(centre, y - 2, _cut(text, 34), _INK) + _text(centre, y + 15, note, _QUIET)


def _text(x: float, y: float, text: str, colour: str) -> str:
    place = f'x="{x:.0f}" y="{y:.0f}" text-anchor="middle" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"


def _line(
    x1: float, y1: float, x2: float, y2: float, colour: str, wide: int, dash: str = ""
) -> str:
    ends = f'x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"'
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line {ends} stroke="{colour}" stroke-width="{wide}"{dashes}/>'


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
