"""What every trainable recommender offers, and what the samplers handed to it must offer.

A training loop is

    for epoch in range(n):
        loss = model.epoch(user, item, negatives, rng=rng)

with `user`, `item` the train pairs as parallel arrays in any order; the model shuffles them with
`rng`. To plug in negatives of one's own, write a class with `list_length` and `draw`:

    class Anything:
        list_length = 0

        def draw(self, user, item, context, rng):
            drawn = rng.integers(len(context.item), size=len(user), dtype=np.int32)
            known = [n in context.known.row(u) for u, n in zip(user, drawn)]
            return np.where(known, np.int32(-1), drawn)

`draw` is called once per batch with the vectors as they are then, so a sampler may score; what it
gives is checked (`cerec.recommend.asking`). One that does not look at the vectors, and is faster
for many pairs at once, may say `ahead = True`: matrix factorisation and LightGCN then ask it once
an epoch, for all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.scorer import Scorer

Rows = NDArray[np.int32]
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What a sampler may look at while it draws."""

    known: Ragged
    """User -> train items: never used as negatives."""
    facts: Facts
    user: Vectors
    """(U, d) user vectors of this moment; a view, not to be written to."""
    item: Vectors
    """(I, d) item vectors of this moment; a view."""
    lists: Rows
    """(U, K) the lists Q_u as of the start of the epoch: the K best unknown items, best first,
    -1 where there are fewer. K is the largest `list_length` asked for; 0 when nobody asks."""
    above: Ragged | None = None
    """User -> items scored above the last of the list, for models whose scores are no products of
    `user` and `item`."""


class NegativeSampler(Protocol):
    """Draws one item per train pair that the pair's item should be ranked above."""

    @property
    def list_length(self) -> int:
        """How many items of Q_u this sampler wants in `Context.lists`; 0 if it wants none."""
        ...

    def draw(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Rows:
        """One item row per pair, not known to the user; -1 where there is none (pair left out)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """What a model may be made of: nothing here knows of validation or test."""

    known: Ragged
    """User -> train items."""
    facts: Facts
    graph: Ckg
    """The graph of the train part."""
    seed: int


class EpochRecommender(Protocol):
    """A recommender that learns from train pairs, epoch by epoch."""

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """One pass over the pairs; the mean loss per pair (without the pull towards zero)."""
        ...

    def factors(self) -> tuple[Vectors, Vectors]:
        """User and item vectors of this moment: (U, d) and (I, d)."""
        ...

    def scorer(self) -> Scorer:
        """Scores as of now; the effects of values are zero, to be fitted."""
        ...

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Everything needed to go on exactly as if never stopped, optimiser included; copied."""
        ...

    def load_state(self, state: dict[str, NDArray[np.float32]]) -> None:
        """Take over a `state()` of a model of the same shape."""
        ...
