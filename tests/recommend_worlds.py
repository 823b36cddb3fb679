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


def rank_of(scores: np.ndarray, item: int, seen: np.ndarray) -> int:
    """1 plus the number of other unseen items that come before `item`.

    The one rule for ties: equal scores keep the order of the catalogue.
    """
    ahead = scores > scores[item]
    ahead[:item] |= scores[:item] == scores[item]
    ahead[seen] = False
    ahead[item] = False
    return 1 + int(ahead.sum())


def top_k(scores: np.ndarray, k: int, seen: np.ndarray) -> np.ndarray:
    """The first k unseen items by falling score, ties in catalogue order; fewer if fewer exist."""
    masked = scores.copy()
    masked[seen] = -np.inf
    k = min(k, len(scores) - len(seen))
    if k <= 0:
        return np.zeros(0, np.int64)
    cut = np.partition(masked, len(masked) - k)[len(masked) - k]
    rows = np.flatnonzero(masked >= cut)
    rows = rows[np.lexsort((rows, -masked[rows]))]
    return rows[:k]
