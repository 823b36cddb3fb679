"""Findings about what is known of the items: what is missing, says nothing, or says it twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.report import Finding
from cerec.data.values import guess

_EXAMPLES = 3
_HUB, _NEARLY_ALL = 0.5, 0.9
_MOST = 2000
"""Values looked at for others they imply; those on most items."""
_NO_CHANCE = -18.0
"""Log of the chance that one value meets another on all its items."""
_COMPUTED = re.compile(
    r"also[ _-]?(bought|viewed|liked|read|watched)|(bought|viewed)[ _-]?together|co[ _-]?purchase"
    r"|similar[ _-]?(item|product|artist|movie)|recommended|related[ _-]?(item|product)"
    r"|buy[ _-]?after[ _-]?viewing",
    re.IGNORECASE,
)


def fact_findings(data: Dataset, facts: Facts) -> Iterator[Finding]:
    """Everything worth saying about the values of the items."""
    yield from _same_names(data)
    yield from _computed(data)
    if facts.of_item.size:
        yield from _undescribed(data, facts)
        yield from _hubs(data, facts)
        yield from _single(data, facts)
        yield from _implied(data, facts)
        yield from _sparse(data, facts)
        yield from _unclear_lists(data, facts)


def _undescribed(data: Dataset, facts: Facts) -> Iterator[Finding]:
    without = np.flatnonzero(facts.of_item.counts == 0)
    if len(without):
        share = len(without) / len(data.items)
        yield Finding(
            "warning" if share > 0.05 else "note", "items_without_attributes",
            f"{len(without):,} of {len(data.items):,} items have no attribute: they can be "
            "recommended, not explained.",
            len(without), share,
            "Complete their attributes, or leave them out with filters.require_attributes.",
            tuple(data.items.name(k) for k in without[:_EXAMPLES].tolist()),
        )  # fmt: skip


def _hubs(data: Dataset, facts: Facts) -> Iterator[Finding]:
    share = facts.holders.counts / max(len(data.items), 1)
    hubs = np.flatnonzero((share > _HUB) & (facts.holders.counts > 2))
    if len(hubs):
        hubs = hubs[np.argsort(-share[hubs], kind="stable")]
        yield Finding(
            "warning" if share[hubs[0]] >= _NEARLY_ALL else "note", "hub_values",
            f"{len(hubs):,} values stand on more than half of the items: they tell few apart.",
            len(hubs), float(share[hubs[0]]),
            f"Leave the relation out if it says little: filters.leave_out = "
            f"[{data.relations[int(facts.relation[hubs[0]])]!r}].",
            _names(data, facts, hubs),
        )  # fmt: skip


def _single(data: Dataset, facts: Facts) -> Iterator[Finding]:
    """Values of one item, and relations that are hardly anything else."""
    uses = facts.holders.counts
    once = np.flatnonzero(uses == 1)
    if not len(once):
        return
    yield Finding(
        "note", "values_on_one_item",
        f"{len(once):,} of {facts.n_values:,} values stand on a single item: no other item "
        "shares them.",
        len(once), len(once) / facts.n_values,
        "Leave rare entities out with filters.min_entity (the paper: 10).",
        _names(data, facts, once),
    )  # fmt: skip
    width = len(data.relations)
    n = np.bincount(facts.relation, minlength=width)
    single = np.bincount(facts.relation[once], minlength=width)
    like_ids = np.flatnonzero((n >= 10) & (single >= _NEARLY_ALL * n))
    if len(like_ids):
        names = [data.relations[r] for r in like_ids.tolist()]
        yield Finding(
            "warning", "ids_in_disguise",
            f"{len(names)} relations have nearly one value per item, like an id or a description: "
            f"{_listed(names)}.",
            len(names), len(names) / width,
            f"Leave them out: filters.leave_out = {names[:_EXAMPLES]!r}.",
        )  # fmt: skip


def _implied(data: Dataset, facts: Facts) -> Iterator[Finding]:
    """Values whose every item also has a wider one; of those with most items."""
    uses = facts.holders.counts
    fit = np.flatnonzero((uses >= 5) & (uses <= _HUB * len(data.items)))
    fit = np.sort(fit[np.argsort(-uses[fit], kind="stable")[:_MOST]])
    held = [facts.holders.row(v) for v in fit.tolist()]
    column = np.repeat(np.arange(len(fit)), [len(h) for h in held])
    row = np.concatenate([np.zeros(0, np.int32), *held])
    ones = np.ones(len(row), np.int32)
    has = sparse.csr_matrix((ones, (row, column)), shape=(len(data.items), len(fit)))
    both = (has.T @ has).tocoo()
    a, b = fit[both.row], fit[both.col]
    always = (both.data == uses[a]) & (a != b) & ((uses[a] < uses[b]) | (a < b))
    always &= uses[a] * np.log(uses[b] / len(data.items)) < _NO_CHANCE
    narrow, wide = np.unique(np.stack([a[always], b[always]]), axis=1)
    if len(narrow):
        say = zip(_names(data, facts, narrow), _names(data, facts, wide), strict=True)
        count = len(np.unique(narrow))
        yield Finding(
            "note", "implied_values",
            f"{count:,} values never stand without another one, as a category with its parent: one "
            "of the two is enough.",
            count, count / facts.n_values,
            "Leave one relation out (filters.leave_out), or lock it when asking (--lock).",
            tuple(f"{x} always with {y}" for x, y in say),
        )  # fmt: skip


def _sparse(data: Dataset, facts: Facts) -> Iterator[Finding]:
    key = facts.relation[facts.of_item.indices].astype(np.int64)
    pairs = np.unique(key * len(data.items) + facts.of_item.row_of())
    covers = np.bincount(pairs // len(data.items), minlength=len(data.relations))
    rare = np.flatnonzero((covers > 0) & (covers < 0.1 * len(data.items)))
    if len(rare):
        names = [data.relations[r] for r in rare[np.argsort(covers[rare])].tolist()]
        yield Finding(
            "note", "mostly_missing",
            f"{len(rare)} of {len(data.relations)} relations speak of fewer than a tenth "
            f"of the items: {_listed(names)}.",
            len(rare), len(rare) / len(data.relations),
            "Nothing: what an item lacks is not filled in. Complete them, or leave them out.",
        )  # fmt: skip


def _computed(data: Dataset) -> Iterator[Finding]:
    """Relations that a shop counts from interactions, by their names."""
    found = [
        r for r, name in zip(data.relations.ids, data.relations.names, strict=True)
        if _COMPUTED.search(r) or _COMPUTED.search(name)
    ]  # fmt: skip
    if found:
        yield Finding(
            "warning", "computed_relations",
            f"{len(found)} relations look computed from interactions, perhaps those held out too: "
            f"{_listed(found)}.",
            len(found), len(found) / len(data.relations),
            f"Measure without them as well: filters.leave_out = {found[:_EXAMPLES]!r}.",
        )  # fmt: skip


def _same_names(data: Dataset) -> Iterator[Finding]:
    count = Counter(data.items.names)
    twice = [name for name, n in count.items() if n > 1]
    if twice:
        items = sum(count[name] for name in twice)
        yield Finding(
            "note", "duplicate_names",
            f"{items:,} items share their name with another: ask about them by id.",
            items, items / len(data.items),
            "Put what tells them apart into the name, such as the year.",
            tuple(sorted(twice)[:_EXAMPLES]),
        )  # fmt: skip


def _unclear_lists(data: Dataset, facts: Facts) -> Iterator[Finding]:
    for r, relation in enumerate(data.relations):
        cells = [
            data.entities.name(e) for e in facts.attribute[facts.relation == r].tolist()
            if data.entities[e] == f"{relation}:{data.entities.name(e)}"
        ]  # fmt: skip
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
