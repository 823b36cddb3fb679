"""A run with what happened since: further interactions, users and items, or somebody forgotten.

What was learned of everybody (B, q, w) stays until the next fit; whatever is one person's own is as
if the model had known the longer history all along.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.build import ITEM, SourceTables, build
from cerec.data.ckg import Ckg
from cerec.data.columns import Table
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.frames import to_polars
from cerec.data.ids import IdTable
from cerec.data.joining import joined
from cerec.data.ragged import Ragged
from cerec.data.readers.tables import read_table
from cerec.data.restrict import restrict
from cerec.data.split import Split
from cerec.errors import ConfigError, DataError, RunError, UnknownIdError
from cerec.explain.lookup import row_of
from cerec.recommend.linear.growing import grown
from cerec.recommend.linear.model import LinearArrays
from cerec.recommend.linear.weighing import Marks, Weighing
from cerec.runs.run import Run
from cerec.runs.stored import StoredModel

Rows = NDArray[np.integer]


def update(
    run: Run, interactions: Any = None, items: Any = None, *, forget: Iterable[object] = ()
) -> Run:
    """The next version of a run; the run itself stays as it is.

    `interactions` (`user`, `item` and what else those of the run have) and `items` (`item`, `name`
    and attribute columns) are data frames, or files of them. Users that the run does not know are
    added; items are added by `items` alone. `forget`: users who go with all they did.
    """
    if isinstance(forget, str) or not isinstance(forget, Iterable):
        raise ConfigError(f"forget must be a list of users, got {forget!r}")
    gone = np.ones(len(run.data.users), bool)
    gone[[row_of(run.data.users, user) for user in forget]] = False
    if interactions is None and items is None and gone.all():
        raise ConfigError("nothing to do; give interactions, items, or users to forget")
    if run.model.kind != "linear" or "chosen" not in run.meta:
        raise RunError("only a run of the default recommender can be updated; train again instead")
    new = _given(run.data, interactions, items)
    data = run.data if new is None else joined(run.data, new)
    if not gone.all():
        lost = {user for user, stays in zip(run.data.users, gone, strict=True) if not stays}
        data = restrict(data, users=np.array([u not in lost for u in data.users]))
    return _next(run, data, new)


def _given(data: Dataset, interactions: Any, items: Any) -> Dataset | None:
    """What is new, as data of its own; unknown items and known ones given again are refused."""
    if interactions is None and items is None:
        return None
    listed = None if items is None else _table("items", items)
    ids = [] if listed is None else listed.ids(*ITEM).to_list()
    if twice := next((i for i in ids if i in data.items), None):
        raise DataError(
            f"items: {twice!r} is there already; what is known of it changes with the next fit"
        )
    if interactions is None:  # data have interactions, so one that is left out again
        pairs = _table("interactions", {"user": [data.users[0]], "item": [ids[0]]})
    else:
        pairs = _table("interactions", interactions)
        found = pairs.ids(*ITEM)
        known = {*data.items.ids, *ids}
        if strange := next((i for i in found.unique(maintain_order=True) if i not in known), None):
            unknown = UnknownIdError("item", strange, data.items.ids)
            raise DataError(f"interactions: {unknown}; new items come by a table of their own")
    new = build(data.name, SourceTables([(pairs, None)], items=listed))
    return new if interactions is not None else restrict(new, interactions=np.zeros(1, bool))


def _table(label: str, source: Any) -> Table:
    """A file or frame; values are as the run has them, so no ranges are made of numbers."""
    exact = label == "items"
    if isinstance(source, str | Path):
        return read_table(Path(source), exact=exact)
    frame = to_polars(label, source)
    return Table(label, frame, lambda row: f"{label}, row {row}", exact=exact)


def _next(run: Run, data: Dataset, new: Dataset | None) -> Run:
    """The run on the new data."""
    user, item = _rows(run.data.users, data.users), _rows(run.data.items, data.items)

    def moved(part: Ragged, *, more: bool) -> Ragged:
        users, items = [user[part.row_of()]], [item[part.indices]]
        if more and new is not None:
            users.append(_rows(new.users, data.users)[new.interactions.user])
            items.append(_rows(new.items, data.items)[new.interactions.item])
        u, i = np.concatenate(users), np.concatenate(items)
        return Ragged.from_pairs(u[u >= 0], i[u >= 0], len(data.users))

    known, facts = moved(run.known, more=True), Facts.build(data)
    old = LinearArrays(**{f.name: run.model.arrays[f.name] for f in fields(LinearArrays)})
    values = _values(run.data, run.facts, data, facts)
    chosen = {n: x for n, x in run.meta["chosen"]["weights"].items() if n != "looks"}
    weight = Marks.of(data).weights(known, Weighing(**chosen))
    made = grown(old, known, weight, facts, item, values[old.vocabulary])
    valid, test = (moved(part, more=False) for part in (run.split.valid, run.split.test))
    parts = Split(moved(run.split.train, more=False), valid, test)
    if new is not None:  # what is held out stays so
        parts = replace(parts, train=_without(moved(run.split.train, more=True), valid, test))
    version = run.version + 1
    changed = {
        "version": version,
        "users": len(data.users) - len(run.data.users),
        "items": len(data.items) - len(run.data.items),
        "interactions": known.size - run.known.size,
    }
    meta = {name: x for name, x in run.meta.items() if name != "origin"}
    meta |= {"version": version, "updates": [*run.meta.get("updates", []), changed]}
    return Run(
        data,
        parts,
        StoredModel.linear(made),
        known=known,
        config=run.config,
        seed=run.seed,
        vectors=None if run.vectors is None else _vectors(run, data, parts.train, user, item),
        metrics=run.metrics,
        history=run.history,
        meta=meta,
    )


def _rows(one: IdTable, other: IdTable) -> Rows:
    """Row of each id in the other table; -1 where it is gone."""
    return np.array([other.rows.get(i, -1) for i in one.ids], np.int64)


def _values(old: Dataset, facts: Facts, data: Dataset, now: Facts) -> Rows:
    """Value of the old facts -> its row among those of now."""
    width = max(len(data.entities), 1)
    relation, entity = (
        _rows(getattr(old, kind), getattr(data, kind)) for kind in ("relations", "entities")
    )
    there = now.relation.astype(np.int64) * width + now.attribute
    return np.searchsorted(there, relation[facts.relation] * width + entity[facts.attribute])


def _without(part: Ragged, *others: Ragged) -> Ragged:
    width = 1 + max(int(p.indices.max(initial=0)) for p in (part, *others))
    key, *gone = (p.row_of().astype(np.int64) * width + p.indices for p in (part, *others))
    keep = ~np.isin(key, np.concatenate(gone))
    return Ragged.from_pairs(part.row_of()[keep], part.indices[keep], len(part))


def _vectors(run: Run, data: Dataset, train: Ragged, user: Rows, item: Rows) -> NDArray[np.float32]:
    """The agent's node vectors; a new node has the mean of its neighbours'."""
    old, graph = np.asarray(run.vectors), Ckg.build(data, train)
    entity = _rows(run.data.entities, data.entities)
    first = len(data.users), len(data.users) + len(data.items)
    row = np.concatenate([user, item + first[0], entity + first[1]])
    row[: len(user)][user < 0] = -1
    out = np.zeros((graph.n_nodes, old.shape[1]), np.float32)
    out[row[row >= 0]] = old[row >= 0]
    fresh = np.setdiff1d(np.arange(graph.n_nodes), row)
    known = np.ones(graph.n_nodes, bool)
    known[fresh] = False
    for node in fresh.tolist():
        near = graph.adjacency.row(node)
        near = near[known[near]]
        out[node] = out[near].mean(axis=0) if len(near) else old.mean(axis=0)
    return out
