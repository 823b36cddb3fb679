"""The smallest change set by trying all of them, smallest first: for scores of any kind.

Slow and plain. It serves recommenders whose score is not additive in the values, and checks
the compiled search in tests and benchmarks, with which it shares no code.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Literal

Values = tuple[int, ...]
Flips = Callable[[Values, Values], bool]
"""Whether losing the first values and gaining the second flips the item."""


@dataclass(frozen=True, slots=True)
class Found:
    """A change set that flips: `minimum` if every smaller one was tried, else `irreducible`."""

    lost: Values
    gained: Values
    certificate: Literal["minimum", "irreducible"]


class OutOfTime(Exception):
    """The budget ended before any set that flips was found."""


def change_sets(
    lose: Sequence[Sequence[int]], gain: Sequence[Sequence[int]], size: int
) -> Iterator[tuple[Values, Values]]:
    """Every set of exactly `size` changes: values lost and gained, over relations in parallel.

    Within a relation, n losses and g gains are max(n, g) changes.
    """
    if not lose:
        if size == 0:
            yield (), ()
        return
    for here in range(min(size, max(len(lose[0]), len(gain[0]))) + 1):
        for n, g in _shapes(here, len(lose[0]), len(gain[0])):
            for lost in combinations(lose[0], n):
                for gained in combinations(gain[0], g):
                    for more_lost, more_gained in change_sets(lose[1:], gain[1:], size - here):
                        yield lost + more_lost, gained + more_gained


def _shapes(size: int, n_lose: int, n_gain: int) -> Iterator[tuple[int, int]]:
    """Numbers of losses and gains that make `size` changes of one relation."""
    for n in range(min(size, n_lose) + 1):
        for g in range(min(size, n_gain) + 1):
            if max(n, g) == size:
                yield n, g


def smallest(
    lose: Sequence[Sequence[int]],
    gain: Sequence[Sequence[int]],
    flips: Flips,
    *,
    limit: int | None = None,
    deadline: float | None = None,
) -> Found | None:
    """The smallest change set that flips, or None when none of at most `limit` changes does.

    Past the deadline (of `time.monotonic`) the full set is thinned out instead, one value at a
    time, to a set of which nothing can be left out; OutOfTime when the full set does not flip or
    that set is over the limit.
    """
    most = sum(max(len(a), len(b)) for a, b in zip(lose, gain, strict=True))
    limit = most if limit is None else min(limit, most)
    for size in range(1, limit + 1):
        for lost, gained in change_sets(lose, gain, size):
            if flips(lost, gained):
                return Found(lost, gained, "minimum")
            if deadline is not None and time.monotonic() > deadline:
                return _thinned(lose, gain, flips, limit)
    return None


def _thinned(
    lose: Sequence[Sequence[int]], gain: Sequence[Sequence[int]], flips: Flips, limit: int
) -> Found:
    """The full set without every value that it can spare, taken out in order."""
    lost, gained = tuple(chain(*lose)), tuple(chain(*gain))
    if not flips(lost, gained):
        raise OutOfTime
    spared = True
    while spared:  # leaving one out may make another superfluous
        spared = False
        for value in lost + gained:
            fewer = _without(lost, value), _without(gained, value)
            if flips(*fewer):
                (lost, gained), spared = fewer, True
    if size_of(lose, gain, lost, gained) > limit:
        raise OutOfTime
    return Found(lost, gained, "irreducible")


def size_of(
    lose: Sequence[Sequence[int]], gain: Sequence[Sequence[int]], lost: Values, gained: Values
) -> int:
    """Number of changes that lose and gain these values."""
    return sum(
        max(len(set(a) & set(lost)), len(set(b) & set(gained)))
        for a, b in zip(lose, gain, strict=True)
    )


def _without(values: Values, value: int) -> Values:
    return tuple(v for v in values if v != value)
