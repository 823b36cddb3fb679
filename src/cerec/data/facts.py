"""What is known of each item: the values an explanation may change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """The vocabulary of values, one per (relation, attribute) pair that some item has.

    `director: Clint Eastwood` and `actor: Clint Eastwood` are two values of one attribute entity.
    Values are in the order of (relation, attribute).
    """

    relation: NDArray[np.int32]
    """Relation row of each value."""
    attribute: NDArray[np.int32]
    """Entity row (in `Dataset.entities`) of each value."""
    of_item: Ragged
    """Item -> values."""
    holders: Ragged
    """Value -> items."""

    @property
    def n_values(self) -> int:
        """Size of the vocabulary."""
        return len(self.relation)

    def find(self, relation: int, attribute: int) -> int | None:
        """The value of a relation row and an entity row; None if no item has it."""
        low, high = np.searchsorted(self.relation, [relation, relation + 1])
        at = int(low + np.searchsorted(self.attribute[low:high], attribute))
        return at if at < high and self.attribute[at] == attribute else None

    @staticmethod
    def build(data: Dataset) -> Facts:
        """Facts between an item and an entity; item-item and entity-entity triples stay out."""
        n_items, n_entities = len(data.items), max(len(data.entities), 1)
        triples = data.triples
        keep = (triples.head < n_items) & (triples.tail >= n_items)
        key = triples.relation[keep].astype(np.int64) * n_entities + (triples.tail[keep] - n_items)
        vocabulary, value = np.unique(key, return_inverse=True)
        of_item = Ragged.from_pairs(triples.head[keep], value.astype(np.int32), n_items)
        return Facts(
            relation=(vocabulary // n_entities).astype(np.int32),
            attribute=(vocabulary % n_entities).astype(np.int32),
            of_item=of_item,
            holders=of_item.transpose(len(vocabulary)),
        )
