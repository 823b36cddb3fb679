"""What evidence is made of: the inside of a model, items and values, rows, and what comes out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerec.recommend.rank import Doubles, Ints, Longs

TOP = 3
"""Parts that are told of a score."""


class Inside(NamedTuple):
    """What a linear model knows; empty arrays where a model does not tell."""

    told: bool
    history_at: Longs
    history: Ints
    weight: Doubles
    own: Doubles  # (I,)
    popularity: Doubles  # (I,)
    pair_at: Longs
    pair: Ints
    strength: NDArray[np.float32]
    share: Doubles  # (V,)
    unit: Doubles  # (V,)


class Things(NamedTuple):
    """Items and their values."""

    at: Longs
    of_item: Ints
    scale: Doubles
    total: Doubles  # (V,) scale of all items that have the value, added up


class Rows(NamedTuple):
    """Rows `at[u]` to `at[u + 1]` belong to user u of the block; so do their changes."""

    at: Longs
    item: Ints
    change_at: Longs  # changes of each row
    gained: Ints
    through: Doubles  # what each item of the history adds by way of factors, row by row
    through_at: Longs


class Evidence(NamedTuple):
    """A row per pair. Sums are relative to the average unseen item of the user."""

    mean: Doubles  # (n,) score of that item
    usual_values: Doubles
    usual_history: Doubles
    usual_own: Doubles
    usual_popularity: Doubles
    main: NDArray[np.int8]  # the kind with the largest sum, NONE where nothing is above average
    named: Ints  # (n, 3) the largest parts of that kind, -1 for none
    kind: NDArray[np.int8]  # (n, 3) the largest parts of all kinds
    row: Ints
    part: Doubles
    held: Ints  # the user's items with the first named value; -1: counts do not carry it
    of: Ints  # items of the user
    usual: Doubles
    example: Ints  # (n, 2) items of the user that have that value, -1 for none
    change_count: Ints  # of each change, as for the first named value
    change_usual: Doubles


def blank(n: int, n_changes: int) -> Evidence:
    """Columns to be filled."""
    return Evidence(
        mean=np.zeros(n),
        usual_values=np.zeros(n),
        usual_history=np.zeros(n),
        usual_own=np.zeros(n),
        usual_popularity=np.zeros(n),
        main=np.zeros(n, np.int8),
        named=np.full((n, TOP), -1, np.int32),
        kind=np.zeros((n, TOP), np.int8),
        row=np.full((n, TOP), -1, np.int32),
        part=np.full((n, TOP), -np.inf),
        held=np.full(n, -1, np.int32),
        of=np.zeros(n, np.int32),
        usual=np.zeros(n),
        example=np.full((n, 2), -1, np.int32),
        change_count=np.full(n_changes, -1, np.int32),
        change_usual=np.zeros(n_changes),
    )
