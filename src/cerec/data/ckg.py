"""The collaborative knowledge graph of the train part, as compact arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Ckg:
    """Nodes: users, then items, then other entities. Only train interactions are edges."""

    n_users: int
    n_items: int
    n_entities: int
    adjacency: Ragged
    """Node -> neighbours; undirected, simple, without loops."""
    weight: NDArray[np.float32]
    """`1 / sqrt(degree(e) degree(e'))` for every entry of `adjacency`."""
    attributes: Ragged
    """Item row -> entity rows it has a fact with (the walk's first step)."""
    items_of: Ragged
    """Entity row -> item rows that have a fact with it (the second step)."""
    head: NDArray[np.int32]
    relation: NDArray[np.int32]
    tail: NDArray[np.int32]
    """Typed edges in the order of their heads: relation 0 is `interact` (user -> item), r + 1 is
    relation r of the data. Two nodes may have several."""

    @property
    def n_nodes(self) -> int:
        """Users, items and other entities together."""
        return self.n_users + self.n_items + self.n_entities

    @staticmethod
    def build(data: Dataset, train: Ragged) -> Ckg:
        """The graph of `train` (user -> items) and all facts of `data`, nothing else: what was
        held out of `train` cannot enter, whatever `data.interactions` holds.
        """
        n_users, n_items, n_entities = len(data.users), len(data.items), len(data.entities)
        _check(train, n_users, n_items)
        fact = data.triples
        head = np.concatenate([train.row_of(), fact.head + np.int32(n_users)])
        relation = np.concatenate([np.zeros(train.size, np.int32), fact.relation + np.int32(1)])
        tail = np.concatenate([train.indices, fact.tail]) + np.int32(n_users)
        proper = head != tail
        ends = np.concatenate([head[proper], tail[proper]])
        others = np.concatenate([tail[proper], head[proper]])
        adjacency = Ragged.from_pairs(ends, others, n_users + n_items + n_entities)
        scale = 1.0 / np.sqrt(np.maximum(adjacency.counts, 1))
        keep = (fact.head < n_items) & (fact.tail >= n_items)
        attributes = Ragged.from_pairs(fact.head[keep], fact.tail[keep] - n_items, n_items)
        return Ckg(
            n_users=n_users,
            n_items=n_items,
            n_entities=n_entities,
            adjacency=adjacency,
            weight=(scale[adjacency.row_of()] * scale[adjacency.indices]).astype(np.float32),
            attributes=attributes,
            items_of=attributes.transpose(n_entities),
            head=head,
            relation=relation,
            tail=tail,
        )


def _check(train: Ragged, n_users: int, n_items: int) -> None:
    if len(train) != n_users or (train.size and int(train.indices.max()) >= n_items):
        raise DataError(
            f"train has {len(train):,} users and items up to row {train.indices.max(initial=-1)}, "
            f"the data {n_users:,} users and {n_items:,} items: split this dataset, not another"
        )
