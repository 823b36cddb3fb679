"""NeuACF and CaDSI as explainers: the last-10 important attributes, as the paper takes them.

Each learns its own recommender on the train part, a fixed number of epochs, for nothing held out
is in reach; the pairs are those of the common one. (What CaDSI's users care for rests on its
semantic vectors, which are learned first and stay as they are: it needs no epoch.) The ten values
that its user cares least for are the explanation. The paper leaves open out of which: all values
(its random explanation draws from "the item attribute space", its truth holds what users dislike
anywhere), or the item's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import EpochRecommender
from cerec.recommend.negatives import Uniform
from cerec.rng import generator
from cerec_bench.explainers.protocol import Answer, Context, Pairs, touching
from cerec_bench.systems.cadsi import CaDSI, CaDSIConfig
from cerec_bench.systems.neuacf import NeuACF, NeuACFConfig
from cerec_bench.systems.preferences import Preferring, last_important


class Model(EpochRecommender, Preferring, Protocol):
    """A recommender that tells what its users care for."""


Make = Callable[[Ragged, Facts, int], Model]
"""Train part, facts and seed -> a new model."""


def neuacf(train: Ragged, facts: Facts, seed: int) -> Model:
    """NeuACF with its default settings."""
    return NeuACF(NeuACFConfig(), train, facts, seed=seed)


def cadsi(train: Ragged, facts: Facts, seed: int) -> Model:
    """CaDSI with its default settings."""
    return CaDSI(CaDSIConfig(), train, facts, seed=seed)


class LastImportant:
    """The `size` values with the lowest preference, lowest first."""

    def __init__(self, make: Make, *, epochs: int, own: bool, size: int = 10) -> None:
        """`own`: out of the item's own values; else out of all values."""
        self._make, self._epochs, self._own, self._size = make, epochs, own, size

    def fit(self, context: Context) -> None:
        """Learn the model on the train part; both choices of values share it."""
        self._context = context
        self._model = context.shared((self._make, self._epochs), self._learned)

    def _learned(self) -> Model:
        train, seed = self._context.train, self._context.seed
        model = self._make(train, self._context.facts, seed)
        for epoch in range(self._epochs):
            rng = generator(seed, f"important/{epoch}")
            model.epoch(train.row_of(), train.indices, Uniform(), rng=rng)
        return model

    def explain(self, pairs: Pairs) -> list[Answer]:
        """Out of the item's own values they are lost; of all, what the item lacks is gained."""
        facts, out = self._context.facts, []
        everything = np.arange(facts.n_values, dtype=np.int32)
        for user, places in pairs.by_user():
            least = everything[:0]
            if not self._own:
                least = last_important(self._model, user, everything, self._size)
            for at in places:
                held = facts.of_item.row(int(pairs.item[at]))
                if self._own:
                    least = last_important(self._model, user, held, self._size)
                out.append(touching(least, held))
        return out
