"""Everything that may stand in the table, by name: how it is fitted to train and validation.

A contender sees the train part, facts, the graph of train, and one number per look: how well it
does on validation. The linear recommender chooses its settings itself and sees the validation
part. Test is not reachable from here.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.agent.agent import WalkAgent
from cerec.agent.loop import Trainer
from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.errors import ConfigError
from cerec.recommend.base import EpochRecommender, Material, NegativeSampler, Rows
from cerec.recommend.context import lists_of
from cerec.recommend.models import build
from cerec.recommend.negatives import DNS, Uniform
from cerec.recommend.newcomers import for_newcomers
from cerec.recommend.rank import lists as first_of
from cerec.recommend.scorer import Scorer
from cerec.recommend.subject import Subject
from cerec.recommend.topk import top_k_all
from cerec.runs.cotrain import signals_of
from cerec.runs.fit import fit as fit_linear
from cerec.runs.training import Training
from cerec.settings.base import parse
from cerec.settings.linear import LinearConfig
from cerec.settings.recommender import RecommenderConfig
from cerec.settings.run import LINEAR, RunConfig, preset_tables
from cerec_bench.plans.fit import FitConfig, learn
from cerec_bench.systems.chunks import spans, top_lists, top_lists_of
from cerec_bench.systems.registry import SYSTEMS, System, by_name
from cerec_bench.systems.simple.base import Train
from cerec_bench.systems.simple.table import RIVALS, Rival


class Lists(Protocol):
    """Known items of every user and K -> the K best others, of every user or of some."""

    def __call__(self, known: Ragged, k: int, users: NDArray[np.integer] | None = None) -> Rows:
        """(users, K) item rows, best first, -1 where there are fewer."""
        ...


def _of_scorer(
    scorer: Scorer, known: Ragged, k: int, users: NDArray[np.integer] | None = None
) -> Rows:
    if users is None:
        return lists_of(scorer, known, k)
    some = scorer.user[users], scorer.item, known.take(users), min(k, scorer.n_items)
    return top_k_all(*some) if scorer.matrix is None else lists_of(scorer, known, k)[users]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A contender after learning, in its best state."""

    lists: Lists
    epochs: int
    """Epochs run."""
    best_epoch: int
    timed_out: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One fit: what a contender is given."""

    params: Mapping[str, Any]
    """Settings; the others keep their defaults."""
    material: Material
    budget: FitConfig
    validate: Callable[[Lists], float]
    """The validation number of given lists, to be raised."""
    data: Dataset
    valid: Ragged
    """User -> validation items, for what chooses its settings by itself."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A row of the table."""

    title: str
    fit: Callable[[Task], Fitted]
    seeded: bool = True
    """False when nothing is drawn at random: one seed tells all."""
    note: str = ""
    configs: tuple[type, ...] = ()
    """Dataclasses whose defaults hold where a trial sets nothing."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that come before these defaults."""
    recipe: int = 1
    """Raised where the same settings are fitted in another way: older cells are then not taken."""


def settings(kind: type, params: Mapping[str, Any], where: str) -> Any:
    """An instance of a config dataclass; an unknown setting is told."""
    known = [field.name for field in dataclasses.fields(kind)]
    for name in params:
        if name not in known:
            raise ConfigError(f"{where}: unknown setting {name!r}; known: {', '.join(known)}")
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in params.items()})


def _learn(task: Task, model: EpochRecommender, negatives: NegativeSampler) -> Fitted:
    done = learn(
        model,
        task.material,
        task.budget,
        lambda m: task.validate(partial(top_lists, m)),
        negatives=negatives,
    )
    return _fitted(done, partial(top_lists, model))


def _fitted(done: Trainer, lists: Lists) -> Fitted:
    progress = done.progress
    return Fitted(lists, len(progress.history), progress.stopper.best_epoch, done.timed_out)


def _system(system: System, recipe: int = 1) -> Contender:
    def fit(task: Task) -> Fitted:
        config = settings(system.config, task.params, system.title)
        return _learn(task, system.make(config, task.material), Uniform())

    return Contender(system.title, fit, note=system.note, configs=(system.config,), recipe=recipe)


def _own(title: str, fixed: Mapping[str, Any]) -> Contender:
    """One of our recommenders without counterfactuals; `dns` > 1 draws hard negatives."""

    def fit(task: Task) -> Fitted:
        table = {**fixed, **task.params}
        candidates = table.pop("dns", 1)
        config, m = settings(RecommenderConfig, table, title), task.material
        model = build(config, m.known, m.facts, seed=m.seed)
        return _learn(task, model, Uniform() if candidates == 1 else DNS(candidates))

    return Contender(title, fit, configs=(RecommenderConfig,), fixed=fixed)


def _simple(rival: Rival) -> Contender:
    """A rival without epochs."""

    def fit(task: Task) -> Fitted:
        m = task.material
        made = rival.fit(Train.of(m.known, m.facts, m.seed), **task.params)
        return Fitted(partial(top_lists_of, made), 0, 0)

    return Contender(rival.title, fit, seeded=rival.seeded)


PAPER = "CERec (paper)"


def _linear(task: Task) -> Fitted:
    """The default of `cerec train`, as measured there: chosen on validation, learned from train."""
    known = task.material.known
    nothing = Ragged(np.zeros(len(known) + 1, np.int64), np.zeros(0, np.int32))
    config = RunConfig(model={"name": LINEAR, **task.params, "holdout": True})
    asked = Training(config, task.material.seed, {}, time.perf_counter())
    run = fit_linear(task.data, Split(known, task.valid, nothing), asked)
    return Fitted(partial(_of_subject, run.subject), 0, 0)


def _of_subject(
    subject: Subject, known: Ragged, k: int, users: NDArray[np.integer] | None = None
) -> Rows:
    who = np.arange(len(known)) if users is None else users
    k = min(k, subject.n_items)
    out = np.empty((len(who), k), np.int32)
    for places in spans(len(who), 8 * subject.n_items):
        mine = known.take(who[places])
        out[places] = first_of(subject.scores(who[places]), mine.indptr, mine.indices, k)
    return out


def _paper(task: Task) -> Fitted:
    """`cerec train --preset paper`; settings are `part.name`, a bare name is one of the
    recommender's. Data filters and split are the table's.
    """
    tables: dict[str, dict[str, Any]] = preset_tables("paper")
    for name, value in task.params.items():
        part, _, key = name.rpartition(".")
        tables.setdefault(part or "recommender", {})[key] = value
    config, m = parse(RunConfig, tables), task.material
    model = build(config.recommender, m.known, m.facts, seed=m.seed)
    agent = WalkAgent(config.agent, config.encoder, m.graph, m.facts, seed=m.seed)

    def lists(model: EpochRecommender) -> Lists:
        return partial(_of_scorer, for_newcomers(model.scorer(), m.known))

    done = learn(
        model,
        m,
        task.budget,
        lambda model: task.validate(lists(model)),
        policy=agent,
        signals=signals_of(config),
        train=config.train,
    )
    return _fitted(done, lists(model))


CONTENDERS: Mapping[str, Contender] = {
    **{name: _simple(rival) for name, rival in RIVALS.items()},
    "bpr": _own("BPR-MF", {"model": "bpr"}),
    "dns2": _own("BPR-MF, DNS 2", {"model": "bpr", "dns": 2}),
    "dns": _own("BPR-MF, DNS 4", {"model": "bpr", "dns": 4}),
    "lightgcn": _own("LightGCN", {"model": "lightgcn", "learning_rate": 0.01, "l2": 0.001}),
    **{name: _system(system) for name, system in SYSTEMS.items()},
    "mcrec": _system(SYSTEMS["mcrec"], recipe=2),  # another start than before
    "cerec-paper": Contender(PAPER, _paper, fixed=preset_tables("paper"), recipe=3),
    "linear": Contender("Linear", _linear, seeded=False, configs=(LinearConfig,), recipe=2),
}


def contender(name: str) -> Contender:
    """The contender of that name."""
    return by_name("model", name, CONTENDERS)
