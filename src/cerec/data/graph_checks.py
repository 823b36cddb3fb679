"""Findings about the facts: what is missing, repeated, or says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.inverses import find_inverses
from cerec.data.report import Finding

_NEARLY_ALL = 0.9
_EXAMPLES = 3


@dataclass(frozen=True, slots=True, eq=False)
class FactTable:
    """Facts between an item and an entity: item and value of each; a value is a pair of relation
    and entity.
    """

    item: NDArray[np.int32]
    value: NDArray[np.int64]
    relation: NDArray[np.int64]
    """Relation of each value."""
    entity: NDArray[np.int64]
    """Entity row of each value."""

    @property
    def n_values(self) -> int:
        """Distinct values."""
        return len(self.relation)

    @staticmethod
    def of(data: Dataset) -> FactTable:
        """The facts of `data` about items."""
        fact, n_items, width = data.triples, len(data.items), max(len(data.entities), 1)
        keep = (fact.head < n_items) & (fact.tail >= n_items)
        key = fact.relation[keep].astype(np.int64) * width + (fact.tail[keep] - n_items)
        distinct, value = np.unique(key, return_inverse=True)
        return FactTable(fact.head[keep], value, distinct // width, distinct % width)


def graph_findings(data: Dataset, facts: FactTable) -> Iterator[Finding]:
    """Everything worth saying about the triples of `data`."""
    if not len(facts.item):
        yield Finding(
            "warning", "no_facts", "No item has an attribute: nothing can be explained.",
            len(data.items), 1.0,
            "Give attribute columns of the items, or a graph of facts about them.",
        )  # fmt: skip
        if not len(data.triples):
            return
    yield from _undescribed(data, facts)
    yield from _empty_values(data, facts)
    yield from _repeated(data)
    yield from _dominant(data)
    yield from _dangling(data)
    yield from _backward(data)


def _undescribed(data: Dataset, facts: FactTable) -> Iterator[Finding]:
    without = np.flatnonzero(np.bincount(facts.item, minlength=len(data.items)) == 0)
    if len(without) and len(facts.item):
        share = len(without) / len(data.items)
        yield Finding(
            "warning" if share > 0.05 else "note", "items_without_attributes",
            f"{len(without):,} of {len(data.items):,} items have no attribute: they can be "
            "recommended, not explained.",
            len(without), share,
            "Complete their attributes, or leave them out with filters.require_attributes.",
            tuple(data.items.name(k) for k in without[:_EXAMPLES].tolist()),
        )  # fmt: skip


def _empty_values(data: Dataset, facts: FactTable) -> Iterator[Finding]:
    uses = np.bincount(facts.value, minlength=facts.n_values)
    once = np.flatnonzero(uses == 1)
    if len(once):
        yield Finding(
            "note", "values_on_one_item",
            f"{len(once):,} of {facts.n_values:,} values stand on a single item: no other item "
            "shares them.",
            len(once), len(once) / facts.n_values,
            "Cut columns of numbers into ranges (bins, when loading); leave rare entities out with "
            "filters.min_entity (the paper: 10).",
            _value_names(data, facts, once),
        )  # fmt: skip
    everywhere = np.flatnonzero(uses >= max(_NEARLY_ALL * len(data.items), 2))
    if len(everywhere):
        yield Finding(
            "warning", "values_on_nearly_all_items",
            f"{len(everywhere):,} values stand on at least {_NEARLY_ALL:.0%} of the items: they "
            "tell no item from another.",
            len(everywhere), len(everywhere) / facts.n_values,
            "Leave their relation out with filters.leave_out.",
            _value_names(data, facts, everywhere),
        )  # fmt: skip


def _value_names(data: Dataset, facts: FactTable, values: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(
        f"{data.relations.name(int(facts.relation[v]))}: {data.entities.name(int(facts.entity[v]))}"
        for v in values[:_EXAMPLES].tolist()
    )


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
