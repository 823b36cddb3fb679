"""Settings chosen on the validation part: penalty, factors, relations, and the weights of parts.

The dial: among settings within a given share of the best NDCG@20, the one in which attributes
carry most is taken, because explanations by attributes live on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from cerec.data.ragged import Ragged
from cerec.recommend.linear.candidates import Sample, draw_sample, relation_weights
from cerec.recommend.linear.fit import Chosen, FitMaterial
from cerec.recommend.linear.folding import FactorPart, Folding
from cerec.recommend.linear.itemitem import SMALL, Pairs, cut, pairs_of
from cerec.recommend.linear.kernels import pair_sums
from cerec.recommend.linear.weighing import Weighing
from cerec.recommend.protocol import Doubles

PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)
ATTRIBUTES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.4, 2.0)
POPULARITY = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
FACTOR = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0)
RESTS, PULLS = (0.01, 0.03, 0.1, 0.3), (1.25, 2.5, 5.0, 10.0)
STARTS = ((2, 2), (1, 1))
"""Places of `rest` and `pull` of the factors that are tried; if one helps, uphill from there."""
PRIOR, DIM = 5.0, 64
LEAST = 1e-6  # weight of popularity: for people without a history it is all there is
EARNS = 0.005  # share of NDCG that factors must add to earn their place
ENTRIES, CUT = (400, 1_000), 0.003  # entries of a column tried, and the NDCG they may cost
USERS = 2_000  # of the validation part, looked at while choosing


@dataclass(frozen=True, slots=True)
class Looked:
    """What was seen while choosing."""

    chosen: Chosen
    ndcg: float
    """NDCG@20 of the chosen settings on the sample of validation users."""
    best: float
    """The best NDCG@20 of any setting."""
    attributes: float
    """How strongly attributes count beside the history: the dial."""
    curve: tuple[tuple[float, float], ...]
    """(attributes, NDCG@20) with all else as chosen."""
    looks: int
    """Settings tried on validation."""
    factors: FactorPart | None = None
    """Of the settings chosen, fitted to the same interactions."""


def choose(
    material: FitMaterial,
    held_out: Ragged,
    *,
    dial: float,
    factors: bool = True,
    sample: Sample | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Looked:
    """The settings for these interactions, by what users took later (`held_out`); `sample` of the
    same material where there is one.
    """
    looks = 0
    progress("which items go together")
    sample = sample or _sample(material, held_out)
    penalty, entries, history, tried = _penalty(material, sample)
    looks += tried
    sample = replace(sample, history=history)
    progress("what attributes say")
    relation, popular = relation_weights(sample)
    said = sample.relation @ relation
    parts = _Parts(sample, np.stack([history, said, popular * sample.popularity]))
    weights, score, tried = _search(parts, (0.2, 0.2, 0.0))
    looks += tried
    fitted = None
    if factors and min(material.matrix.shape) > 1:
        progress("factors")
        fitted, parts, weights, score, tried = _factors(material, parts, weights, score)
        looks += tried
    curve = [(x, parts.ndcg((x, *weights[1:]))) for x in ATTRIBUTES]
    looks += len(curve)
    best = max(score, *(y for _, y in curve))
    carried = max((x for x, y in curve if y >= (1.0 - dial) * best), default=weights[0])
    weights = (carried, *weights[1:])
    chosen = Chosen(
        penalty=penalty,
        entries=entries,
        popularity=max(weights[1] * popular, LEAST),
        relations={
            int(r): float(carried * w) for r, w in zip(sample.relations, relation, strict=True)
        },
        folding=fitted.settings if fitted is not None else None,
        factor=weights[2],
    )
    return Looked(chosen, parts.ndcg(weights), best, carried, tuple(curve), looks, fitted)


def choose_weights(
    make: Callable[[Weighing], FitMaterial], held_out: Ragged, turns: Iterable[list[Weighing]]
) -> tuple[Weighing, FitMaterial, Sample | None, int]:
    """What interactions count by: of each turn the first option, or another one that by history
    alone earns its place. With the material, a sample of it, and how many were tried.
    """
    chosen, sample, looks = Weighing(), None, 0
    material: FitMaterial | None = None
    for turn in turns:
        first, *others = (_both(chosen, option) for option in turn)
        chosen, material = first, material if first == chosen else None
        if not others or not held_out.size:
            continue
        material = material or make(first)
        sample = sample or _sample(material, held_out)
        best = least = _by_history(material, sample)
        looks += 1 + len(others)
        for other in others:
            made = make(other)
            score = _by_history(made, sample)
            if score > best and score >= (1.0 + EARNS) * least:
                best, chosen, material = score, other, made
    if material is None or chosen != Weighing():
        sample = None  # that of other weights
    return chosen, material or make(chosen), sample, looks


def _both(one: Weighing, other: Weighing) -> Weighing:
    """The kind of weights of the one that has some, and so its half-life."""
    kind, mean = (other.kind, other.mean) if other.kind != "none" else (one.kind, one.mean)
    return Weighing(kind, other.half_life or one.half_life, mean)


def _sample(material: FitMaterial, held_out: Ragged) -> Sample:
    return draw_sample(material, held_out, pairs_of(material.gram, PENALTIES[2]), USERS)


def _by_history(material: FitMaterial, sample: Sample) -> float:
    """NDCG@20 by the item-item ridge alone."""
    return sample.ndcg(pair_sums(material, sample, pairs_of(material.gram, PENALTIES[2])))


Weights = tuple[float, float, float]
"""Of attributes, popularity and factors, beside a history of one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """The parts of the candidates' scores that are weighed against each other."""

    sample: Sample
    table: Doubles
    """(3 or 4, c): history, attributes, popularity and, where there are some, factors."""

    def ndcg(self, weights: Weights) -> float:
        return self.sample.ndcg(self.table, (1.0, *weights)[: len(self.table)])


def _penalty(material: FitMaterial, sample: Sample) -> tuple[float, int, Doubles, int]:
    """The best penalty of the item-item ridge by history alone, how many entries a column needs,
    the parts these give, and how many settings were tried.
    """
    made: dict[float, Pairs] = {}
    found: dict[tuple[float, int], tuple[float, Doubles]] = {}

    def look(penalty: float, entries: int = 0) -> float:
        if penalty not in made:
            made.clear()  # not two of them at once
            made[penalty] = pairs_of(material.gram, penalty)
        if (penalty, entries) not in found:
            pairs = cut(made[penalty], entries) if entries else made[penalty]
            part = pair_sums(material, sample, pairs)
            found[penalty, entries] = sample.ndcg(part), part
        return found[penalty, entries][0]

    at = 2  # uphill from the middle, until both neighbours are lower
    while True:
        options = [n for n in (at, at - 1, at + 1) if 0 <= n < len(PENALTIES)]
        best = max(options, key=lambda n: look(PENALTIES[n]))
        if best == at:
            break
        at = best
    penalty, entries = PENALTIES[at], 0
    for fewer in ENTRIES if material.n_items <= SMALL else ():
        if fewer < material.n_items and look(penalty, fewer) >= (1 - CUT) * look(penalty):
            entries = fewer
            break
    return penalty, entries, found[penalty, entries][1], len(found)


def _search(parts: _Parts, start: Weights) -> tuple[Weights, float, int]:
    """Coordinate search for the weights with the best NDCG@20."""
    grids = ((2, FACTOR), (0, ATTRIBUTES), (1, POPULARITY))
    weights, score, looks = start, parts.ndcg(start), 1
    for _ in range(3):
        before = weights
        for n, grid in grids if len(parts.table) > 3 else grids[1:]:
            for value in grid:
                trial: Weights = (*weights[:n], value, *weights[n + 1 :])  # type: ignore[assignment]
                if trial == weights:
                    continue
                looks += 1
                if (now := parts.ndcg(trial)) > score:
                    weights, score = trial, now
        if weights == before:
            break
    return weights, score, looks


def _factors(
    material: FitMaterial, parts: _Parts, weights: Weights, score: float
) -> tuple[FactorPart | None, _Parts, Weights, float, int]:
    """Factors where they earn their place, with the best of a few settings."""
    found: dict[tuple[int, int], tuple[Weights, float, int]] = {}
    kept: tuple[FactorPart | None, _Parts, float] = (None, parts, score)

    def look(place: tuple[int, int]) -> float:
        nonlocal kept
        if place not in found:
            rest, pull = RESTS[place[0]], PULLS[place[1]]
            made = material.factors(Folding(min(DIM, *material.matrix.shape), rest, pull, PRIOR))
            part = _factor_part(material, parts.sample, made)
            now = _Parts(parts.sample, np.vstack([parts.table, part]))
            found[place] = _search(now, weights)
            if found[place][1] > kept[2]:
                kept = made, now, found[place][1]
        return found[place][1]

    before, at = None, max(STARTS, key=look)
    earned = look(at) >= (1.0 + EARNS) * score
    while earned and at != before:
        sides = [(at[0] + i, at[1] + j) for i, j in ((-1, 0), (1, 0), (0, -1), (0, 1))]
        inside = [p for p in sides if 0 <= p[0] < len(RESTS) and 0 <= p[1] < len(PULLS)]
        before, at = at, max([at, *inside], key=look)
    looks = sum(tried for *_, tried in found.values())
    if not earned:
        return None, parts, weights, score, looks
    return kept[0], kept[1], found[at][0], look(at), looks


def _factor_part(material: FitMaterial, sample: Sample, factors: FactorPart) -> Doubles:
    history = material.history.take(sample.users)
    weight = material.weight[material.history.positions(sample.users)]
    return sample.factors(factors.users(history, weight), factors.item)
