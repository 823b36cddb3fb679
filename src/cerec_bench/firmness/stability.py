"""Would the answers be the same with a tenth of the interactions missing?

The settings are chosen on the split and the model is fitted to all interactions, as `cerec train`
does. Then it is fitted once more, with the same settings, without one fold of the interactions.
An answer *holds* if, in the second model, the item is listed and the same changes still take it
out. It is *the same* if the second model gives the same set of changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import split
from cerec.explain.changes.answers import Answers, Question
from cerec.explain.holds import Spread, spread
from cerec.explain.options import Options
from cerec.explain.solver import Solved, Solver
from cerec.recommend.linear.choose import choose
from cerec.recommend.linear.fit import Chosen, FitMaterial, build
from cerec.recommend.rank import ranks_after
from cerec.recommend.subject import Subject
from cerec.rng import generator
from cerec.runs.fit import everything
from cerec.runs.stored import StoredModel
from cerec.settings.linear import LinearConfig

FOLDS = 10


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Data with the settings that validation chose for it."""

    data: Dataset
    facts: Facts
    history: Ragged
    """User -> items, of all parts of the split."""
    chosen: Chosen

    @classmethod
    def of(cls, data: Dataset, *, seed: int = 0) -> World:
        """Split, and choose settings."""
        parts, facts = split(data, seed=seed), Facts.build(data)
        material = FitMaterial(parts.train, np.ones(parts.train.size), facts)
        looked = choose(material, parts.valid, dial=LinearConfig().dial)
        return cls(data, facts, everything(parts), looked.chosen)

    def subject(self, history: Ragged | None = None) -> Subject:
        """The recommender fitted to these interactions, or to all."""
        history = self.history if history is None else history
        material = FitMaterial(history, np.ones(history.size), self.facts)
        return StoredModel.linear(build(material, self.chosen)).subject(
            self.data, self.facts, history
        )

    def without(self, fold: int, *, seed: int = 0) -> Ragged:
        """The interactions but for one fold; folds are disjoint and of equal size."""
        n = self.history.size
        of = generator(seed, "stability/folds").permutation(n) % FOLDS
        keep = of != fold
        user, item = self.history.row_of()[keep], self.history.indices[keep]
        return Ragged.from_pairs(user, item, len(self.history))


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of each answer, in the order of the answers."""

    listed: NDArray[np.bool_]
    """Whether the item is still listed."""
    holds: NDArray[np.bool_]
    """Whether it is and the same changes still take it out."""
    same: NDArray[np.bool_]
    """Whether it is and the answer is the same set of changes."""


def answers_of(data: Dataset, subject: Subject, users: NDArray[np.integer], k: int = 20) -> Solved:
    """The default answers for the whole lists of users."""
    solver = Solver(data, subject)
    return solver.listed(users, solver.values(Options(k=k)), Question(k=k))


def outcome(data: Dataset, subject: Subject, solved: Solved) -> Outcome:
    """What another model of the same items and values makes of the answers."""
    a, users = solved.answers, solved.users
    scores, effects = subject.both(users)
    at = np.searchsorted(users, a.user)
    known = subject.known.take(users)
    before = scores[at, a.item]
    after = before + subject.scale[a.item] * gain_of(a, effects, at)
    ranks = [
        ranks_after(scores, known.indptr, known.indices, at, a.item.astype(np.int64), score)
        for score in (before, after)
    ]
    again = answers_of(data, subject, users, solved.k).answers
    found = {key: n for n, key in enumerate(_keys(again))}
    other = np.array([found.get(key, -1) for key in _keys(a)])
    there = other >= 0
    pairs = zip(range(len(a)), other.tolist(), strict=True)
    same = np.array([m >= 0 and changes(a, n) == changes(again, m) for n, m in pairs], bool)
    return Outcome(there, there & (ranks[1] > solved.k), same)


def gain_of(
    a: Answers, effects: NDArray[np.float64], at: NDArray[np.integer]
) -> NDArray[np.float64]:
    """What the changes of every answer add to the sum of effects."""
    row = np.repeat(np.arange(len(a)), a.size)
    user = at[row]
    gained = np.where(a.gained < 0, 0.0, effects[user, a.gained])
    lost = np.where(a.lost < 0, 0.0, effects[user, a.lost])
    return np.bincount(row, gained - lost, minlength=len(a)).astype(np.float64)


def changes(a: Answers, n: int) -> frozenset[tuple[int, int]]:
    """The changes of one answer."""
    part = slice(a.indptr[n], a.indptr[n + 1])
    return frozenset(zip(a.lost[part].tolist(), a.gained[part].tolist(), strict=True))


def _keys(a: Answers) -> list[tuple[int, int]]:
    return list(zip(a.user.tolist(), a.item.tolist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """All answers of a world's lists against fits without a tenth of the data."""

    answers: Answers
    spread: Spread
    said: NDArray[np.float64]
    outcomes: tuple[Outcome, ...]
    """One for each fold left out."""

    def pooled(self) -> tuple[Spread, NDArray[np.float64], NDArray[np.bool_]]:
        """Of answers about items that are still listed, over all folds: what their margins are
        made of, the probability said, and whether they held.
        """
        found = self.answers.status == 0
        rows = [np.flatnonzero(found & o.listed) for o in self.outcomes]
        every = np.concatenate(rows)
        held = [o.holds[n] for o, n in zip(self.outcomes, rows, strict=True)]
        return Spread(*(x[every] for x in self.spread)), self.said[every], np.concatenate(held)

    def summary(self) -> dict[str, float]:
        """Shares; `holds` and `same` of pairs listed by both."""
        found = self.answers.status == 0
        both = [found & o.listed for o in self.outcomes]
        pairs = list(zip(self.outcomes, both, strict=True))
        _, said, held = self.pooled()
        firm = said >= 0.9
        return {
            "pairs": len(found),
            "found": float(found.mean()),
            "changes": float(self.answers.size[found].mean()),
            "listed": float(np.mean([o.listed[found].mean() for o in self.outcomes])),
            "holds": float(np.mean([o.holds[n].mean() for o, n in pairs])),
            "same": float(np.mean([o.same[n].mean() for o, n in pairs])),
            "firm": float(firm.mean()),
            "firm_holds": float(held[firm].mean()) if firm.any() else float("nan"),
        }


def stability(world: World, *, users: int = 0, folds: int = 2, k: int = 20) -> Stability:
    """Answers of all users, or of so many drawn ones, judged by fits without each of the folds."""
    rows = np.arange(len(world.data.users))
    if users and users < len(rows):
        drawn = generator(0, "stability/users").choice(rows, users, replace=False)
        rows = np.sort(drawn)
    subject = world.subject()
    solved = answers_of(world.data, subject, rows, k)
    made_of = spread(Solver(world.data, subject).parts, solved.answers, k)
    outcomes = tuple(
        outcome(world.data, world.subject(world.without(fold)), solved) for fold in range(folds)
    )
    return Stability(solved.answers, made_of, solved.holds, outcomes)
