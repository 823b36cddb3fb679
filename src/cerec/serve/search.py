"""Finding users, items and values by id or by a part of their name."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def fold(text: str) -> str:
    """Text as it is compared: without case and accents (`Amélie` is found by `amelie`)."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(c for c in plain if not unicodedata.combining(c)).casefold().strip()


class Index:
    """Rows of a table by id or name. Built once, only read afterwards.

    Order of what is found: the id itself, names (or ids) that begin so, names with a word that
    begins so, names that hold it anywhere; within each by falling `weight`, then by row.
    """

    def __init__(
        self, ids: Sequence[str], names: Sequence[str], weight: NDArray[np.integer]
    ) -> None:
        self._ids = [fold(i) for i in ids]
        self._names = [fold(n) for n in names]
        self._all = np.lexsort((np.arange(len(weight)), -weight)).tolist()

    def find(self, query: str) -> list[int]:
        """Rows that match, best first; all rows by falling weight for an empty query."""
        wanted = fold(query)
        if not wanted:
            return list(self._all)
        found: tuple[list[int], ...] = ([], [], [], [])
        for row in self._all:
            place = _place(wanted, self._ids[row], self._names[row])
            if place is not None:
                found[place].append(row)
        return [row for rows in found for row in rows]


def _place(wanted: str, id_: str, name: str) -> int | None:
    if id_ == wanted:
        return 0
    if name.startswith(wanted) or id_.startswith(wanted):
        return 1
    at = name.find(wanted)
    if at < 0:
        return None
    return 2 if " " + wanted in name else 3
