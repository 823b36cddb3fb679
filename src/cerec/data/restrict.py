"""A smaller Dataset from masks, with every row number mended."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.assemble import Raw, in_order
from cerec.data.dataset import Dataset, Planted

Mask = NDArray[np.bool_]


def restrict(
    data: Dataset,
    *,
    users: Mask | None = None,
    items: Mask | None = None,
    entities: Mask | None = None,
    relations: Mask | None = None,
    interactions: Mask | None = None,
) -> Dataset:
    """The part of `data` that the masks keep (None: all).

    Interactions and facts of a user, item, entity or relation that goes, go with it.
    """
    asked = {"users": users, "items": items, "entities": entities, "relations": relations}
    keep = {
        kind: np.ones(len(getattr(data, kind)), bool) if mask is None else mask
        for kind, mask in asked.items()
    }
    row = {kind: np.where(mask, np.cumsum(mask) - 1, -1) for kind, mask in keep.items()}
    entity = np.where(row["entities"] < 0, -1, row["entities"] + keep["items"].sum())
    node = np.concatenate([row["items"], entity])
    i, t, p = data.interactions, data.triples, data.planted
    stays = keep["users"][i.user] & keep["items"][i.item]
    stays &= True if interactions is None else interactions
    fact = (node[t.head] >= 0) & (node[t.tail] >= 0) & keep["relations"][t.relation]
    ids: dict[str, Any] = {
        kind: [getattr(data, kind).ids[k] for k in np.flatnonzero(mask).tolist()]
        for kind, mask in keep.items()
    }
    columns = {n: texts[keep["users"]].tolist() for n, texts in data.user_columns.items()}
    return in_order(
        Raw(
            name=data.name,
            **ids,
            user=row["users"][i.user[stays]],
            item=row["items"][i.item[stays]],
            rating=None if i.rating is None else i.rating[stays],
            time=None if i.time is None else i.time[stays],
            part=None if i.part is None else i.part[stays],
            head=node[t.head[fact]],
            relation=row["relations"][t.relation[fact]],
            tail=node[t.tail[fact]],
            planted=None if p is None else _planted(p, row),
            user_columns=columns,
            names={
                kind: dict(zip(table.ids, table.names, strict=True))
                for kind in keep
                for table in [getattr(data, kind)]
            },
            notes=list(data.notes),
        )
    )


def _planted(planted: Planted, row: dict[str, NDArray[np.int64]]) -> Planted:
    user, relation = row["users"][planted.user], row["relations"][planted.relation]
    attribute = row["entities"][planted.attribute]
    kept = (user >= 0) & (relation >= 0) & (attribute >= 0)
    return Planted(
        user[kept].astype(np.int32),
        relation[kept].astype(np.int32),
        attribute[kept].astype(np.int32),
        planted.sign[kept],
    )
