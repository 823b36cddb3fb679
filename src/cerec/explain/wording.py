"""Every sentence, as templates: plain text that says what was checked, and nothing more.

The same templates make the text of one explanation and, as expressions, columns of text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import unescape
from string import Formatter
from typing import Any, cast

import polars as pl

from cerec.explain.explanation import Change, Explanation, Named, Reason

MOST_TOLD, FIRST_TOLD = 6, 3
"""Up to so many changes are named one by one; of more, only the first."""

OPENING = (
    "{start} is at rank {rank}",
    "{start} is not in your top {k}: it is at rank {rank}",
    "{start} is not recommended to you: you have it already",
    "{start} is not recommended to you: it may not be listed",
)
WHY = (
    "",
    " mainly for its {relation} {value}",
    " mainly for its {relation} {value} and {value2}",
    " mainly for its {relation} {value} and its {relation2} {value2}",
    " mainly because of {h1}",
    " mainly because of {h1} and {h2}",
    " mainly because of {h1}, {h2} and {h3}",
    " mainly because many people like it",
    " mainly for a taste you share with others, not for its attributes",
)
COUNTS = (
    "",
    ": {count} of your {of} items {have} {it}, {usual} would be usual",
    ": {count} of your {of} items {have} {it} ({e1}), {usual} would be usual",
    ": {count} of your {of} items {have} {it} ({e1}, {e2}), {usual} would be usual",
    ": {count} of your {of} items {have} {it} ({e1}, {e2}, ...), {usual} would be usual",
)
GAINED = (
    "",
    " (none of yours, {gained_usual} would be usual)",
    " ({gained_count} of yours, {gained_usual} would be usual)",
)
CHANGE = (
    "its {relation} been {after}{gained} instead of {before}",
    "its {relation} included {after}{gained} instead of {before}",
    "{after}{gained} instead of {before}",
    "its {relation} not included {before}",
    "{before}",
    "its {relation} also included {after}{gained}",
    "{after}{gained}",
    "that been {after}{gained} instead",
    "{more} more of its values been different",
)
BEEN, INCLUDED, INSTEAD, WITHOUT, NOR, ALSO, TOO, THAT, MORE = range(len(CHANGE))
JOINT = ("", ", ", " and ", " or ")
OUTCOME = (
    "",
    " Had {changes}, it would be at rank {after} and {replacement} would be in your list instead.",
    " Had {changes}, it would be at rank {after}, in place of {replacement}.",
    " No allowed change of its attributes would take it out.",
    " No allowed change of its attributes would bring it in.",
    " No other item could take its place: your list of {k} holds every item there is.",
    " None of its attributes may change, so they cannot explain it.",
    " Nothing is known of its attributes, so they cannot explain it.",
    " Its attributes are too rare to count, so they cannot explain it.",
    " The time allowed ended before a change of its attributes was found.",
)
OUT, IN, STAYS, STAYS_OUT, ALONE, LOCKED, UNKNOWN, RARE, LATE = range(1, len(OUTCOME))
SOURCE = {
    "model": "",
    "canonical": " (A pattern in its scores: this recommender does not look at attributes.)",
    "fitted": " (By effects of attributes fitted to its scores.)",
    "none": "",
}
"""What is said of an answer, by where its effects come from."""
CARRY = (
    " Its attributes do not speak for it, and no allowed change of them alone would take it out.",
    " Its attributes carry {share} of its lead over the average item, and no allowed change of "
    "them alone would take it out.",
    " Its attributes carry its lead over the average item, but no allowed change of them alone "
    "would take it out.",
)
WITHOUT_ITEMS = " Without {items} in your history, it would be at rank {after}."
WITH_ITEMS = " With {items} in your history as well, it would be at rank {after}."
NO_HISTORY = " No part of your history alone keeps it in your list."
NO_WAY_IN = " No few items taken up would bring it in."
HISTORY_LATE = (
    " The time allowed ended before a part of your history was found that keeps it there."
)
NOT_ROBUST = (
    " No set of allowed changes was found that would take it out and hold with a probability of "
    "{share} %."
)
TOGETHER = "Values of {relation} that imply each other change together and count as one change."
KEPT = (
    "{relations} looks computed from what people did, so it was kept as it is.",
    "{relations} look computed from what people did, so they were kept as they are.",
)
FIT_OFF = (
    "The change moves the score by {moved} by fitted effects; what they say of this item's own "
    "score is off by {off}."
)
COMPARED = ("{start} stands before {other}", "{start} stands behind {other}")


def expression(template: str) -> pl.Expr:
    """A template as an expression over columns that are named as its fields."""
    parts: list[pl.Expr] = []
    for literal, field, _, _ in Formatter().parse(template):
        parts += [pl.lit(literal)] if literal else []
        parts += [pl.col(field)] if field else []
    return pl.concat_str(parts) if len(parts) > 1 else (parts or [pl.lit("")])[0]


def choice(code: str, templates: Sequence[str]) -> pl.Expr:
    """The template that a column of codes names, for every row."""
    chosen: Any = pl
    for n, template in enumerate(templates):
        chosen = chosen.when(pl.col(code) == n).then(expression(template))
    return cast(pl.Expr, chosen.otherwise(pl.lit("")))


def fill(template: str, fields: Mapping[str, object]) -> str:
    """A template with its fields put in."""
    return template.format_map(fields)  # type: ignore[arg-type]


def item_label(id: str, name: str) -> str:
    """The name of an item, `The Net` where a catalogue says `Net, The`; `item 42` where a number is
    all there is.
    """
    if name == id and id.isdigit():
        return f"item {id}"
    name = unescape(name)
    found = _ARTICLE.fullmatch(name)
    return f"{found[2]} {found[1]}{found[3] or ''}" if found else name


_ARTICLE = re.compile(r"(.+), (The|An?|Il|L[aeo]s?|El|Der|Die|Das|Les?)( \(.*\))?")


def at_start(label: str) -> str:
    """A label at the start of a sentence; names stay as they are."""
    return f"I{label[1:]}" if label.startswith("item ") else label


@lru_cache(maxsize=4096)
def relation_label(text: str) -> str:
    """A relation as words: the end of an address, camel case and underscores taken apart."""
    text = re.split(r"[/#]", text.rstrip("/#"))[-1] or text
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).replace("_", " ").split()
    label = " ".join(w if w.isupper() else w.lower() for w in words) or text
    inverse = " (inverse)"
    label = f"{label[: -len(inverse)]} of" if label.endswith(inverse) else label
    return f"“{label}”" if label.split()[-1:] and label.split()[-1] in _OPEN else label


_OPEN = ("at", "by", "for", "from", "in", "of", "on", "to", "with")  # a label that asks for more


def listing(parts: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def few(parts: Sequence[str]) -> str:
    """A listing that ends in a count where there are too many."""
    if len(parts) <= MOST_TOLD:
        return listing(parts)
    return listing([*parts[: MOST_TOLD - 1], f"{len(parts) - MOST_TOLD + 1} other items"])


def number_text(x: float) -> str:
    """A small number of things, to a tenth where it is below ten."""
    return TENTHS[round(x * 10)] if x < 9.95 else str(round(x))


TENTHS = ["almost none", *(f"{n / 10:.1f}".removesuffix(".0") for n in range(1, 101))]


def before_label(change: Change) -> str:
    """The value that goes."""
    return unescape(change.before_name or change.before or "")


def after_label(change: Change) -> str:
    """The value that comes."""
    return unescape(change.after_name or change.after or "")


def reason_label(r: Reason) -> str:
    """A part of a score, for tables of parts."""
    if r.kind == "value":
        return f"{relation_label(r.relation_name)}: {unescape(r.name)}"
    return item_label(r.id or "", r.name) if r.kind == "history" else REASON[r.kind]


def compared(item: Named, other: Named, difference: float, parts: Sequence[Reason]) -> str:
    """Why one item stands before another, or behind it."""
    sign = 1 if difference >= 0 else -1
    told = [r for r in parts if sign * r.part > 0][:3]
    names = item_label(item.id, item.name), item_label(other.id, other.name)
    text = fill(COMPARED[0 if sign > 0 else 1], {"start": at_start(names[0]), "other": names[1]})
    reasons = listing([f"{reason_label(r)} ({r.part:+.3g})" for r in told])
    return f"{text} by {abs(difference):.3g}: mainly {reasons}." if told else f"{text}."


REASON = {
    "own": "liked more than its attributes say",
    "other": "what its attributes do not carry",
    "usual values": "usual: attributes of the average item",
    "usual history": "usual: what your history says for the average item",
}


def segments(e: Explanation) -> list[tuple[str, bool]]:
    """The text cut into parts; true marks the name of an item."""
    named = (*e.names[1:], *e.history)
    items = [item_label(n.id, n.name) for n in named if not n.name.isdigit()]
    if not items:
        return [(e.text, False)]
    names = "|".join(map(re.escape, sorted(set(items), key=len, reverse=True)))
    parts = re.split(rf"(?<!\w)({names})(?!\w)", e.text)
    return [(part, n % 2 == 1) for n, part in enumerate(parts) if part]


_CHECKED = {
    "verified": "Checked by scoring the changed item again and ranking it",
    "canonical": "Ranked by the recommender's scores and a fitted share of attributes in them",
    "fitted": "Ranked by effects fitted to the recommender's scores",
}
_PROOF = {
    "minimum": "no fewer changes do this",
    "toward": "no fewer changes towards {item} do this",
    "irreducible": "none of these changes can be left out",
}


_FIRMLY = (
    (0.95, "almost certainly"),
    (0.85, "very likely"),
    (0.7, "probably"),
    (0.5, "perhaps"),
    (0.0, "hardly"),
)


def checked(e: Explanation) -> str:
    """How far the answer was checked, for cards; empty when there is no answer."""
    if not e.found:
        return ""
    first = _CHECKED[e.status]
    if e.by == "history":
        first = "Checked by scoring the shortened history again and ranking all items"
    proof = "" if e.certificate is None else _PROOF[e.certificate]
    if e.by == "history":
        proof = proof.replace("changes", "items")
    proof = proof.format(item=e.name_of(e.counterfactual_item or ""))
    told = f"{first}; {proof}." if proof else f"{first}."
    return told if e.holds is None else f"{told} {firmly(e.holds)}"


def firmly(holds: float) -> str:
    """How firmly an answer holds."""
    how = next(words for least, words in _FIRMLY if holds >= least)
    share = min(max(round(100 * holds), 1), 99)
    return f"It would {how} still hold if a tenth of the data were missing: {share} %."
