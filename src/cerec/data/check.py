"""`check`: what a person should know about their data before training on it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import TEST, TRAIN, VALID, Dataset
from cerec.data.facts import Facts
from cerec.data.findings import SEVERITIES, Finding, Pairs, fact_findings, pair_findings
from cerec.data.names import INVERSE
from cerec.data.ragged import distinct
from cerec.data.split import Split


@dataclass(frozen=True, slots=True)
class Quantiles:
    """How many partners the members of one kind have: smallest, quartiles, largest."""

    of: str
    least: int
    low: int
    median: int
    high: int
    most: int
    mean: float


@dataclass(frozen=True, slots=True)
class RelationSummary:
    """One relation: how much it says, and an example by name."""

    id: str
    name: str
    triples: int
    items: int
    """Items it says something about."""
    values: int
    """Distinct things it says."""
    example: str


@dataclass(frozen=True, slots=True)
class Report:
    """What `check` found: figures, degrees, relations from the largest, findings worst first."""

    name: str
    figures: dict[str, int | float]
    degrees: tuple[Quantiles, ...]
    relations: tuple[RelationSummary, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def usable(self) -> bool:
        """False if a finding is an error."""
        return all(f.severity != "error" for f in self.findings)

    def find(self, kind: str) -> Finding | None:
        """The finding of a kind, if there is one."""
        return next((f for f in self.findings if f.kind == kind), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and dictionaries, for JSON."""
        return {**dataclasses.asdict(self), "usable": self.usable}


def check(data: Dataset, split: Split | None = None) -> Report:
    """Figures and findings; with a split, of its parts instead of those the data came in."""
    came = _parts_of(data)
    parts = came
    if split is not None:
        named = {"train": split.train, "valid": split.valid, "test": split.test}
        parts = {n: _pairs(data, rows.row_of(), rows.indices) for n, rows in named.items()}
    pairs = _pairs(data, data.interactions.user, data.interactions.item)
    facts = Facts.build(data)
    findings = [*pair_findings(data, pairs, came, parts), *fact_findings(data, facts)]
    return Report(
        name=data.name,
        figures=_figures(data, pairs, parts, facts),
        degrees=_degrees(data, pairs, facts),
        relations=_relations(data),
        findings=tuple(
            sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), -f.share, f.kind))
        ),
        notes=data.notes,
    )


def _pairs(data: Dataset, user: NDArray[np.int32], item: NDArray[np.int32]) -> Pairs:
    return distinct(user.astype(np.int64) * max(len(data.items), 1) + item)


def _parts_of(data: Dataset) -> dict[str, Pairs]:
    """The pairs of each part that the data came in."""
    table = data.interactions
    if table.part is None:
        return {}
    return {
        name: _pairs(data, table.user[table.part == code], table.item[table.part == code])
        for name, code in (("train", TRAIN), ("valid", VALID), ("test", TEST))
    }


def _figures(
    data: Dataset, pairs: Pairs, parts: dict[str, Pairs], facts: Facts
) -> dict[str, int | float]:
    """Those of the paper's table I, then what we add to them. A relation that a reader took apart
    by direction counts once.
    """
    cells = len(data.users) * len(data.items)
    return {
        "users": len(data.users),
        "items": len(data.items),
        "interactions": len(pairs),
        "entities": len(data.entities),
        "relations": len({r.removesuffix(INVERSE) for r in data.relations}),
        "triples": len(data.triples),
        "rows": len(data.interactions),
        "density": len(pairs) / cells if cells else 0.0,
        "values": facts.n_values,
        "facts_of_items": facts.of_item.size,
        **{f"{name}_pairs": len(keys) for name, keys in parts.items()},
    }


def _degrees(data: Dataset, pairs: Pairs, facts: Facts) -> tuple[Quantiles, ...]:
    n_items = max(len(data.items), 1)
    counts = {
        "items of a user": np.bincount(pairs // n_items, minlength=len(data.users)),
        "users of an item": np.bincount(pairs % n_items, minlength=len(data.items)),
        "values of an item": facts.of_item.counts,
        "items of a value": facts.holders.counts,
    }
    out = []
    for of, count in counts.items():
        if len(count):
            cuts = np.quantile(count, [0, 0.25, 0.5, 0.75, 1], method="lower")
            least, low, median, high, most = (int(cut) for cut in cuts)
            mean = round(float(count.mean()), 2)
            out.append(Quantiles(of, least, low, median, high, most, mean))
    return tuple(out)


def _relations(data: Dataset) -> tuple[RelationSummary, ...]:
    fact, n_items = data.triples, len(data.items)
    nodes = (*data.items.names, *data.entities.names)
    order = np.argsort(fact.relation, kind="stable")
    bounds = np.searchsorted(fact.relation[order], np.arange(len(data.relations) + 1))
    summaries = []
    for r, (start, stop) in enumerate(pairwise(bounds)):
        rows = order[start:stop]
        heads = np.unique(fact.head[rows])
        tails, uses = np.unique(fact.tail[rows], return_counts=True)
        example = ""
        if len(rows):  # one with the most frequent tail
            common = tails[np.argmax(uses)]
            head = fact.head[rows[np.argmax(fact.tail[rows] == common)]]
            example = f"{nodes[head]} -> {nodes[common]}"
        about = int((heads < n_items).sum())
        name = data.relations.name(r)
        summaries.append(
            RelationSummary(data.relations[r], name, len(rows), about, len(tails), example)
        )
    return tuple(sorted(summaries, key=lambda s: (-s.triples, s.id)))
