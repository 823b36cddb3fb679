"""What an explainer is given and what it gives back, whoever wrote it.

    method = make()                     # `registry.METHODS[name].make`
    method.fit(context)                 # learn what it needs; held-out items are not in reach
    answers = method.explain(pairs)     # one `Answer` per pair, in order

Everything is in row numbers: users and items of `context.data`, values of `context.facts` (a value
is a (relation, attribute) pair that some item has). `context.seed` is the only source of chance:
the same seed gives the same answers. An explainer claims, it does not verify: flips are checked
for all of them by `verdict.judge`, with the scores of `context.subject`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.errors import ConfigError
from cerec.explain.by_agent import Proposer
from cerec.explain.explainer import Explainer
from cerec.recommend.subject import Subject
from cerec.runs.agents import learn_agent
from cerec.settings.run import RunConfig
from cerec.walk.proposals import BeamProposer
from cerec_bench.explainers.fold_in import fold_in

Rows = NDArray[np.int32]
_NOTHING: Rows = np.zeros(0, np.int32)
_NOTHING.flags.writeable = False
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Listed items to be explained, as parallel arrays in the order of (user, rank)."""

    user: Rows
    item: Rows
    rank: Rows
    """Rank of the item in the user's list, from 1."""
    k: int
    """Length of the lists."""

    def __len__(self) -> int:
        return len(self.user)

    def by_user(self) -> Iterator[tuple[int, range]]:
        """Each user with the positions of their pairs, so that work per user is done once."""
        start = np.flatnonzero(np.diff(self.user, prepend=-1))
        for low, high in zip(start, [*start[1:], len(self)], strict=True):
            yield int(self.user[low]), range(int(low), int(high))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """What a method says of one pair. All empty: it has no explanation."""

    values: Rows = field(default_factory=lambda: _NOTHING)
    """The explanation as a set of values, the most telling first, none twice: what would turn this
    user away from the item. This is what ground truths are compared with. Empty for a method that
    names history items instead."""
    lost: Rows = field(default_factory=lambda: _NOTHING)
    """The change it means: values of the item that are taken away ..."""
    gained: Rows = field(default_factory=lambda: _NOTHING)
    """... and values the item lacks that are given to it. `touching` makes both from a set."""
    removed: Rows = field(default_factory=lambda: _NOTHING)
    """Or: train items of the user that had not been taken (PRINCE, ACCENT)."""
    counterfactual: int | None = None
    """The item named to come instead, or to be more like; None when the method names none."""
    strays: int = 0
    """Named entities that are no value at all; they count in the size, and are never right."""
    seconds: float = 0.0
    """Time for this pair; 0: an equal share of the batch's."""

    @property
    def found(self) -> bool:
        """Whether there is an explanation at all."""
        named = (self.values, self.lost, self.gained, self.removed)
        return self.strays > 0 or any(len(rows) for rows in named)

    def size(self, facts: Facts) -> int:
        """Changes it takes: within a relation, a value lost and one gained are one replacement."""
        lost, gained = (
            np.bincount(facts.relation[rows], minlength=1) for rows in (self.lost, self.gained)
        )
        width = max(len(lost), len(gained))
        lost, gained = (np.pad(n, (0, width - len(n))) for n in (lost, gained))
        return int(np.maximum(lost, gained).sum()) + len(self.removed) + self.strays


NO_ANSWER = Answer()


def touching(values: Rows, own: Rows, **more: object) -> Answer:
    """The answer of a method that names a ranked set of values and no more: those the item has
    are lost, the others gained.
    """
    held = np.isin(values, own)
    return Answer(values=values, lost=values[held], gained=values[~held], **more)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """How the unseen items stand for one user."""

    scores: NDArray[np.float64]
    effects: NDArray[np.float64]
    """Of every value of the facts; 0 for those that have none."""
    order: NDArray[np.int64]
    """Unseen items by falling score, ties in the order of the catalogue."""
    place: NDArray[np.int64]
    """(I,) where an item is in `order`; -1 for those that are never listed."""

    @classmethod
    def of(cls, subject: Subject, user: int) -> Standing:
        """The standing of a user row."""
        scores, known = subject.both(np.array([user])), subject.known.row(user)
        effects = np.zeros(subject.facts.n_values)
        effects[subject.vocabulary] = scores[1][0]
        mine = scores[0][0]
        open_to = ~np.isnan(mine)
        open_to[known] = False
        rows = np.flatnonzero(open_to)
        order = rows[np.lexsort((rows, -mine[rows]))]
        place = np.full(len(mine), -1, np.int64)
        place[order] = np.arange(len(order))
        return cls(mine, effects, order, place)

    def rank(self, item: int, score: float) -> int:
        """The item's rank had it alone this score; ties in the order of the catalogue."""
        others = self.order[self.order != item]
        theirs = self.scores[others]
        return 1 + int(((theirs > score) | ((theirs == score) & (others < item))).sum())


class Context:
    """One finished recommender with its data, without anything held out."""

    def __init__(
        self,
        data: Dataset,
        subject: Subject,
        *,
        k: int,
        seed: int,
        config: RunConfig | None = None,
        factors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
    ) -> None:
        """`config`: how CERec's agent learns. `factors`: user and item vectors, where there are."""
        self.data, self.subject, self.factors = data, subject, factors
        self.train, self.facts = subject.known, subject.facts
        self.k, self.seed = k, seed
        self.config = config or RunConfig.of(preset="paper")
        self._fitted: tuple[int, NDArray[np.float32]] | None = None
        self._standing: tuple[int, Standing] | None = None
        self.agent_seconds = 0.0
        """What learning the agent took; 0 until it has."""
        self.taken_seconds = 0.0
        """What models that a method took over from another (`shared`) had taken to learn."""
        self._shared: dict[Hashable, tuple[Any, float]] = {}

    @property
    def l2(self) -> float:
        """The recommender's, for `scores_without`."""
        return self.config.recommender.l2

    @cached_property
    def graph(self) -> Ckg:
        """The collaborative knowledge graph of train."""
        return Ckg.build(self.data, self.train)

    @cached_property
    def explainer(self) -> Explainer:
        """The product's explainer, with the agent."""
        return Explainer(self.data, self.subject, self.proposer)

    @cached_property
    def proposer(self) -> Proposer | None:
        """CERec's agent, learned with this seed around the recommender; None without epochs."""
        started = time.perf_counter()
        vectors, _ = learn_agent(self.data, self.subject, self.config, seed=self.seed)
        self.agent_seconds = time.perf_counter() - started
        c = self.config
        return None if vectors is None else BeamProposer(vectors, self.graph, c.agent, c.encoder)

    def shared(self, key: Hashable, learn: Callable[[], Made]) -> Made:
        """What `learn` gives, learned once for all methods that ask for the same `key`."""
        if key in self._shared:
            made, seconds = self._shared[key]
            self.taken_seconds += seconds
            return cast(Made, made)
        started = time.perf_counter()
        made = learn()
        self._shared[key] = made, time.perf_counter() - started
        return made

    def standing(self, user: int) -> Standing:
        """Scores, order of the unseen items and effects of all values; the last user's is kept."""
        if self._standing is None or self._standing[0] != user:
            self._standing = user, Standing.of(self.subject, user)
        return self._standing[1]

    def scores_without(self, user: int, removed: Rows) -> NDArray[np.float64]:
        """(I,) the user's scores had some train items not been taken.

        The recommender's own, where it scores histories. Else the trained user vector is moved by
        what those items do to the vector fitted to the history with item vectors fixed:
        u + fold_in(history - removed) - fold_in(history).
        """
        if len(removed) == 0:
            return self.subject.scores(np.array([user]))[0]
        history = self.train.row(user)
        left = np.setdiff1d(history, removed)
        told = self.subject.both_from([left])
        if told is not None:
            return told[0][0]
        if self.factors is None:
            raise ConfigError("a recommender without factors cannot forget items of a history")
        if self._fitted is None or self._fitted[0] != user:
            self._fitted = user, self._folded(history)
        users, items = self.factors
        vector = (users[user] + (self._folded(left) - self._fitted[1])).astype(np.float64)
        return np.asarray(items.astype(np.float64) @ vector)

    def _folded(self, liked: NDArray[np.integer]) -> NDArray[np.float32]:
        items = cast(tuple[Any, NDArray[np.float32]], self.factors)[1]
        if len(liked) == 0:
            return np.zeros(items.shape[1], np.float32)
        return fold_in(items, liked, l2=self.l2)


class Method(Protocol):
    """An explainer under comparison."""

    def fit(self, context: Context) -> None:
        """Learn, or only remember the context; called once, before any `explain`."""
        ...

    def explain(self, pairs: Pairs) -> list[Answer]:
        """One answer per pair, in order; any number of times, with equal answers."""
        ...
