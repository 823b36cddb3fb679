"""Exact top-K lists for many users at once, streaming over blocks of users.

Scores are float32 matrix products; lists are made by `rank.lists`, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from cerec.data.ragged import Ragged
from cerec.recommend.base import Rows, Vectors
from cerec.recommend.rank import lists
from cerec.threads import in_order

T = TypeVar("T")
_BLOCK_BYTES = 16 << 20  # scores held at once by a thread


def top_k_all(user: Vectors, item: Vectors, known: Ragged, k: int) -> Rows:
    """The k best items unknown to each user, best first, (U, k); -1 where there are fewer."""

    def some(first: int, scores: Vectors) -> Rows:
        at = known.indptr[first : first + len(scores) + 1]
        return lists(scores, at, known.indices, k)

    return np.concatenate([np.empty((0, k), np.int32), *over_blocks(user, item, some)])


def over_blocks(user: Vectors, item: Vectors, work: Callable[[int, Vectors], T]) -> list[T]:
    """`work(first user, scores)` for one block of users after the other.

    Blocks are shared among the kernel threads, each product made by one of them: the same bits for
    any number.
    """
    size = max(16, _BLOCK_BYTES // (4 * max(len(item), 1)))
    table = np.ascontiguousarray(item.T)  # (d, I)
    firsts = range(0, len(user), size)
    return list(in_order(lambda n: work(n, user[n : n + size] @ table), firsts))
