"""Findings in plain language: what the order of lists depends on, with the figures beside it."""

from __future__ import annotations

from cerec.audit.diff import Difference
from cerec.audit.parameters import Findings, Parameter
from cerec.audit.plain import joined, percent, plural, table
from cerec.audit.trial import Trial

_SHOWN, _MAIN, _VALUES = 0.0005, 0.2, 20
_PERSON = {
    "relation": "attributes of the items",
    "history": "what you took before",
    "popularity": "how popular items are",
    "other": "what their attributes do not tell",
}
_GROUP = {"own": "popularity"}
_ACT = {
    "history": "Your history: take other items, or have some of yours removed from it.",
    "relation": "Attributes: they count by how your own items differ from what is usual. Each item "
    "that you take lifts others with its attributes; each one removed lowers them.",
    "popularity": "Popularity: nothing. It is the same for everybody.",
    "other": "The rest: take other items, or have some of yours removed from your history.",
}
_SOURCE = {
    "model": "The parts are the recommender's own.",
    "canonical": "The parts of attributes are patterns in the recommender's scores, fitted "
    "afterwards. The recommender itself does not read attributes.",
    "fitted": "The parts of attributes are fitted to the recommender's scores.",
    "none": "Nothing is known of attributes.",
}
_COVERS = (
    "The order that this recommender gives. Filters, sponsored places and other steps after it are "
    "not covered, nor how a person's items came to be known.",
    "What the recommender does. Its effects are not causes in the world, and the page does not say "
    "whether lists are good, fair or lawful.",
    "Everybody together, and groups. One person's list is explained by `cerec explain`.",
)


def disclosure(f: Findings) -> str:
    """One paragraph for users."""
    groups: dict[str, list[Parameter]] = {}
    for p in f.parameters:
        if p.share.value >= _SHOWN:
            groups.setdefault(_GROUP.get(p.kind, p.kind), []).append(p)
    if not groups:
        return "The order of these lists does not depend on anything that was measured."
    share = {kind: sum(p.share.value for p in some) for kind, some in groups.items()}
    order = sorted(share, key=lambda kind: -share[kind])

    def said(kind: str) -> str:
        some = [f"{_named(p)} {percent(p.share.value)}" for p in groups[kind][:4]]
        more = f": {', '.join(some)}" if kind == "relation" else ""
        return f"{_PERSON[kind]} ({percent(share[kind])}{more})"

    main = [said(kind) for n, kind in enumerate(order) if n == 0 or share[kind] >= _MAIN]
    text = f"The order of this list depends mainly on {' and on '.join(main)}."
    if rest := [said(kind) for kind in order[len(main) :]]:
        text += f" A smaller part is {joined(rest)}."
    if changed := [p for p in f.parameters if p.needed is not None and p.needed.value > 0]:
        best = max(changed, key=lambda p: p.needed.value if p.needed else 0.0)
        text += (
            f" For {percent(best.needed.value if best.needed else 0.0)} of the listed items, "
            f"another value of {best.name} alone would take the item out of the list."
        )
    return text


def _named(p: Parameter) -> str:
    kept = p.kind == "relation" and p.needed is None
    return f"{p.name} (from what people did)" if kept else p.name


def audit_text(f: Findings, name: str) -> str:
    """A page in Markdown: the disclosure, then the evidence."""
    kinds = {_GROUP.get(p.kind, p.kind) for p in f.parameters if p.share.value >= _SHOWN}
    of = "" if f.users == f.sampled_from else f", a sample of {f.sampled_from:,}"
    lines = [
        f"# What the lists of {name} depend on",
        "",
        disclosure(f),
        "",
        "Percentages are shares of the lead that listed items have over the average item that the "
        f"person has not seen. They are from {f.pairs:,} listed items of {f.users:,} users{of}, "
        f"in lists of {f.k}.",
        "",
        "## What you can do",
        "",
        *(f"- {words}" for kind, words in _ACT.items() if kind in kinds),
        "",
        "## Main parameters",
        "",
        *_parameters(f),
        *_ranks(f),
        "## Most influential values",
        "",
        *_values(f),
        *_groups(f),
        "## What looks wrong",
        "",
        *([f"- {s.kind}: {s.text}." for s in f.signs] or ["Nothing that was looked for."]),
        "",
        "## What this covers, and what not",
        "",
        *(f"- {words}" for words in (*_COVERS, _SOURCE[f.source])),
        "",
    ]
    return "\n".join(lines)


def _parameters(f: Findings) -> list[str]:
    shown = [p for p in f.parameters if abs(p.share.value) >= _SHOWN]
    heads = ["parameter", "share (95 %)", "other settings", "decides", "alone enough", "in answers"]
    rows = [
        [
            p.name,
            str(p.share),
            "" if p.settings is None else " to ".join(map(percent, p.settings)),
            percent(p.decides.value),
            *("" if s is None else percent(s.value) for s in (p.needed, p.answered)),
        ]
        for p in shown
    ]
    if f.everybody is not None:
        rows.append(["of attributes: the same for everybody", str(f.everybody), "", "", "", ""])
    small = [p.name for p in f.parameters if p not in shown]
    out = table(heads, rows)
    if small:
        out += [f"Below {_SHOWN:.2%}, and not in the table: {joined(small)}.", ""]
    return [
        *out,
        "- *Share*: of the lead. The shares add up to 100 %; intervals are over users. What "
        "everybody makes of an item's attributes is in their shares, and in a row of its own.",
        *_ranged(f),
        "- *Decides*: how often the item would leave, were this part that of the average item.",
        "- *Alone enough*: how often a change within this relation takes the item out of the list. "
        "*In answers*: how often the smallest change of all is about it. Both are empty where a "
        "relation is worked out from what people did, such as *also bought*, and kept as it is.",
        "",
    ]


def _ranged(f: Findings) -> list[str]:
    if f.ranged is None:
        return []
    return [
        "- *Other settings*: the share under settings that do as well on validation. History and "
        "attributes tell much the same, so no single figure is the true one. From "
        f"{plural(f.ranged.users, 'user')}; error at most {f.ranged.error:.1%}."
    ]


def _ranks(f: Findings) -> list[str]:
    ranks = list(f.parameters[0].by_rank) if f.parameters else []
    main = [p for p in f.parameters if p.share.value >= 0.01]
    rows = [[p.name, *(percent(x) for x in p.by_rank.values())] for p in main]
    return ["## By rank", "", *table(["parameter", *(f"rank {r}" for r in ranks)], rows)]


def _values(f: Findings) -> list[str]:
    names = {p.id: p.name for p in f.parameters}
    rows = [
        [names[v.relation], v.name, f"{v.share:.1%}", f"{v.pairs:,}"] for v in f.values[:_VALUES]
    ]
    return table(["relation", "value", "share", "listed items"], rows)


def _groups(f: Findings) -> list[str]:
    hidden = f" {plural(f.suppressed, 'group')} of fewer than {f.least} users are not shown."
    if not f.segments:
        return ["## Groups", "", hidden.strip(), ""] if f.suppressed else []
    main = f.parameters[:4]
    rows = []
    for s in f.segments:
        shares, gaps = dict(s.shares), dict(s.gap)
        differs = {p.id: gaps[p.id].low > 0 or gaps[p.id].high < 0 for p in main}
        cells = [percent(shares[p.id].value) + "*" * differs[p.id] for p in main]
        rows.append([s.by, s.group, f"{s.users:,}", *cells])
    intro = f"Shares within each group. * differs from everybody.{hidden if f.suppressed else ''}"
    heads = ["by", "group", "users", *(p.name for p in main)]
    return ["## Groups", "", intro, "", *table(heads, rows)]


def verdict(t: Trial) -> str:
    """What was found, in a few sentences."""
    text = (
        f"{t.depends} of the listed items that have a {t.name} would not be listed with another "
        "one, each tried as often as items have it."
    )
    if not t.controls:
        return f"{text} This recommender does not say enough of itself for a control."
    text += (
        f" Where values are dealt out to items at random it is {t.control_depends:.1%} "
        f"({t.controls} times)."
    )
    beyond = [
        f"items with {v.name} have {percent(abs(v.effect.value))} "
        f"{'more' if v.effect.value > 0 else 'fewer'} places than with other values"
        for v in t.values
        if v.flagged
    ]
    found = (
        f"Beyond chance: {'; '.join(beyond[:5])}." if beyond else "No value does more than chance."
    )
    return f"{text} {found}"


def trial_text(t: Trial) -> str:
    """A page in Markdown about one attribute."""
    rows = [
        [
            v.name,
            f"{v.items:,}",
            f"{v.catalogue:.1%}",
            f"{v.now:.1%}",
            v.effect.signed,
            f"{v.chance[0]:+.1%} to {v.chance[1]:+.1%}" if t.controls else "",
            "**beyond chance**" if v.flagged else "",
        ]
        for v in t.values[:30]
    ]
    heads = ["value", "items", "of the catalogue", "of the places", "effect", "by chance", ""]
    people = ["users", "group", "how many", "places that depend on it"]
    lines = [
        f"# Does {t.name} decide who is shown?",
        "",
        verdict(t),
        "",
        f"Each item in turn was given every other value of {t.name}, everything else unchanged, "
        f"what people took included: {t.users:,} users, lists of {t.k}, {t.pairs:,} listed items. "
        "It is how the recommender behaves. It says nothing of why, and nothing of the world.",
        "",
        *table(heads, rows),
        *table(["items that would leave most lists", "lists"], _lists(t.leaving)),
        *table(["items that would come into most lists", "lists"], _lists(t.coming)),
        *table(people, [[c, g, f"{n:,}", str(s)] for c, g, n, s in t.segments]),
    ]
    return "\n".join(lines)


def _lists(rows: tuple[tuple[str, str, float], ...]) -> list[list[str]]:
    return [[name, f"{n:,.1f}"] for _, name, n in rows]


def diff_text(d: Difference, a: str, b: str) -> str:
    """A page in Markdown about two runs."""
    unit = (
        "The two count in different units: scores are divided by the spread of each user's scores."
        if d.scaled
        else "Scores are in the recommenders' own units."
    )
    moving = table(["part", "share"], [[name, percent(x)] for _, _, name, x in d.because])
    lines = [
        f"# What changed from {a} to {b}",
        "",
        f"{percent(d.kept)} of the places hold an item of both lists; {percent(d.same)} of users "
        f"see the same items. {plural(d.came, 'item')} came in and {d.left:,} left, over "
        f"{plural(d.users, 'user')} and lists of {d.k}.",
        "",
        f"Only the first run knows {plural(d.only_a, 'user')} and {plural(d.items_a, 'item')}, "
        f"only the second {plural(d.only_b, 'user')} and {plural(d.items_b, 'item')}.",
        "",
        "## What moved items",
        "",
        f"Of all that pushed items the way they went. {unit}",
        "",
        *moving,
        "## Who sees other lists",
        "",
        *table(
            ["users", "group", "how many", "places kept"],
            [[c, g, f"{n:,}", percent(x)] for c, g, n, x in d.segments],
        ),
        *(["## Telling cases", ""] if d.cases else []),
        *(f"- {m.text}" for m in d.cases),
        "",
    ]
    return "\n".join(lines)
