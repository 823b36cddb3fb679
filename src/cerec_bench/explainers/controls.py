"""Controls for the paper's table III: sets that know nothing of the user.

Each names as many values as the paper's form does for the pair, so that only which values are
named can make a difference.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from cerec.rng import generator
from cerec_bench.explainers.cerec import PaperForm
from cerec_bench.explainers.protocol import Answer, Context, Pairs, Rows, touching

Kind = Literal["random item", "by frequency", "most frequent"]


class Control:
    """Values that the item lacks: those of a random other item (all of them), drawn by how many
    items hold them, or the most frequent ones.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind, self._form = kind, PaperForm()

    def fit(self, context: Context) -> None:
        """The agent learns, whose answers say how many values to name."""
        self._context = context
        self._count = context.facts.holders.counts.astype(np.float64)
        if self._kind != "random item":
            self._form.fit(context)

    def explain(self, pairs: Pairs) -> list[Answer]:
        """One answer per pair; a pair without an answer of the paper's form has ten values."""
        rng = generator(self._context.seed, f"controls/{self._kind}")
        of_item = self._context.facts.of_item
        sizes = [10] * len(pairs)
        if self._kind != "random item":
            sizes = [len(a.values) or 10 for a in self._form.explain(pairs)]
        rows = (of_item.row(i) for i in pairs.item.tolist())
        return [touching(self._one(own, n, rng), own) for own, n in zip(rows, sizes, strict=True)]

    def _one(self, own: Rows, size: int, rng: np.random.Generator) -> Rows:
        of_item, count = self._context.facts.of_item, self._count.copy()
        if self._kind == "random item":
            other = of_item.row(int(rng.integers(len(of_item))))
            return np.setdiff1d(other, own, assume_unique=True)
        count[own] = 0.0
        size = min(size, int((count > 0).sum()))
        if self._kind == "most frequent":
            return np.argsort(-count, kind="stable")[:size].astype(np.int32)
        chance = count / count.sum()
        return rng.choice(len(count), size, replace=False, p=chance).astype(np.int32)
