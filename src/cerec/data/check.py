"""`check`: what a person should know about their data before training on it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import TEST, TRAIN, VALID, Dataset
from cerec.data.fact_checks import fact_findings
from cerec.data.facts import Facts
from cerec.data.graph_checks import graph_findings
from cerec.data.names import INVERSE
from cerec.data.ragged import distinct
from cerec.data.report import SEVERITIES, Finding, Quantiles, RelationSummary, Report
from cerec.data.split import Split

_EXAMPLES = 3
Pairs = NDArray[np.int64]  # user * n_items + item, distinct, in order


def check(data: Dataset, split: Split | None = None) -> Report:
    """Figures and findings; with a split, of its parts instead of those the data came in."""
    parts = _parts(data, split)
    pairs = _pairs(data, data.interactions.user, data.interactions.item)
    facts = Facts.build(data)
    findings = chain(
        _interaction_findings(data, pairs),
        _part_findings(data, parts),
        graph_findings(data, facts),
        fact_findings(data, facts),
    )
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


def _parts(data: Dataset, split: Split | None) -> dict[str, Pairs]:
    if split is not None:
        return {
            name: _pairs(data, rows.row_of(), rows.indices)
            for name, rows in (("train", split.train), ("valid", split.valid), ("test", split.test))
        }
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
    return tuple(_quantiles(of, count) for of, count in counts.items() if len(count))


def _quantiles(of: str, count: NDArray[np.int64]) -> Quantiles:
    cuts = np.quantile(count, [0, 0.25, 0.5, 0.75, 1], method="lower")
    least, low, median, high, most = (int(cut) for cut in cuts)
    return Quantiles(of, least, low, median, high, most, round(float(count.mean()), 2))


def _relations(data: Dataset) -> tuple[RelationSummary, ...]:
    fact, n_items = data.triples, len(data.items)
    order = np.argsort(fact.relation, kind="stable")
    bounds = np.searchsorted(fact.relation[order], np.arange(len(data.relations) + 1))
    summaries = []
    for r in range(len(data.relations)):
        rows = order[bounds[r] : bounds[r + 1]]
        heads = np.unique(fact.head[rows])
        tails, uses = np.unique(fact.tail[rows], return_counts=True)
        summaries.append(
            RelationSummary(
                id=data.relations[r],
                name=data.relations.name(r),
                triples=len(rows),
                items=int((heads < n_items).sum()),
                values=len(tails),
                example=_example(data, rows, tails, uses),
            )
        )
    return tuple(sorted(summaries, key=lambda s: (-s.triples, s.id)))


def _example(
    data: Dataset, rows: NDArray[np.int64], tails: NDArray[np.int32], uses: NDArray[np.int64]
) -> str:
    """One fact with the relation's most frequent tail, by name."""
    if not len(rows):
        return ""
    common = tails[np.argmax(uses)]
    row = rows[np.argmax(data.triples.tail[rows] == common)]
    head = _node_name(data, int(data.triples.head[row]))
    return f"{head} -> {_node_name(data, int(common))}"


def _node_name(data: Dataset, node: int) -> str:
    n_items = len(data.items)
    return data.items.name(node) if node < n_items else data.entities.name(node - n_items)


def _share(count: int, of: int) -> float:
    return count / of if of else 0.0


def _interaction_findings(data: Dataset, pairs: Pairs) -> Iterator[Finding]:
    rows = len(data.interactions)
    if not rows:
        yield Finding(
            "error", "no_interactions", "There is not a single interaction.", 0, 1.0,
            "Give a file of who took what (user,item), or filter less.",
        )  # fmt: skip
        return
    came = _parts(data, None)
    count = rows - (sum(map(len, came.values())) if came else len(pairs))
    if count:
        yield Finding(
            "note", "duplicate_interactions",
            f"{count:,} of {rows:,} interactions repeat an earlier user and item.",
            count, _share(count, rows),
            "Nothing: repeats count once (filters.duplicates).",
        )  # fmt: skip
    n_items = max(len(data.items), 1)
    for kind, table, have in (
        ("users", data.users, pairs // n_items),
        ("items", data.items, pairs % n_items),
    ):
        without = np.flatnonzero(np.bincount(have, minlength=len(table)) == 0)
        if len(without):
            yield Finding(
                "note", f"{kind}_without_interactions",
                f"{len(without):,} of {len(table):,} {kind} have no interaction.",
                len(without), _share(len(without), len(table)),
                "Leave them out with filters.k_core = 1, or keep them: they cannot be learned.",
                tuple(table.name(k) for k in without[:_EXAMPLES].tolist()),
            )  # fmt: skip


def _part_findings(data: Dataset, parts: dict[str, Pairs]) -> Iterator[Finding]:
    if not parts:
        return
    n_items = max(len(data.items), 1)
    train = parts["train"]
    if not len(train):
        yield Finding(
            "error", "no_train", "No interaction is in train.", 0, 1.0,
            "Name the train file, or split the data: cerec data split.",
        )  # fmt: skip
    for name in ("valid", "test"):
        held = parts[name]
        both = np.intersect1d(train, held, assume_unique=True)
        if len(both):
            yield Finding(
                "warning", "leak" if name == "test" else "leak_valid",
                f"{len(both):,} pairs stand in both train and {name} "
                f"({_share(len(both), len(held)):.1%} of {name}): results would be wrong.",
                len(both), _share(len(both), len(held)),
                f"Here such pairs stay in train and leave {name}; published numbers on these files "
                "may count them.",
                tuple(_pair_name(data, key) for key in both[:_EXAMPLES].tolist()),
            )  # fmt: skip
    yield from _untrained(data, train, distinct(np.concatenate(list(parts.values()))))
    cold = np.setdiff1d(distinct(parts["test"] % n_items), distinct(train % n_items), True)
    if len(cold):
        yield Finding(
            "note", "test_items_without_train",
            f"{len(cold):,} items are in test but never in train.",
            len(cold), _share(len(cold), len(data.items)),
            "Expect them to be missed, except by models that know attributes.",
            tuple(data.items.name(k) for k in cold[:_EXAMPLES].tolist()),
        )  # fmt: skip


def _untrained(data: Dataset, train: Pairs, every: Pairs) -> Iterator[Finding]:
    n_items = max(len(data.items), 1)
    users = np.setdiff1d(distinct(every // n_items), distinct(train // n_items), True)
    if len(users):
        yield Finding(
            "warning", "users_without_train",
            f"{len(users):,} of {len(data.users):,} users have no item in train.",
            len(users), _share(len(users), len(data.users)),
            "They get what is popular, and no explanation of their own; to do better, split anew "
            "(split.method = ratio).",
            tuple(data.users.name(k) for k in users[:_EXAMPLES].tolist()),
        )  # fmt: skip


def _pair_name(data: Dataset, key: int) -> str:
    user, item = divmod(key, max(len(data.items), 1))
    return f"{data.users.name(user)} - {data.items.name(item)}"
