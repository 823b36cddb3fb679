"""Small worlds of values, and answers to them by plain enumeration in Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cerec.data.ragged import Ragged
from cerec.explain.changes.answers import Answers, Question, answer_asked, answer_listed
from cerec.explain.changes.values import Values, make_values


@dataclass(frozen=True)
class World:
    scores: np.ndarray  # (U, I)
    effects: np.ndarray  # (U, V)
    known: Ragged
    of_item: Ragged
    relation: np.ndarray
    several: np.ndarray
    locked: np.ndarray
    scale: np.ndarray
    min_support: int

    def listed(self, question: Question) -> Answers:
        numbers = self.known, self.scores, self.effects, self.values, question
        return answer_listed(np.arange(len(self.scores)), *numbers)

    def asked(
        self, user: np.ndarray, item: np.ndarray, question: Question, **more: np.ndarray
    ) -> Answers:
        some = np.unique(user)
        numbers = self.known, self.scores[some], self.effects[some], self.values, question
        return answer_asked(user, item, *numbers, **more)

    @property
    def values(self) -> Values:
        return make_values(
            self.of_item,
            self.relation,
            self.support,
            self.scale,
            locked=self.locked,
            several=self.several,
            min_support=self.min_support,
        )

    @property
    def support(self) -> np.ndarray:
        return np.bincount(self.of_item.indices, minlength=len(self.relation))

    def own(self, item: int) -> set[int]:
        return set(self.of_item.row(item).tolist())


def draw(seed: int, *, coarse: bool, n_items: int = 9, n_values: int = 11, users: int = 2) -> World:
    """Coarse numbers make many ties."""
    rng = np.random.default_rng(seed)
    n_relations = int(rng.integers(1, 4))
    relation = np.sort(np.append(rng.integers(0, n_relations, n_values - 1), n_relations - 1))
    pairs = rng.integers(0, [n_items, n_values], (3 * n_items, 2))
    pairs = np.unique(pairs[pairs[:, 0] != rng.integers(0, n_items)], axis=0)  # one has no values
    keep = np.concatenate([np.flatnonzero(pairs[:, 0] == i)[:4] for i in range(n_items)])
    of_item = Ragged.from_pairs(pairs[keep, 0], pairs[keep, 1], n_items)
    step = 0.5 if coarse else 2.0**-30
    spread = 3 if coarse else 2**30
    effects = rng.integers(-spread, spread + 1, (users, n_values)) * step
    scores = (
        rng.integers(-4, 5, (users, n_items)) / 2 if coarse else rng.normal(size=(users, n_items))
    )
    scores = scores * rng.choice([1, 2, 4])  # wide gaps take several changes
    scores[rng.random((users, n_items)) < 0.1] = np.nan
    row, item = np.nonzero(rng.random((users, n_items)) < 0.15)
    return World(
        scores.astype(np.float64),
        effects,
        Ragged.from_pairs(row, item, users),
        of_item,
        relation,
        rng.random(n_relations) < 0.5,
        rng.random(n_values) < 0.15,
        rng.choice([0.5, 1.0, 3.0] if coarse else [0.3, 1.0, 1.7], n_items),
        int(rng.integers(1, 3)),
    )


def ranked(world: World, user: int, scores: np.ndarray) -> list[int]:
    """Unseen items in order."""
    seen = set(world.known.row(user).tolist())
    items = [i for i in range(len(scores)) if i not in seen and scores[i] == scores[i]]
    return sorted(items, key=lambda i: (-scores[i], i))


def subsets(things: set[int]) -> Iterator[tuple[int, ...]]:
    for n in range(len(things) + 1):
        yield from itertools.combinations(sorted(things), n)


def cost(world: World, mode: str, lost: tuple[int, ...], gained: tuple[int, ...]) -> int | None:
    """Changes that lose and gain just these values; None where the mode does not allow it."""
    total = 0
    for r in {int(world.relation[v]) for v in (*lost, *gained)}:
        n = sum(world.relation[v] == r for v in lost)
        m = sum(world.relation[v] == r for v in gained)
        if (mode == "replace" and n != m) or (mode == "remove" and m):
            return None
        if mode == "any" and m > n and not world.several[r]:
            return None
        total += max(n, m)
    return total


@dataclass(frozen=True)
class Best:
    size: int
    total: float
    """What the changes add to the sum of effects."""
    sets: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """All (lost, gained) of that size and total."""


def enumerate_best(
    world: World,
    user: int,
    item: int,
    k: int,
    *,
    direction: str = "out",
    mode: str = "replace",
    only: int = -1,
    toward: int = -1,
    most: int | None = None,
    no_gain: frozenset[int] = frozenset(),
    no_loss: frozenset[int] = frozenset(),
) -> Best | None:
    """Every set of values the item might have; the cheapest that flips, the most decisive first."""
    own, relation, e = world.own(item), world.relation, world.effects[user]
    mine = {int(relation[v]) for v in own} if only < 0 else {only}
    lose = {v for v in own - no_loss if not world.locked[v] and relation[v] in mine}
    gain = {
        v
        for v in range(len(relation))
        if v not in own | no_gain
        and not world.locked[v]
        and world.support[v] >= world.min_support
        and relation[v] in mine
        and (toward < 0 or v in world.own(toward))
    }
    if mode == "remove":
        gain = set()
    sign = 1 if direction == "out" else -1
    found: dict[tuple[int, float], list[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    for lost in subsets(lose):
        for gained in subsets(gain):
            size = cost(world, mode, lost, gained)
            if not size or (most is not None and size > most):
                continue
            total = sum(float(e[v]) for v in gained) - sum(float(e[v]) for v in lost)
            scores = world.scores[user].copy()
            scores[item] = scores[item] + world.scale[item] * total
            others = [i for i in ranked(world, user, scores)[:k] if i == item]
            if (not others) == (direction == "out"):
                found.setdefault((size, sign * total), []).append((lost, gained))
    if not found:
        return None
    best = min(found)
    return Best(best[0], sign * best[1], tuple(found[best]))
