"""Facts out of attribute columns and triples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.data.columns import Table, encode
from cerec.data.dataset import Planted
from cerec.data.values import Reading
from cerec.errors import DataError


class FactTable:
    """Triples that grow column by column, with the entities and relations they need.

    The value `Drama` of column `genre` is the entity `genre:Drama` called "Drama", unless
    `Drama` is a listed entity. Nodes below `len(items)` are items, the others entities.
    """

    def __init__(
        self, items: Sequence[str], entities: Sequence[str], names: Mapping[str, str],
        relations: Sequence[str],
    ) -> None:  # fmt: skip
        self.items = items
        self.listed = frozenset(entities)
        self.entities = {e: n for n, e in enumerate(entities)}
        self.relations = {r: n for n, r in enumerate(relations)}
        self.names = dict(names)
        self._head: list[NDArray[np.int64]] = []
        self._relation: list[NDArray[np.int64]] = []
        self._tail: list[NDArray[np.int64]] = []

    @property
    def columns(self) -> tuple[NDArray[np.int64], ...]:
        """Head, relation and tail of all triples."""
        empty = np.zeros(0, np.int64)
        found = (self._head, self._relation, self._tail)
        return tuple(np.concatenate([empty, *parts]) for parts in found)

    def add_attributes(
        self, table: Table, rows: NDArray[np.int64], skip: Sequence[str], reading: Reading
    ) -> None:
        """A fact for every value in the columns but `skip`; `rows` are the items of the rows."""
        for name in table.frame.columns:
            if name not in skip:
                row, value = reading.cells(table, table.frame[name])
                self.add_values(name, rows[row], value)

    def add_values(self, relation: str, item: NDArray[np.int64], value: pl.Series) -> None:
        """Facts `item relation value`, aligned."""
        if not len(value):
            return
        distinct = value.unique().to_list()
        node = np.array([self._value(relation, v) for v in distinct], np.int64)
        tail = node[encode(value, distinct)] + len(self.items)
        number = self.relations.setdefault(relation, len(self.relations))
        self._append(item, np.full(len(item), number), tail)

    def _value(self, column: str, value: str) -> int:
        if value in self.listed:
            return self.entities[value]
        entity = f"{column}:{value}"
        # two columns can make the same id; the name must not depend on their order
        if entity not in self.listed:
            self.names[entity] = min(value, self.names.get(entity, value))
        return self.entities.setdefault(entity, len(self.entities))

    def add_triples(self, head: pl.Series, relation: pl.Series, tail: pl.Series) -> None:
        """Facts by id: an item's id means the item, any other id an entity."""
        item = {i: n for n, i in enumerate(self.items)}
        ids = pl.concat([head.alias("id"), tail.alias("id")])
        distinct = ids.unique().to_list()
        node = np.array([item.get(i, -1) for i in distinct], np.int64)
        for n, i in enumerate(distinct):
            if node[n] < 0:
                entity = self.entities.setdefault(i, len(self.entities))
                node[n] = len(self.items) + entity
        names = relation.unique().to_list()
        number = [self.relations.setdefault(r, len(self.relations)) for r in names]
        ends = node[encode(ids, distinct)]
        self._append(
            ends[: len(head)],
            np.array(number, np.int64)[encode(relation, names)],
            ends[len(head) :],
        )

    def _append(self, *columns: NDArray[np.int64]) -> None:
        for parts, column in zip((self._head, self._relation, self._tail), columns, strict=True):
            parts.append(column)


def read_planted(
    table: Table, users: Sequence[str], relations: Sequence[str], entities: Sequence[str]
) -> Planted:
    """The likes and dislikes of a `user,relation,attribute,sign` table."""
    sign = table.column("sign")
    if sign is None:
        raise DataError(f"{table.label}: no column 'sign'; expected 1 (like) or -1 (dislike)")
    value = table.numbers(sign).cast(pl.Int8, strict=False)
    table.refuse(~value.is_in([-1, 1]).fill_null(False), sign, "1 or -1 as sign", "mend it")
    return Planted(
        user=_known(table, "user", users),
        relation=_known(table, "relation", relations),
        attribute=_known(table, "attribute", entities),
        sign=value.to_numpy(),
    )


def _known(table: Table, column: str, known: Sequence[str]) -> NDArray[np.int32]:
    """Positions in `known` of a column of ids."""
    ids = table.ids(column)
    if not len(ids):
        return np.zeros(0, np.int32)
    position = {i: n for n, i in enumerate(known)}
    row = ids.replace_strict(position, default=-1, return_dtype=pl.Int32)
    table.refuse(row < 0, ids, f"a known {column}", "remove the row or add it to the data")
    return row.to_numpy()
