"""Small hand-made facts and pairs for the tests of this folder."""

from __future__ import annotations

import numpy as np

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged


def ragged(*rows: list[int]) -> Ragged:
    row = [r for r, entries in enumerate(rows) for _ in entries]
    flat = [e for entries in rows for e in entries]
    return Ragged.from_pairs(np.array(row, np.int32), np.array(flat, np.int32), len(rows))


def facts(of_item: list[list[int]], relation: list[int]) -> Facts:
    """Items with the given values; value v is of relation[v] and attribute v."""
    rows = ragged(*of_item)
    return Facts(
        np.array(relation, np.int32),
        np.arange(len(relation), dtype=np.int32),
        rows,
        rows.transpose(len(relation)),
    )


def random_world(seed: int, n_users: int = 12, n_items: int = 20) -> tuple[Ragged, Facts]:
    """Random train items, and items with 0 to 4 of 9 values in 3 relations."""
    rng = np.random.default_rng(seed)
    known = ragged(*[sorted(rng.choice(n_items, 5, replace=False)) for _ in range(n_users)])
    values = [sorted(rng.choice(9, rng.integers(0, 5), replace=False)) for _ in range(n_items)]
    return known, facts(values, [0, 0, 0, 1, 1, 1, 2, 2, 2])
