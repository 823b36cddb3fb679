"""Findings in plain language: what the order of lists depends on, with the figures beside it."""

from __future__ import annotations

from collections.abc import Sequence

from cerec.audit.diff import Difference
from cerec.audit.parameters import Findings, Parameter
from cerec.audit.tally import Share
from cerec.audit.trial import Trial

_SMALL = 0.01
_PERSON = {
    "relation": "the {name} of an item",
    "history": "what you took before",
    "own": "how popular an item is by itself",
    "other": "things that no attribute tells",
}
_ACT = {
    "relation": "take more items whose {name} you like: the list follows your own items",
    "history": "take other items, or have some of yours removed from your history",
    "own": "nothing: it is the same for everybody",
    "other": "take other items, or have some of yours removed from your history",
}


def audit_text(f: Findings, name: str) -> str:
    """A page in Markdown: the disclosure, then the evidence."""
    lines = [
        f"# What the lists of {name} depend on",
        "",
        disclosure(f),
        "",
        "## What a person can do",
        "",
        *(f"- {_name(p).capitalize()}: {_ACT[p.kind].format(name=p.name)}." for p in _main(f)),
        "",
        "## Main parameters",
        "",
        f"{_sample(f)} Shares are of what lifts listed items above the average unseen item; they "
        "add up to 100 %. Intervals (95 %) are over users.",
        "",
        *_table(
            ["parameter", "share", "settings as good", "decides", "alone enough", "in the answer"],
            [
                [
                    _name(p),
                    _interval(p.share),
                    "" if p.settings is None else f"{p.settings[0]:.0%} to {p.settings[1]:.0%}",
                    f"{p.decides.value:.0%}",
                    "" if p.needed is None else f"{p.needed.value:.0%}",
                    "" if p.answered is None else f"{p.answered.value:.0%}",
                ]
                for p in f.parameters
            ],
        ),
        "",
        "*Settings as good*: the share over settings that do as well on validation; history and "
        "attributes are both functions of the history. *Decides*: how often the item would leave, "
        "were this part that of the average item. *Alone enough*: how often a change within this "
        "relation takes the item out. *In the answer*: how often the smallest change is about it.",
        "",
        *_ranks(f),
        "## Most influential values",
        "",
        *_table(
            ["relation", "value", "share", "listed pairs"],
            [[v.relation, v.name, f"{v.share:.1%}", f"{v.pairs:,}"] for v in f.values],
        ),
        "",
        *_groups(f),
        "## What looks wrong",
        "",
        *(
            [f"- {s.kind}: {s.text}." for s in f.signs]
            or ["Nothing that was looked for was found."]
        ),
        "",
        "## What this does not cover",
        "",
        "It is about the order that this recommender gives. It does not cover filters and "
        "sponsored places added afterwards, how a person's items came to be known, or whether the "
        "lists are good for them. Effects are what the recommender does, not causes in the world. "
        + _source(f),
        "",
    ]
    return "\n".join(lines)


def disclosure(f: Findings) -> str:
    """One paragraph for users."""
    main = _main(f)
    if not main:
        return "The order of these lists does not depend on anything that was measured."
    named = [f"{_PERSON[p.kind].format(name=p.name)} ({p.share.value:.0%})" for p in main]
    text = f"The order of this list depends mainly on {_joined(named[:3])}."
    if len(named) > 3:
        text += f" Smaller parts are {_joined(named[3:7])}."
    best = next((p for p in main if p.kind == "relation"), None)
    if best is not None and best.needed is not None:
        text += (
            f" For {best.needed.value:.0%} of what is listed, another {best.name} alone would take "
            "the item out of the list."
        )
    return text


def trial_text(t: Trial) -> str:
    """A page in Markdown about one attribute."""
    chance = t.controls > 0
    verdict = (
        f"For {_interval(t.depends)} of the listed items that have a {t.name}, the place in the "
        "list depends on it: with another value, tried as often as items have it, they would not "
        "be there."
    )
    if chance:
        verdict += (
            f" Where values are dealt out to items at random it is {t.control_depends:.1%} "
            f"({t.controls} times)."
        )
    rows = [
        [
            v.name,
            f"{v.items:,}",
            f"{v.catalogue:.1%}",
            f"{v.now:.1%}",
            _signed(v.effect),
            f"{v.chance[0]:+.1%} to {v.chance[1]:+.1%}" if chance else "",
            "**beyond chance**" if v.flagged else "",
        ]
        for v in t.values[:30]
    ]
    heads = ["value", "items", "of the catalogue", "of the places", "effect", "by chance", ""]
    flagged = [v for v in t.values if v.flagged]
    found = (
        "No value does more than chance."
        if not flagged
        else "Beyond chance: "
        + "; ".join(
            f"items with {v.name} have {abs(v.effect.value):.0%} "
            f"{'more' if v.effect.value > 0 else 'fewer'} places than with other values"
            for v in flagged[:5]
        )
        + "."
    )
    return "\n".join(
        [
            f"# Does {t.name} decide who is shown?",
            "",
            verdict,
            "",
            found if chance else "This recommender does not say enough of itself for a control.",
            "",
            f"Each item in turn was given every other value of {t.name}, everything else "
            f"unchanged: {t.users:,} users, lists of {t.k}, {t.pairs:,} listed pairs. It is how "
            "the recommender behaves. It says nothing of why, and nothing of the world.",
            "",
            *_table(heads, rows),
            "",
            *_table(
                ["items that would leave most lists", "lists"],
                [[x, f"{n:,.1f}"] for _, x, n in t.leaving],
            ),
            "",
            *_table(
                ["items that would come into most lists", "lists"],
                [[x, f"{n:,.1f}"] for _, x, n in t.coming],
            ),
            "",
            *_table(
                ["users", "group", "how many", "places that depend on it"],
                [[c, g, f"{n:,}", _interval(s)] for c, g, n, s in t.segments],
            ),
            "",
        ]
    )


def diff_text(d: Difference, a: str, b: str) -> str:
    """A page in Markdown about two runs."""
    words = [[name, f"{share:.0%}"] for _, _, name, share in d.because]
    unit = (
        "The two count in different units: scores are divided by the spread of each user's scores."
        if d.scaled
        else "Scores are in the recommenders' own units."
    )
    return "\n".join(
        [
            f"# What changed from {a} to {b}",
            "",
            f"{d.kept:.0%} of the places hold an item of both lists; {d.same:.0%} of users see the "
            f"same items. {d.came:,} items came in and {d.left:,} left, over {d.users:,} users and "
            f"lists of {d.k}.",
            *_unshared(d),
            "",
            *_moving(words, unit),
            "## Who sees other lists",
            "",
            *_table(
                ["users", "group", "how many", "places kept"],
                [[c, g, f"{n:,}", f"{x:.0%}"] for c, g, n, x in d.segments],
            ),
            "",
            *(["## Telling cases", ""] if d.cases else []),
            *(f"- {m.text}" for m in d.cases),
            "",
        ]
    )


def _unshared(d: Difference) -> list[str]:
    if not (d.only_a or d.only_b or d.items_a or d.items_b):
        return []
    return [
        f"Only the first run knows {d.only_a:,} users and {d.items_a:,} items, only the second "
        f"{d.only_b:,} users and {d.items_b:,} items."
    ]


def _moving(words: list[list[str]], unit: str) -> list[str]:
    intro = f"Of all that pushed items the way they went. {unit}"
    table = _table(["part", "share"], words)
    return ["## What moved items", "", intro, "", *table, ""] if words else []


def _main(f: Findings) -> list[Parameter]:
    return [p for p in f.parameters if p.share.value >= _SMALL]


def _name(p: Parameter) -> str:
    return p.name if p.kind == "relation" else _PERSON[p.kind]


def _sample(f: Findings) -> str:
    of = "" if f.users == f.sampled_from else f" (a sample of {f.sampled_from:,})"
    return f"{f.pairs:,} listed pairs of {f.users:,} users{of}, lists of {f.k}."


def _source(f: Findings) -> str:
    return {
        "model": "The parts are the recommender's own.",
        "canonical": "The parts of attributes are patterns in the recommender's scores, fitted "
        "afterwards; the recommender itself does not read attributes.",
        "fitted": "The parts of attributes are fitted to the recommender's scores.",
        "none": "Nothing is known of attributes.",
    }[f.source]


def _ranks(f: Findings) -> list[str]:
    ranks = list(f.parameters[0].by_rank) if f.parameters else []
    rows = [[_name(p), *(f"{x:.0%}" for x in p.by_rank.values())] for p in _main(f)]
    return ["## By rank", "", *_table(["parameter", *(f"rank {r}" for r in ranks)], rows), ""]


def _groups(f: Findings) -> list[str]:
    if not f.segments:
        return []
    main = [(p.id, _name(p)) for p in _main(f)[:4]]
    rows = []
    for s in f.segments:
        shares, gaps = dict(s.shares), dict(s.gap)
        cells = [
            f"{shares[id_].value:.0%}" + ("*" if gaps[id_].low > 0 or gaps[id_].high < 0 else "")
            for id_, _ in main
        ]
        rows.append([s.by, s.group, f"{s.users:,}", *cells])
    note = f" {f.suppressed} groups are too small to be shown." if f.suppressed else ""
    return [
        "## Groups",
        "",
        f"Shares within each group; * differs from everybody (95 % interval).{note}",
        "",
        *_table(["by", "group", "users", *(name for _, name in main)], rows),
        "",
    ]


def _interval(s: Share) -> str:
    return f"{s.value:.1%} ({s.low:.1%} to {s.high:.1%})"


def _signed(s: Share) -> str:
    return f"{s.value:+.1%} ({s.low:+.1%} to {s.high:+.1%})"


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(c.replace('|', '/').replace(chr(10), ' ') for c in cells)} |"

    return [line(heads), line(["---"] * len(heads)), *map(line, rows)]
