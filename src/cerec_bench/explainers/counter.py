"""CountER (Tan et al., 2021), carried over from item aspects to the values an item has.

Each value v of the item is taken away by an amount d_v in [0, 1] (0: there, 1: gone), found by
gradient descent on

    |d|_2 + gamma |d|_1 + lambda max(0, alpha + s(d) - s_{k+1})

s(d) is the recommender's own score with the values weighted by 1 - d, a weighted sum, so the
gradient is exact; s_{k+1} is the score of the first item after the list. Scores are divided by
the standard deviation of the user's scores, for alpha is meant for scores of a fixed range. From
random amounts, the step with the least loss is kept. The explanation is what has d above a tenth,
or else the largest alone; where even the kept step has not passed s_{k+1} there is none. B pairs, n
most values of an item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.errors import ConfigError
from cerec.rng import generator
from cerec_bench.explainers.protocol import NO_ANSWER, Answer, Context, Pairs

Array = NDArray[np.float64]
_BATCH = 256
_TINY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterConfig:
    """The weights and steps of the paper."""

    trade: float = 200.0
    """lambda: what it costs to stay in the list."""
    sparse: float = 1.0
    """gamma: what each amount costs."""
    margin: float = 0.05
    """alpha: by how much the item must fall short, in standard deviations of the user's scores."""
    rate: float = 0.01
    """Step of the descent."""
    steps: int = 1000
    """Steps of the descent."""
    threshold: float = 0.1
    """Amounts above it make the explanation."""

    def __post_init__(self) -> None:
        if min(self.trade, self.rate, self.steps) <= 0 or min(self.sparse, self.margin) < 0:
            raise ConfigError(
                "counter needs trade, rate, steps > 0 and sparse, margin >= 0, got "
                f"{self.trade}, {self.rate}, {self.steps}, {self.sparse}, {self.margin}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """Pairs side by side: what their values are worth and how far they stand above the cut-off."""

    effect: Array
    """(B, n) effects of the item's values, in standard deviations; 0 beyond its last."""
    there: Array
    """(B, n) 1 for values, 0 beyond."""
    gap: Array
    """(B,) score less cut-off, in the same unit."""

    def passed(self, amount: Array) -> tuple[Array, Array]:
        """s(d) - s_{k+1} (B,), and its gradient (B, n)."""
        return self.gap - (self.effect * amount * self.there).sum(1), -self.effect * self.there


def loss(relaxed: Relaxed, amount: Array, config: CounterConfig) -> tuple[Array, Array, Array]:
    """Loss (B,), its gradient (B, n), and s(d) - s_{k+1} (B,)."""
    length = np.sqrt((amount**2).sum(1))
    behind, slope = relaxed.passed(amount)
    hinge = np.maximum(config.margin + behind, 0)
    value = length + config.sparse * amount.sum(1) + config.trade * hinge
    gradient = amount / np.maximum(length, _TINY)[:, None] + config.sparse
    gradient += config.trade * (hinge > 0)[:, None] * slope
    return value, gradient * relaxed.there, behind


def descend(
    relaxed: Relaxed, config: CounterConfig, rng: np.random.Generator
) -> tuple[Array, NDArray[np.bool_]]:
    """The amounts (B, n) with the least loss met on the way, and whether they pass the cut-off."""
    amount = rng.random(relaxed.effect.shape) * relaxed.there
    best = np.full(len(amount), np.inf)
    kept, done = amount.copy(), np.zeros(len(amount), bool)
    for _ in range(config.steps):
        value, gradient, behind = loss(relaxed, amount, config)
        better = value < best
        best[better], kept[better], done[better] = (
            value[better],
            amount[better],
            behind[better] < 0,
        )
        amount = np.clip(amount - config.rate * gradient, 0, 1)
    return kept, done


class CountER:
    """CountER as an explainer of values."""

    def __init__(self, config: CounterConfig | None = None) -> None:
        self._config = config or CounterConfig()

    def fit(self, context: Context) -> None:
        """Remember the context."""
        self._context = context

    def explain(self, pairs: Pairs) -> list[Answer]:
        """Values lost, the largest amounts first."""
        rng = generator(self._context.seed, "counter")
        return [
            answer
            for start in range(0, len(pairs), _BATCH)
            for answer in self._batch(pairs, range(start, min(start + _BATCH, len(pairs))), rng)
        ]

    def _batch(self, pairs: Pairs, places: range, rng: np.random.Generator) -> list[Answer]:
        of_item = self._context.facts.of_item
        relaxed = self._relax(pairs, places)
        amount, done = descend(relaxed, self._config, rng)
        out = []
        for b, at in enumerate(places):
            own = of_item.row(int(pairs.item[at]))
            order = np.argsort(-amount[b, : len(own)], kind="stable")
            n = int((amount[b, : len(own)] > self._config.threshold).sum())
            found = own[order[: max(n, 1)]]
            out.append(Answer(values=found, lost=found) if done[b] and len(own) else NO_ANSWER)
        return out

    def _relax(self, pairs: Pairs, places: range) -> Relaxed:
        context = self._context
        of_item = context.facts.of_item
        items = pairs.item[places.start : places.stop]
        width = max(int(of_item.counts[items].max(initial=0)), 1)
        effect, there = np.zeros((len(places), width)), np.zeros((len(places), width))
        gap = np.full(len(places), np.inf)
        user, standing, spread = -1, None, 1.0
        for b, at in enumerate(places):
            if standing is None or pairs.user[at] != user:
                user = int(pairs.user[at])
                standing = context.standing(user)
                spread = float(standing.scores[standing.order].std()) or 1.0
            item, own = int(items[b]), of_item.row(int(items[b]))
            there[b, : len(own)] = 1
            effect[b, : len(own)] = context.subject.scale[item] * standing.effects[own] / spread
            if pairs.k < len(standing.order):
                rival = standing.scores[standing.order[pairs.k]]
                gap[b] = float(standing.scores[item] - rival) / spread
        return Relaxed(effect, there, gap)
