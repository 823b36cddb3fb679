"""From interactions and chosen settings to the model; nothing here looks at what is held out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.linear.folding import FactorPart, Folding, fit_factors, truncated_svd
from cerec.recommend.linear.gram import Gram
from cerec.recommend.linear.itemitem import Pairs, pairs_of
from cerec.recommend.linear.model import LinearArrays
from cerec.recommend.linear.values import grid_bits, only, scales, shares, unit_weights, usable
from cerec.recommend.protocol import Doubles

SUPPORT = 5  # items that must have a value before it counts


@dataclass(frozen=True, slots=True)
class Chosen:
    """What validation chose; a model is these and the interactions."""

    penalty: float = 10.0
    """Of the item-item ridge, in units of its mean diagonal."""
    entries: int = 0
    """Entries of a column of the item-item ridge at the most; 0: all of them."""
    popularity: float = 0.02
    """Weight of log(1 + users of the item)."""
    relations: dict[int, float] = field(default_factory=dict)
    """Relation row -> weight of its values."""
    folding: Folding | None = None
    factor: float = 0.0
    """Weight of the factors."""


class FitMaterial:
    """Interactions and facts, and what is made of them once for all settings."""

    def __init__(self, history: Ragged, weight: Doubles, facts: Facts) -> None:
        self.history, self.weight, self.facts = history, weight, facts
        self.n_items = len(facts.of_item)
        keep = usable(facts, SUPPORT)
        self.left_out = int(np.sum((facts.holders.counts > 0) & ~keep))
        """Values that too few items have."""
        self.vocabulary = np.flatnonzero(keep).astype(np.int32)
        self.relation = facts.relation[self.vocabulary]
        place = np.cumsum(keep, dtype=np.int32) - 1
        kept = only(facts.of_item, keep)
        self.of_item = Ragged(kept.indptr, place[kept.indices])
        self.share = shares(history, weight, self.of_item, len(self.vocabulary))
        self.scale = scales(self.of_item)
        self.count = np.bincount(history.indices, weights=weight, minlength=self.n_items)

    @cached_property
    def gram(self) -> Gram:
        """Users in common, of all pairs of items."""
        return Gram.build(self.history, self.weight, self.n_items)

    @cached_property
    def matrix(self) -> sp.csr_matrix:
        """(U, I) interactions."""
        shape = len(self.history), self.n_items
        return sp.csr_matrix((self.weight, self.history.indices, self.history.indptr), shape=shape)

    @cached_property
    def values(self) -> sp.csr_matrix:
        """(I, V) facts, scaled."""
        data = np.repeat(self.scale, self.of_item.counts)
        shape = self.n_items, len(self.vocabulary)
        return sp.csr_matrix((data, self.of_item.indices, self.of_item.indptr), shape=shape)

    @cached_property
    def start(self) -> Doubles:
        """Where the factors start, 64 wide where the data allow it."""
        return truncated_svd(self.matrix, min(64, *self.matrix.shape))

    def factors(self, folding: Folding) -> FactorPart:
        """The factors of these settings."""
        return fit_factors(self.matrix, self.values, self.start[:, : folding.dim], folding)

    def unit(self, relations: dict[int, float]) -> Doubles:
        """(V,) weight of one item above the usual count."""
        of_relation = np.zeros(int(self.facts.relation.max(initial=0)) + 1)
        for relation, weight in relations.items():
            of_relation[relation] = weight
        return of_relation[self.relation] * unit_weights(self.share)

    def popularity(self) -> Doubles:
        """(I,) of every item, before it is weighed."""
        return np.log1p(self.count)


def build(
    material: FitMaterial,
    chosen: Chosen,
    *,
    pairs: Pairs | None = None,
    factors: FactorPart | None = None,
) -> LinearArrays:
    """The model of these settings; parts made before may be handed in."""
    m = material
    pairs = pairs_of(m.gram, chosen.penalty, chosen.entries) if pairs is None else pairs
    if factors is None and chosen.folding is not None and chosen.factor > 0:
        factors = m.factors(chosen.folding)
    if factors is None:
        none = Folding(0, 0.0, 1.0, 0.0)
        shapes = (m.n_items, 0), (len(m.vocabulary), 0), (0, 0)
        item, value, gram = map(np.zeros, shapes)
        factors = FactorPart(item, value, none, gram)
    taken = m.count > 0
    common, own = split_popularity(m.values, chosen.popularity * m.popularity(), taken)
    unit = m.unit(chosen.relations)
    f = factors.settings
    return LinearArrays(
        history_ptr=m.history.indptr,
        history=m.history.indices,
        weight=m.weight,
        own=own,
        common=common,
        pair_ptr=pairs.targets.indptr,
        pair=pairs.targets.indices,
        strength=pairs.strength,
        vocabulary=m.vocabulary,
        value_ptr=m.of_item.indptr,
        value=m.of_item.indices,
        scale=m.scale,
        share=m.share,
        unit=unit,
        item_vector=factors.item,
        value_vector=factors.value,
        gram=factors.gram,
        factor=np.array([chosen.factor, f.rest, f.pull]),
        bits=np.array([_bits(m, unit, common, chosen.factor, factors)]),
    )


def split_popularity(
    values: sp.csr_matrix, base: Doubles, taken: NDArray[np.bool_]
) -> tuple[Doubles, Doubles]:
    """(V,) what the values explain of popularity, by ridge around its mean over the items that
    somebody took, and (I,) the rest; the others have the mean of it.
    """
    mean = float(base[taken].mean()) if taken.any() else 0.0
    if values.shape[1] == 0 or not base.any():
        return np.zeros(values.shape[1]), np.where(taken, base, mean)
    damp = np.sqrt(5.0)
    found = sp.linalg.lsqr(values[taken], base[taken] - mean, damp=damp, iter_lim=200)[0]
    own = base - values @ found
    return found, np.where(taken, own, own[taken].mean())


def _bits(
    m: FitMaterial, unit: Doubles, common: Doubles, factor: float, factors: FactorPart
) -> int:
    """For effects of histories up to sixteen times the longest one here."""
    longest = 16.0 * max(float(m.weight.max(initial=1.0) * m.history.counts.max(initial=1)), 1.0)
    through = 0.0
    if factors.item.shape[1]:
        lengths = np.linalg.norm(factors.value, axis=1).max(initial=0.0)
        # the vector of n items is no worse than none, whose loss is n: |U|^2 is at most n / pull
        through = factor * float(lengths) * np.sqrt(longest / factors.settings.pull)
    everybody = float(np.abs(common).max(initial=0.0))
    counted = float(np.abs(unit).max(initial=0.0)) * np.sqrt(longest)
    return grid_bits(counted + everybody + through + 1e-6)
