"""Data and what came later: one dataset of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cerec.data.assemble import Raw, assemble
from cerec.data.dataset import TRAIN, Dataset, Interactions
from cerec.data.ids import IdTable
from cerec.errors import DataError

Rows = NDArray[np.int64]


def joined(old: Dataset, new: Dataset) -> Dataset:
    """`old` with the users, items, interactions and facts of `new`, which goes by the same ids.

    An attribute of `new` is that of `old` with its id, or else the one of its relation with its
    name. A pair that both have stands twice.
    """
    users, user = _union(old.users, new.users)
    items, item = _union(old.items, new.items)
    relations, relation = _union(old.relations, new.relations, _by_name(old.relations))
    entities, entity = _union(old.entities, new.entities, _values_by_name(old, new, relation))
    if clash := next((i for i in items[len(old.items) :] if i in old.entities), None):
        raise DataError(f"item {clash!r} has the id of an attribute; give it another one")
    node = np.concatenate([item, entity + len(items)])
    known = np.arange(len(old.items) + len(old.entities))
    known[len(old.items) :] += len(items) - len(old.items)
    one, other = old.triples, new.triples
    pairs = _pairs(old.interactions, new.interactions)
    return assemble(
        Raw(
            name=old.name,
            users=users,
            items=items,
            entities=entities,
            relations=relations,
            user=np.concatenate([old.interactions.user, user[new.interactions.user]]),
            item=np.concatenate([old.interactions.item, item[new.interactions.item]]),
            head=np.concatenate([known[one.head], node[other.head]]),
            relation=np.concatenate([one.relation, relation[other.relation]]),
            tail=np.concatenate([known[one.tail], node[other.tail]]),
            rating=pairs.rating,
            time=pairs.time,
            part=pairs.part,
            planted=old.planted,
            user_columns={
                name: [*texts.tolist(), *[""] * (len(users) - len(old.users))]
                for name, texts in old.user_columns.items()
            },
            names={
                kind: dict(zip(new_.ids, new_.names, strict=True))
                | dict(zip(old_.ids, old_.names, strict=True))
                for kind in ("users", "items", "entities", "relations")
                for old_, new_ in [(getattr(old, kind), getattr(new, kind))]
            },
            notes=list(old.notes),
        )
    )


def _union(
    old: IdTable, new: IdTable, same: dict[str, str] | None = None
) -> tuple[list[str], Rows]:
    """The ids of both, those of `old` first, and the place of each of `new`; `same`: an id or name
    of `new` -> the id of `old` that is meant.
    """
    out = list(old.ids)
    row = np.empty(len(new), np.int64)
    for n, (i, name) in enumerate(zip(new.ids, new.names, strict=True)):
        if i in old:
            row[n] = old.rows[i]
        elif same and (meant := same.get(i) or same.get(name)):
            row[n] = old.rows[meant]
        else:
            row[n] = len(out)
            out.append(i)
    return out, row


def _by_name(table: IdTable) -> dict[str, str]:
    """Name -> id, of names that only one row bears."""
    once = {n for n in table.names if table.names.count(n) == 1}
    return {n: i for i, n in zip(table.ids, table.names, strict=True) if n in once}


def _values_by_name(old: Dataset, new: Dataset, relation: Rows) -> dict[str, str]:
    """Entity id of `new` -> that of `old` with its name, among the values of its relation."""
    n_items, out = len(old.items), {}
    for row, at in enumerate(relation.tolist()):
        mine = old.triples.tail[(old.triples.relation == at) & (old.triples.tail >= n_items)]
        there: dict[str, str | None] = {}
        for e in np.unique(mine - n_items).tolist():
            name = old.entities.name(e)
            there[name] = None if name in there else old.entities[e]
        tails = new.triples.tail[new.triples.relation == row] - len(new.items)
        for e in np.unique(tails[tails >= 0]).tolist():
            if meant := there.get(new.entities.name(e)):
                out[new.entities[e]] = meant
    return out


def _pairs(old: Interactions, new: Interactions) -> Interactions:
    """Both tables with the columns of the old one."""
    if len(new) == 0:
        return old
    for name in ("rating", "time"):
        if getattr(old, name) is not None and getattr(new, name) is None:
            column = "timestamp" if name == "time" else name
            raise DataError(
                f"interactions: no column {column!r}, which those of the run have; add it"
            )
    part = None if old.part is None else np.full(len(new), TRAIN, np.int8)
    new = replace(new, part=part)
    columns = [(getattr(old, c), getattr(new, c)) for c in Interactions.__slots__]
    return Interactions(*(None if a is None else np.concatenate([a, b]) for a, b in columns))  # type: ignore[arg-type]
