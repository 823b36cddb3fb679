"""An explanation as sentences. They say what was checked, and nothing more."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from cerec_bench.search.explanation import Change, Explanation

MOST_TOLD = 6
"""Up to this many changes are told one by one."""
_INVERSE = " (inverse)"
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def sentence(e: Explanation) -> str:
    """The whole answer in one to three sentences, item names between asterisks."""
    opening = _opening(e)
    if e.status == "verified":
        return f"{opening} {_counterfactual(e)}{_fidelity(e)}"
    return f"{opening} {_REASONS[e.status](e)}".rstrip()


def item_name(e: Explanation, item: str | None) -> str:
    """`*Heat*`, or `item 42` where there is no name."""
    if item is None:
        return "another item"
    name = e.name_of(item)
    return f"item {item}" if name == item else f"*{name}*"


def segments(e: Explanation) -> list[tuple[str, bool]]:
    """The text cut into parts; true marks the name of an item, without its asterisks.

    Names may hold asterisks themselves.
    """
    starred = {f"*{n.name}*": n.name for n in e.names[1:]}
    if not starred:
        return [(e.text, False)]
    longest_first = sorted(starred, key=len, reverse=True)
    parts = re.split(f"({'|'.join(map(re.escape, longest_first))})", e.text)
    return [(starred.get(part, part), part in starred) for part in parts if part]


def checked(e: Explanation) -> str:
    """How far the answer was checked, for cards; empty when there is no answer."""
    if e.status != "verified":
        return ""
    parts = ["Checked by scoring the changed item again and ranking it"]
    towards = e.name_of(e.counterfactual_item or "")
    if e.certificate == "minimum":
        parts.append(f"no fewer changes towards {towards} do this")
    elif e.certificate == "irreducible":
        parts.append("none of these changes can be left out")
    if e.bound is not None:
        parts.append(f"with any values at all it takes at least {e.bound}")
    return "; ".join(parts) + "."


def relation_label(change: Change) -> str:
    """A relation as words: the end of an address, camel case and underscores taken apart."""
    return _label(change.relation_name or change.relation)


@lru_cache(maxsize=4096)
def _label(text: str) -> str:
    text = re.split(r"[/#]", text.rstrip("/#"))[-1] or text
    words = _CAMEL.sub(" ", text).replace("_", " ").split()
    label = " ".join(w if w.isupper() else w.lower() for w in words) or text
    return f"“{label[: -len(_INVERSE)]} of”" if label.endswith(_INVERSE) else label


def before_label(change: Change) -> str:
    """The value that goes."""
    return change.before_name or change.before or ""


def after_label(change: Change) -> str:
    """The value that comes."""
    return change.after_name or change.after or ""


def listing(parts: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def conditions(e: Explanation) -> str:
    """What would have been different: `its director been A instead of B and its genre ...`.

    Many changes are counted rather than told.
    """
    if len(e.changes) > MOST_TOLD:
        return _counted(e)
    changes, clauses = e.changes, []
    for _, group in groupby(changes, key=lambda c: c.relation):
        clauses.append(_clause(list(group)))
    if any("," in c or " and " in c for c in clauses) and len(clauses) > 1:
        return f"{'; '.join(clauses[:-1])}; and {clauses[-1]}"
    return listing(clauses)


def _counted(e: Explanation) -> str:
    counts = Counter(relation_label(c) for c in e.changes).most_common()
    several = [f"{n} values of its {label}" for label, n in counts if n > 1]
    single = [f"its {label}" for label, n in counts if n == 1]
    towards = item_name(e, e.counterfactual_item)
    parts = listing(several + single)
    return f"{len(e.changes)} of its attributes been more like those of {towards} ({parts})"


def _clause(changes: list[Change]) -> str:
    """All changes of one relation."""
    label = relation_label(changes[0])
    replaced = [c for c in changes if c.before is not None and c.after is not None]
    added = [after_label(c) for c in changes if c.before is None]
    removed = [before_label(c) for c in changes if c.after is None]
    every = len(replaced) + len(removed) >= changes[0].values_before
    if every and not removed:
        been = listing([after_label(c) for c in replaced] + added)
        instead = f" instead of {listing([before_label(c) for c in replaced])}" if replaced else ""
        return f"its {label} been {been}{instead}"
    parts = []
    if replaced:
        came, went = (
            listing([after_label(c) for c in replaced]),
            listing([before_label(c) for c in replaced]),
        )
        parts.append(f"included {came} instead of {went}")
    if added:
        also = "also " if not replaced and changes[0].values_before else ""
        parts.append(f"{also}included {listing(added)}")
    if removed:
        parts.append(f"not included {listing(removed, 'or')}")
    return f"its {label} {', and '.join(parts)}"


def _opening(e: Explanation) -> str:
    name = item_name(e, e.item)
    subject = name[0].upper() + name[1:]
    if e.rank_before is None:
        return f"{subject} is not recommended to you: you have it already."
    if e.question == "why_not":
        return f"{subject} is not in your top {e.k}: it is at rank {e.rank_before}."
    if e.rank_before > e.k:
        return f"{subject} is not in your top {e.k}: it is at rank {e.rank_before}."
    return f"{subject} is in your top {e.k} at rank {e.rank_before}."


def _counterfactual(e: Explanation) -> str:
    other = item_name(e, e.replacement)
    moved, ending = ("fallen", "come in")
    if e.question == "why_not":
        moved, ending = ("risen", "dropped out")
    return (
        f"Had {conditions(e)}, it would have {moved} to rank {e.rank_after} "
        f"and {other} would have {ending}."
    )


def _fidelity(e: Explanation) -> str:
    if e.fidelity is None:
        return ""
    r2 = f"{e.fidelity:.2f}" if e.fidelity >= 0 else "below 0: they say nothing of it"
    return f" (By attribute effects fitted to this recommender; held-out R² {r2}.)"


def _not_found(e: Explanation) -> str:
    if e.replacement is None:
        return f"No other item could take its place: your list of {e.k} holds every item there is."
    verb = "bring it in" if e.question == "why_not" else "take it out"
    return f"No allowed change of its attributes, towards any item tried, would {verb}."


def _timed_out(e: Explanation) -> str:  # noqa: ARG001 - one signature for all reasons
    return "The time allowed ended before a change of its attributes was found."


def _no_attributes(e: Explanation) -> str:  # noqa: ARG001
    return "Nothing is known of its attributes, so they cannot explain it."


def _not_recommended(e: Explanation) -> str:  # noqa: ARG001
    return ""


_REASONS = {
    "not_found": _not_found,
    "timed_out": _timed_out,
    "no_attributes": _no_attributes,
    "not_recommended": _not_recommended,
}
