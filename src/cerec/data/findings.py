"""What may be wrong with data: findings about the interactions and about the facts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.inverses import find_inverses
from cerec.data.ragged import distinct
from cerec.data.values import guess

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Worst first. Data with an error cannot be used."""
Pairs = NDArray[np.int64]
"""user * n_items + item, distinct, in order."""
_EXAMPLES = 3
_NEARLY_ALL = 0.9
_COMPUTED = re.compile(
    r"also[ _-]?(bought|viewed|liked|read|watched)|(bought|viewed)[ _-]?together|co[ _-]?purchase"
    r"|similar[ _-]?(item|product|artist|movie)|recommended|related[ _-]?(item|product)"
    r"|buy[ _-]?after[ _-]?viewing",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a person should know about the data."""

    severity: Severity
    kind: str
    """A short name that stays the same between versions, such as `leak`."""
    what: str
    """One sentence with the figures in it."""
    count: int
    """How many users, items, pairs, ... are concerned."""
    share: float
    """The same as a share of all of them."""
    remedy: str
    """What to do about it."""
    examples: tuple[str, ...] = ()


def pair_findings(
    data: Dataset, pairs: Pairs, came: Mapping[str, Pairs], parts: Mapping[str, Pairs]
) -> Iterator[Finding]:
    """Findings about who took what; `came`: the parts of the files, `parts`: those looked at."""
    rows, n_items = len(data.interactions), max(len(data.items), 1)
    if not rows:
        remedy = "Give a file of who took what (user,item), or filter less."
        yield Finding("error", "no_interactions", "There is no interaction.", 0, 1.0, remedy)
        return
    count = rows - (sum(map(len, came.values())) if came else len(pairs))
    if count:
        what = f"{count:,} of {rows:,} interactions repeat an earlier user and item."
        remedy = "Nothing: repeats count once (filters.duplicates)."
        yield Finding("note", "duplicate_interactions", what, count, count / rows, remedy)
    for kind, table, have in (
        ("users", data.users, pairs // n_items),
        ("items", data.items, pairs % n_items),
    ):
        without = np.flatnonzero(np.bincount(have, minlength=len(table)) == 0)
        what = f"{len(without):,} of {len(table):,} {kind} have no interaction."
        remedy = "Leave them out with filters.k_core = 1, or keep them: they cannot be learned."
        yield from _some("note", f"{kind}_without_interactions", what, without, table, remedy)
    if parts:
        yield from _part_findings(data, parts)


def _some(
    severity: Severity, kind: str, what: str, rows: NDArray[np.integer], of: IdTable, remedy: str
) -> Iterator[Finding]:
    """A finding about some rows of a table, if there are any."""
    if len(rows):
        examples = tuple(of.name(row) for row in rows[:_EXAMPLES].tolist())
        yield Finding(severity, kind, what, len(rows), len(rows) / len(of), remedy, examples)


def _part_findings(data: Dataset, parts: Mapping[str, Pairs]) -> Iterator[Finding]:
    n_items = max(len(data.items), 1)
    train = parts["train"]
    if not len(train):
        remedy = "Name the train file, or split the data: cerec data split."
        yield Finding("error", "no_train", "No interaction is in train.", 0, 1.0, remedy)
    for name, kind in (("valid", "leak_valid"), ("test", "leak")):
        both = np.intersect1d(train, parts[name], assume_unique=True)
        if len(both):
            share = len(both) / len(parts[name])
            what = f"{len(both):,} pairs stand in both train and {name} ({share:.1%} of {name})"
            pairs = (divmod(int(key), n_items) for key in both[:_EXAMPLES])
            yield Finding(
                "warning", kind, f"{what}: results would be wrong.", len(both), share,
                f"Here such pairs stay in train and leave {name}; published numbers on these files "
                "may count them.",
                tuple(f"{data.users.name(u)} - {data.items.name(i)}" for u, i in pairs),
            )  # fmt: skip
    every = distinct(np.concatenate(list(parts.values())))
    users = np.setdiff1d(distinct(every // n_items), distinct(train // n_items), True)
    what = f"{len(users):,} of {len(data.users):,} users have no item in train."
    remedy = "They get what is popular; split again to do better (split.method = ratio)."
    yield from _some("warning", "users_without_train", what, users, data.users, remedy)
    cold = np.setdiff1d(distinct(parts["test"] % n_items), distinct(train % n_items), True)
    what = f"{len(cold):,} items are in test but never in train."
    remedy = "Expect them to be missed, except by models that know attributes."
    yield from _some("note", "test_items_without_train", what, cold, data.items, remedy)


def fact_findings(data: Dataset, facts: Facts) -> Iterator[Finding]:
    """Findings about what is known of the items."""
    n_items, relations = len(data.items), data.relations
    count = Counter(data.items.names)
    twice = np.flatnonzero([count[name] > 1 for name in data.items.names])
    what = f"{len(twice):,} items share their name with another: ask about them by id."
    remedy = "Put what tells them apart into the name, such as the year."
    yield from _some("note", "duplicate_names", what, twice, data.items, remedy)
    if not facts.of_item.size:
        remedy = "Give attribute columns of the items, or a graph of facts about them."
        what = "No item has an attribute: nothing can be explained."
        yield Finding("warning", "no_facts", what, n_items, 1.0, remedy)
        return
    yield from _relation_findings(data, facts)
    without = np.flatnonzero(facts.of_item.counts == 0)
    what = (
        f"{len(without):,} of {n_items:,} items have no attribute: they can be recommended, not "
        "explained by attributes."
    )
    remedy = "Complete their attributes, or leave them out with filters.require_attributes."
    severity: Severity = "warning" if len(without) > 0.05 * n_items else "note"
    yield from _some(severity, "items_without_attributes", what, without, data.items, remedy)
    uses = facts.holders.counts
    hubs = np.flatnonzero((uses > 0.5 * n_items) & (uses > 2))
    if len(hubs):
        hubs = hubs[np.argsort(-uses[hubs], kind="stable")]
        share = float(uses[hubs[0]] / n_items)
        yield Finding(
            "warning" if share >= _NEARLY_ALL else "note", "hub_values",
            f"{len(hubs):,} values stand on more than half of the items: they tell few apart, "
            "and an agent's walk skips them.",
            len(hubs), share,
            f"Leave the relation out if it says little: filters.leave_out = "
            f"[{relations[int(facts.relation[hubs[0]])]!r}].",
            _names(data, facts, hubs),
        )  # fmt: skip
    once = np.flatnonzero(uses == 1)
    if len(once):
        yield Finding(
            "note", "values_on_one_item",
            f"{len(once):,} of {facts.n_values:,} values stand on a single item: no other item "
            "shares them.",
            len(once), len(once) / facts.n_values,
            "Leave rare entities out with filters.min_entity (the paper: 10).",
            _names(data, facts, once),
        )  # fmt: skip


def _relation_findings(data: Dataset, facts: Facts) -> Iterator[Finding]:
    relations, width = data.relations, len(data.relations)
    n = np.bincount(facts.relation, minlength=width)
    single = np.bincount(facts.relation[facts.holders.counts == 1], minlength=width)
    ids = [relations[r] for r in np.flatnonzero((n >= 10) & (single >= _NEARLY_ALL * n)).tolist()]
    if ids:
        yield Finding(
            "warning", "ids_in_disguise",
            f"{len(ids)} relations have nearly one value per item, like an id or a description: "
            f"{_listed(ids)}.",
            len(ids), len(ids) / width, f"Leave them out: filters.leave_out = {ids[:_EXAMPLES]!r}.",
        )  # fmt: skip
    named = zip(relations.ids, relations.names, strict=True)
    found = [r for r, name in named if _COMPUTED.search(r) or _COMPUTED.search(name)]
    if found:
        yield Finding(
            "warning", "computed_relations",
            f"{len(found)} relations look computed from interactions, perhaps those held out too: "
            f"{_listed(found)}.",
            len(found), len(found) / width,
            f"Measure without them as well: filters.leave_out = {found[:_EXAMPLES]!r}.",
        )  # fmt: skip
    if pairs := find_inverses(data):
        shared = sum(pair.shared for pair in pairs)
        yield Finding(
            "note", "inverse_relations",
            f"{len(pairs)} relations say what another one says from the other end "
            f"({shared:,} triples).",
            shared, shared / len(data.triples),
            "Nothing: they are merged (filters.merge_inverses).",
            tuple(f"{relations[p.gone]} = {relations[p.kept]}" for p in pairs[:_EXAMPLES]),
        )  # fmt: skip
    for r, relation in enumerate(relations):
        values = facts.attribute[facts.relation == r].tolist()
        cells = [data.entities.name(e) for e in values]
        cells = [
            c for c, e in zip(cells, values, strict=True) if data.entities[e] == f"{relation}:{c}"
        ]
        several = [c for c in cells if "," in c or ";" in c]
        if several and not guess(cells).sure:
            form = "comma" if "," in several[0] else "semicolon"
            yield Finding(
                "warning", "unclear_lists",
                f"The values of {relation!r} may be lists: {len(several):,} of {len(cells):,} "
                f"hold a {form}.",
                len(several), len(several) / len(cells),
                f"If they are, load with --option lists={relation}:{form}.",
                tuple(several[:_EXAMPLES]),
            )  # fmt: skip


def _names(data: Dataset, facts: Facts, values: NDArray[np.integer]) -> tuple[str, ...]:
    return tuple(
        f"{data.relations.name(int(facts.relation[v]))}: "
        f"{data.entities.name(int(facts.attribute[v]))}"
        for v in values[:_EXAMPLES].tolist()
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
    return ", ".join(map(repr, names[:_EXAMPLES])) + more
