"""What an explainer is given and what it gives back, whoever wrote it.

    method = make()                     # `registry.METHODS[name].make`
    method.fit(context)                 # learn what it needs; held-out items are not in reach
    answers = method.explain(pairs)     # one `Answer` per pair, in order

Everything is in row numbers: users and items of `context.data`, values of `context.facts` (a value
is a (relation, attribute) pair that some item has). `context.seed` is the only source of chance:
the same seed gives the same answers. An explainer claims, it does not verify: flips are checked
for all of them by `verdict.judge`, with the scores of `context.scorer`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cerec.agent.agent import WalkAgent
from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.base import Context as Moment
from cerec.recommend.context import lists_of
from cerec.recommend.scorer import Scorer
from cerec.rng import generator
from cerec.settings.agent import AgentConfig, EncoderConfig
from cerec_bench.explainers.fold_in import fold_in
from cerec_bench.search.explainer import Explainer
from cerec_bench.search.proposer import NeighbourProposer, Proposer, unit_rows
from cerec_bench.search.standing import Standing

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSetup:
    """How CERec's agent learns around the finished recommender."""

    agent: AgentConfig = field(default_factory=AgentConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    epochs: int = 8
    """0: no agent, the most similar items are proposed."""


class Context:
    """One finished recommender with its data, without anything held out."""

    def __init__(
        self,
        data: Dataset,
        train: Ragged,
        facts: Facts,
        scorer: Scorer,
        *,
        k: int,
        seed: int,
        l2: float = 0.03,
        setup: AgentSetup | None = None,
    ) -> None:
        """`train`: user -> known items. `l2`: of the recommender, for `scores_without`."""
        self.data, self.train, self.facts, self.scorer = data, train, facts, scorer
        self.k, self.seed, self.l2 = k, seed, l2
        self.setup = setup or AgentSetup()
        self._fitted: tuple[int, NDArray[np.float32]] | None = None
        self.agent_seconds = 0.0
        """What learning the agent took; 0 until it has."""
        self.taken_seconds = 0.0
        """What models that a method took over from another (`shared`) had taken to learn."""
        self._shared: dict[Hashable, tuple[Any, float]] = {}

    @cached_property
    def unit(self) -> NDArray[np.float32]:
        """(I, d) item vectors of length one, for similarities."""
        return unit_rows(self.scorer.item)

    @cached_property
    def graph(self) -> Ckg:
        """The collaborative knowledge graph of train."""
        return Ckg.build(self.data, self.train)

    @cached_property
    def explainer(self) -> Explainer:
        """CERec's own explainer."""
        return Explainer(self.data, self.train, self.facts, self.scorer, self.proposer)

    @cached_property
    def proposer(self) -> Proposer:
        """CERec's agent, learned with this seed around the scorer; most similar items without."""
        setup, facts = self.setup, self.facts
        if setup.epochs == 0 or facts.n_values == 0:
            return NeighbourProposer(facts, self.unit)
        started = time.perf_counter()
        agent = WalkAgent(setup.agent, setup.encoder, self.graph, facts, seed=self.seed)
        s = self.scorer
        lists = lists_of(s, self.train, setup.agent.list_length)
        moment = Moment(self.train, facts, s.user, s.item, lists)
        user, item = self.train.row_of(), self.train.indices
        for epoch in range(setup.epochs):
            agent.learn(user, item, moment, rng=generator(self.seed, f"training/agent/{epoch}"))
        self.agent_seconds = time.perf_counter() - started
        return agent.proposer()

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
        """Scores, order of the unseen items and effects of all values for a user; not kept."""
        return Standing.of(self.scorer, user, self.train.row(user))

    def scores_without(self, user: int, removed: Rows) -> NDArray[np.float64]:
        """(I,) the user's scores had some train items not been taken.

        The trained user vector is moved by what those items do to the vector fitted to the
        history with item vectors fixed: u + fold_in(history - removed) - fold_in(history).
        """
        if self.scorer.matrix is not None:
            raise ConfigError("a recommender without factors cannot forget items of a history")
        if len(removed) == 0:
            return self.scorer.scores(user)
        history = self.train.row(user)
        if self._fitted is None or self._fitted[0] != user:
            self._fitted = user, self._folded(history)
        shift = self._folded(np.setdiff1d(history, removed)) - self._fitted[1]
        vector = (self.scorer.user[user] + shift).astype(np.float64)
        return np.asarray(self.scorer.item.astype(np.float64) @ vector)

    def _folded(self, liked: NDArray[np.integer]) -> NDArray[np.float32]:
        if len(liked) == 0:
            return np.zeros(self.scorer.item.shape[1], np.float32)
        return fold_in(self.scorer.item, liked, l2=self.l2)


class Method(Protocol):
    """An explainer under comparison."""

    def fit(self, context: Context) -> None:
        """Learn, or only remember the context; called once, before any `explain`."""
        ...

    def explain(self, pairs: Pairs) -> list[Answer]:
        """One answer per pair, in order; any number of times, with equal answers."""
        ...
