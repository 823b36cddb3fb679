"""Findings about the triples: what is repeated, dangling, or the wrong way round."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.inverses import find_inverses
from cerec.data.report import Finding

_EXAMPLES = 3


def graph_findings(data: Dataset, facts: Facts) -> Iterator[Finding]:
    """Everything worth saying about the triples of `data`."""
    if not facts.of_item.size:
        yield Finding(
            "warning", "no_facts", "No item has an attribute: nothing can be explained.",
            len(data.items), 1.0,
            "Give attribute columns of the items, or a graph of facts about them.",
        )  # fmt: skip
        if not len(data.triples):
            return
    yield from _repeated(data)
    yield from _dominant(data)
    yield from _dangling(data)
    yield from _backward(data)


def _repeated(data: Dataset) -> Iterator[Finding]:
    fact, total = data.triples, len(data.triples)
    order = np.lexsort((fact.tail, fact.relation, fact.head))
    columns = [column[order] for column in (fact.head, fact.relation, fact.tail)]
    again = int(np.all([np.diff(column) == 0 for column in columns], axis=0).sum())
    if again:
        yield Finding(
            "warning", "duplicate_triples", f"{again:,} of {total:,} triples repeat another.",
            again, again / total, "Write them once.",
        )  # fmt: skip
    pairs = find_inverses(data)
    if pairs:
        shared = sum(pair.shared for pair in pairs)
        yield Finding(
            "note", "inverse_relations",
            f"{len(pairs)} relations say what another one says from the other end "
            f"({shared:,} triples).",
            shared, shared / total,
            "Nothing: they are merged (filters.merge_inverses).",
            tuple(
                f"{data.relations[p.gone]} = {data.relations[p.kept]}" for p in pairs[:_EXAMPLES]
            ),
        )  # fmt: skip


def _dominant(data: Dataset) -> Iterator[Finding]:
    uses = np.bincount(data.triples.relation, minlength=len(data.relations))
    share = float(uses.max() / uses.sum())
    if len(data.relations) > 2 and share > 0.5:
        name = data.relations.name(int(uses.argmax()))
        yield Finding(
            "note", "dominant_relation",
            f"The relation {name!r} is {share:.0%} of all triples.",
            int(uses.max()), share,
            f"If it says little, leave it out: filters.leave_out = [{name!r}].",
        )  # fmt: skip


def _dangling(data: Dataset) -> Iterator[Finding]:
    n_items = len(data.items)
    ends = np.concatenate([data.triples.head, data.triples.tail])
    bare = np.bincount(ends, minlength=n_items + len(data.entities))[n_items:] == 0
    unused = np.bincount(data.triples.relation, minlength=len(data.relations)) == 0
    for kind, table, mask in (
        ("entities", data.entities, bare),
        ("relations", data.relations, unused),
    ):
        rows = np.flatnonzero(mask)
        if len(rows):
            yield Finding(
                "note", f"dangling_{kind}",
                f"{len(rows):,} of {len(table):,} {kind} stand in no triple.",
                len(rows), len(rows) / len(table),
                f"Nothing, or remove them from the list of {kind}.",
                tuple(table.name(k) for k in rows[:_EXAMPLES].tolist()),
            )  # fmt: skip


def _backward(data: Dataset) -> Iterator[Finding]:
    n_items = len(data.items)
    count = int(((data.triples.head >= n_items) & (data.triples.tail < n_items)).sum())
    if count:
        yield Finding(
            "warning", "backward_facts",
            f"{count:,} triples lead from an entity to an item: they describe no item.",
            count, count / len(data.triples),
            "Turn them round: the item is the head of a fact about it.",
        )  # fmt: skip
