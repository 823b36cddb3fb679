"""Ragged rows of row numbers in two flat arrays (the CSR layout)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct keys in order. `np.unique` hashes them first, many times slower than sorting."""
    ranked = np.sort(keys)
    fresh = np.ones(len(ranked), bool)
    np.not_equal(ranked[1:], ranked[:-1], out=fresh[1:])
    return ranked[fresh]


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """`len(self)` rows; row r is `indices[indptr[r]:indptr[r + 1]]`, sorted and without repeats."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def row(self, r: int) -> NDArray[np.int32]:
        """The entries of row r (a view)."""
        return self.indices[self.indptr[r] : self.indptr[r + 1]]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Entries per row."""
        return np.diff(self.indptr)

    @property
    def size(self) -> int:
        """Entries in all."""
        return len(self.indices)

    def row_of(self) -> NDArray[np.int32]:
        """The row number of every entry, aligned with `indices`."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.counts)

    def transpose(self, n_rows: int) -> Ragged:
        """Entry -> rows that hold it, for `n_rows` possible entries."""
        return Ragged.from_pairs(self.indices, self.row_of(), n_rows)

    def equals(self, other: Ragged) -> bool:
        """True when both hold the same rows."""
        return np.array_equal(self.indptr, other.indptr) and np.array_equal(
            self.indices, other.indices
        )

    @staticmethod
    def from_pairs(row: NDArray[np.integer], entry: NDArray[np.integer], n_rows: int) -> Ragged:
        """Rows from parallel arrays in any order; repeated pairs are kept once."""
        if len(row) == 0:
            return Ragged(np.zeros(n_rows + 1, np.int64), np.zeros(0, np.int32))
        width = int(entry.max()) + 1
        key = distinct(row.astype(np.int64) * width + entry)
        indptr = np.searchsorted(key, np.arange(n_rows + 1, dtype=np.int64) * width)
        return Ragged(indptr.astype(np.int64), (key % width).astype(np.int32))
