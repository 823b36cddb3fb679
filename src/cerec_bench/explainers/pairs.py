"""Which listed items are explained."""

from __future__ import annotations

import numpy as np

from cerec.errors import ConfigError
from cerec.rng import generator
from cerec.runs.evaluate import subject_lists
from cerec_bench.explainers.protocol import Context, Pairs


def listed_pairs(context: Context, most: int | None = None, *, seed: int = 0) -> Pairs:
    """The pairs of every user with each item of their list, or `most` of them drawn at random.

    The draw depends on `seed` alone, not on the context's: all seeds explain the same pairs.
    """
    if most is not None and most < 1:
        raise ConfigError(f"at least 1 pair must be explained, got {most}")
    lists = subject_lists(context.subject, context.train, context.k)
    place = np.flatnonzero(lists.ravel() >= 0)
    if most is not None and len(place) > most:
        drawn = generator(seed, "explanations/pairs").choice(place, most, replace=False)
        place = np.sort(drawn)
    user, rank = np.divmod(place, max(lists.shape[1], 1))
    return Pairs(
        user.astype(np.int32),
        lists.ravel()[place].astype(np.int32),
        (rank + 1).astype(np.int32),
        context.k,
    )


def positive_pairs(context: Context, most: int | None = None, *, seed: int = 0) -> Pairs:
    """Train pairs, or `most` of them drawn at random: what the paper explains. They have rank 0."""
    user, item = context.train.row_of(), context.train.indices
    if most is not None and len(user) > most:
        drawn = generator(seed, "explanations/positives").choice(len(user), most, replace=False)
        place = np.sort(drawn)
        user, item = user[place], item[place]
    return Pairs(user, item, np.zeros(len(user), np.int32), context.k)
