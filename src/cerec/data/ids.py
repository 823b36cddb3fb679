"""External ids and their row numbers, with a name for people beside each id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

from cerec.errors import DataError, UnknownIdError

_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}")


def sort_ids(ids: Iterable[str]) -> list[str]:
    """Distinct ids in the one order used everywhere: as numbers if all are numbers, else as text.

    The order depends on the set of ids alone, so permuting the rows of a file changes nothing.
    """
    distinct = set(ids)
    if all(map(_INTEGER.fullmatch, distinct)):
        return sorted(distinct, key=int)
    return sorted(distinct)


class IdTable(Sequence[str]):
    """The ids of one kind (users, items, entities, relations) in row order, and their names.

    Rows are in the order of `sort_ids`. An id without a name of its own is its own name.
    """

    def __init__(
        self, kind: str, ids: Sequence[str], names: Mapping[str, str] | Sequence[str] | None = None
    ) -> None:
        """`names`: by id, or in the order of the ids."""
        self.kind = kind
        self.ids = tuple(ids)
        if isinstance(names, Mapping):
            names = [names.get(i) or i for i in self.ids]
        self.names = tuple(names) if names else self.ids
        if len(self.names) != len(self.ids):
            raise DataError(f"{len(self.ids)} {kind} ids, but {len(self.names)} names")
        if len(set(self.ids)) != len(self.ids):
            twice = next(i for n, i in enumerate(self.ids) if self.rows[i] != n)
            raise DataError(f"{kind} id {twice!r} stands twice; ids must be distinct")

    @cached_property
    def rows(self) -> dict[str, int]:
        """Id -> row number."""
        return {i: n for n, i in enumerate(self.ids)}

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...
    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        return self.ids[row]

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __contains__(self, value: object) -> bool:
        return value in self.rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdTable) and self.ids == other.ids and self.names == other.names

    def __hash__(self) -> int:
        return hash((self.kind, self.ids))

    def __repr__(self) -> str:
        return f"IdTable({self.kind}, {len(self):,} ids)"

    def row(self, value: object) -> int:
        """The row of an id (numbers are taken as their text); near matches when unknown."""
        found = self.rows.get(value if isinstance(value, str) else str(value))
        if found is None:
            raise UnknownIdError(self.kind, str(value), self.ids)
        return found

    def name(self, row: int) -> str:
        """The name of a row, for people."""
        return self.names[row]
