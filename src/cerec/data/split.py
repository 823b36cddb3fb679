"""Train, validation and test parts of the interactions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import TEST, TRAIN, VALID, Dataset, Interactions
from cerec.data.ragged import Ragged
from cerec.errors import DataError, one_of
from cerec.rng import generator

if TYPE_CHECKING:
    from cerec.settings.data import Method, SplitConfig


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """User -> item rows for each part; the parts are disjoint."""

    train: Ragged
    valid: Ragged
    test: Ragged

    def known_before(self, part: str) -> Ragged:
        """What is masked when a part is ranked: train, and for test the validation part too."""
        if one_of("part", part, ("valid", "test")) == "valid":
            return self.train
        user = np.concatenate([self.train.row_of(), self.valid.row_of()])
        item = np.concatenate([self.train.indices, self.valid.indices])
        return Ragged.from_pairs(user, item, len(self.train))


def split(data: Dataset, config: SplitConfig | None = None, *, seed: int) -> Split:
    """Part the distinct user-item pairs of `data`.

    The answer depends on the set of pairs (and their times and parts) and on the seed, never on
    the order of rows. A pair that stands several times counts once, at its earliest time. A pair
    that stands in several given parts stays in the first of train, validation, test.
    """
    if config is None:
        from cerec.settings.data import SplitConfig

        config = SplitConfig()
    method = config.method
    table = data.interactions
    if method == "auto":
        method = "ratio" if table.part is None else "given"
    if method == "time" and table.time is None:
        raise DataError(
            f"{data.name}: split.method 'time' needs a time for every interaction and the data "
            "has none; use 'ratio' or 'leave_one_out', or load a timestamp column"
        )
    if method == "given" and table.part is None:
        raise DataError(
            f"{data.name}: split.method 'given' needs data that comes in parts (train and test "
            "files) and this came whole; use 'ratio', 'leave_one_out' or 'time'"
        )
    user, item, first = _distinct(table, len(data.items), by_part=method == "given")
    if method == "given":
        part = _given(user, table, first, len(data.users), config, seed)
    else:
        part = _drawn(user, first, table, len(data.users), method, config, seed)
    return Split(*(_part(user, item, part == p, len(data.users)) for p in (TRAIN, VALID, TEST)))


def with_parts(data: Dataset, parts: Split) -> Dataset:
    """The data with every interaction marked by its part; what is in none is left out."""
    table, width = data.interactions, max(len(data.items), 1)
    key = table.user.astype(np.int64) * width + table.item
    part = np.full(len(table), -1, np.int8)
    for code, rows in ((TRAIN, parts.train), (VALID, parts.valid), (TEST, parts.test)):
        part[np.isin(key, rows.row_of().astype(np.int64) * width + rows.indices)] = code
    keep = part >= 0
    columns = (table.user, table.item, table.rating, table.time, part)
    kept = Interactions(*(None if c is None else c[keep] for c in columns))  # type: ignore[arg-type]
    return replace(data, interactions=kept)


def _distinct(
    table: Interactions, n_items: int, *, by_part: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Distinct pairs in the order of (user, item), and the row that stands for each: the one of
    the earliest part when `by_part`, then of the earliest time.
    """
    key = table.user.astype(np.int64) * max(n_items, 1) + table.item
    if (np.diff(key) > 0).all():
        return table.user.astype(np.int64), table.item.astype(np.int64), np.arange(len(table))
    zero = np.zeros(len(table), np.int8)
    time = zero if table.time is None else table.time
    part = table.part if by_part and table.part is not None else zero
    order = np.lexsort((time, part, key))
    pairs, start = np.unique(key[order], return_index=True)
    return pairs // max(n_items, 1), pairs % max(n_items, 1), order[start]


def _place(
    user: NDArray[np.int64], key: NDArray[np.floating], n_users: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every pair: its place among its user's pairs by rising `key` (ties: the earlier row
    first), and how many pairs the user has.
    """
    order = np.lexsort((key, user))
    count = np.bincount(user, minlength=n_users)
    start = np.cumsum(count) - count
    place = np.empty(len(user), np.int64)
    place[order] = np.arange(len(user)) - start[user[order]]
    return place, count[user]


def _drawn(
    user: NDArray[np.int64],
    first: NDArray[np.int64],
    table: Interactions,
    n_users: int,
    method: Method,
    config: SplitConfig,
    seed: int,
) -> NDArray[np.int8]:
    key = generator(seed, "split/order").random(len(user))
    if method != "ratio" and table.time is not None:
        key = table.time[first]
    place, count = _place(user, key, n_users)
    if method == "leave_one_out":
        n_test, n_valid = (count > 1).astype(np.int64), (count > 2).astype(np.int64)
    else:
        n_test, n_valid = _share(count, config.test), _share(count, config.valid)
    n_test = np.minimum(n_test, count - 1)
    n_valid = np.minimum(n_valid, count - 1 - n_test)
    part = np.full(len(user), TRAIN, np.int8)
    part[place >= count - n_test - n_valid] = VALID
    part[place >= count - n_test] = TEST
    return part


def _given(
    user: NDArray[np.int64],
    table: Interactions,
    first: NDArray[np.int64],
    n_users: int,
    config: SplitConfig,
    seed: int,
) -> NDArray[np.int8]:
    if table.part is None:
        raise DataError("split.method 'given' needs data that comes in parts")
    part = table.part[first].copy()
    if config.carve == 0 or (table.part == VALID).any():
        return part
    train = np.flatnonzero(part == TRAIN)
    key = generator(seed, "split/carve").random(len(train))
    place, count = _place(user[train], key, n_users)
    n_valid = np.minimum(_share(count, config.carve), count - 1)
    part[train[place < n_valid]] = VALID
    return part


def _share(count: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """The nearest whole number to `count * share`, halves up; the small lift keeps 5 x 0.1 a half
    whatever the last bit of the product.
    """
    return np.floor(count * share + (0.5 + 1e-9)).astype(np.int64)


def _part(
    user: NDArray[np.int64], item: NDArray[np.int64], mask: NDArray[np.bool_], n_users: int
) -> Ragged:
    return Ragged.from_pairs(user[mask], item[mask], n_users)
