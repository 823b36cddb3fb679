"""RDExp, the random explanation: what a method must beat to say anything."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.rng import generator
from cerec_bench.explainers.protocol import Answer, Context, Pairs, touching

Pool = Literal["entities", "values", "own"]


class RandomExplainer:
    """Draws distinct members of a pool, all sets of the size equally likely.

    `entities`: items and values alike, as the authors do; `values`: every value of the data;
    `own`: the values of the item itself. A pool smaller than the size is taken whole.
    """

    def __init__(self, pool: Pool, size: int = 10) -> None:
        if size < 1:
            raise ConfigError(f"a random explanation needs a size of at least 1, got {size}")
        self._pool, self._size = pool, size

    def fit(self, context: Context) -> None:
        """Remember the context."""
        self._context = context

    def explain(self, pairs: Pairs) -> list[Answer]:
        """One draw for every pair; `draw` makes others."""
        return self.draw(pairs, 0)

    def draw(self, pairs: Pairs, number: int) -> list[Answer]:
        """The draw of that number: the same for the same seed, independent of the others."""
        rng = generator(self._context.seed, f"rdexp/{self._pool}/{number}")
        own = self._context.facts.of_item
        return [self._one(own, int(item), self._size, rng) for item in pairs.item]

    def _one(self, own: Ragged, item: int, size: int, rng: np.random.Generator) -> Answer:
        held = own.row(item)
        n_values = self._context.facts.n_values
        if self._pool == "own":
            return touching(rng.choice(held, min(size, len(held)), replace=False), held)
        pool = n_values + (len(own) if self._pool == "entities" else 0)
        drawn = rng.choice(pool, min(size, pool), replace=False).astype(np.int32)
        values = drawn[drawn < n_values]  # rows above are items: named, and never right
        return touching(values, held, strays=len(drawn) - len(values))
