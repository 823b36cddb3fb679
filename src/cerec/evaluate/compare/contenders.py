"""Everything that may stand in the table, by name: how it is fitted to train and validation.

A contender sees the train part, facts, the graph of train, and one number per look: how well it
does on validation. Test is not reachable from here.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.agent.agent import WalkAgent
from cerec.agent.config import AgentConfig
from cerec.errors import ConfigError, near_matches
from cerec.graph.encoders import EncoderConfig
from cerec.ragged import Ragged
from cerec.recommend import lines
from cerec.recommend.base import NegativeSampler, Recommender, Rows
from cerec.recommend.compared.chunks import top_lists
from cerec.recommend.compared.registry import SYSTEMS, Material, System
from cerec.recommend.config import RecommenderConfig
from cerec.recommend.context import lists_of
from cerec.recommend.models import build
from cerec.recommend.negatives import DNS, Uniform
from cerec.recommend.scorer import Scorer
from cerec.rng import generator
from cerec.training.loop import Row, TrainConfig, Trainer
from cerec.training.recommender import FitConfig, fit_recommender
from cerec.training.signals import SignalConfig


class Lists(Protocol):
    """Known items of every user and K -> the K best others, of every user or of some."""

    def __call__(self, known: Ragged, k: int, users: NDArray[np.integer] | None = None) -> Rows:
        """(users, K) item rows, best first, -1 where there are fewer."""
        ...


def _of_scorer(
    scorer: Scorer, known: Ragged, k: int, users: NDArray[np.integer] | None = None
) -> Rows:
    every = lists_of(scorer, known, k)
    return every if users is None else every[users]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A contender after learning, in its best state."""

    lists: Lists
    epochs: int
    """Epochs run."""
    best_epoch: int
    timed_out: bool = False


Fit = Callable[[Mapping[str, Any], Material, FitConfig, Callable[[Lists], float]], Fitted]


@dataclass(frozen=True, slots=True)
class Contender:
    """A row of the table."""

    title: str
    fit: Fit
    """Settings, material, how long, and the validation number of given lists -> the fitted."""
    seeded: bool = True
    """False when nothing is drawn at random: one seed tells all."""
    note: str = ""


def settings(kind: type, params: Mapping[str, Any], where: str) -> Any:
    """An instance of a config dataclass; an unknown setting is told."""
    known = [field.name for field in dataclasses.fields(kind)]
    for name in params:
        if name not in known:
            raise ConfigError(f"{where}: unknown setting {name!r}; known: {', '.join(known)}")
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in params.items()})


def _learn(
    model: Recommender,
    material: Material,
    negatives: NegativeSampler,
    fit: FitConfig,
    validate: Callable[[Lists], float],
) -> Fitted:
    made = fit_recommender(
        model,
        material.known,
        negatives,
        lambda m: validate(partial(top_lists, m)),
        fit,
        rng=generator(material.seed, "compare/fit"),
    )
    last = made.looks[-1].epoch if made.looks else 0
    return Fitted(partial(top_lists, model), last, made.best.epoch, made.timed_out)


def _system(system: System) -> Contender:
    def fit(
        params: Mapping[str, Any],
        material: Material,
        budget: FitConfig,
        validate: Callable[[Lists], float],
    ) -> Fitted:
        config = settings(system.config, params, system.title)
        return _learn(system.make(config, material), material, Uniform(), budget, validate)

    return Contender(system.title, fit, note=system.note)


def _own(title: str, fixed: Mapping[str, Any]) -> Contender:
    """One of our recommenders without counterfactuals; `dns` > 1 draws hard negatives."""

    def fit(
        params: Mapping[str, Any],
        material: Material,
        budget: FitConfig,
        validate: Callable[[Lists], float],
    ) -> Fitted:
        table = {**fixed, **params}
        candidates = table.pop("dns", 1)
        config = settings(RecommenderConfig, table, title)
        model = build(config, material.known, material.facts, seed=material.seed)
        negatives: NegativeSampler = Uniform() if candidates == 1 else DNS(candidates)
        return _learn(model, material, negatives, budget, validate)

    return Contender(title, fit)


def _line(title: str, make: Callable[..., Scorer], *, seeded: bool = False) -> Contender:
    def fit(
        params: Mapping[str, Any],
        material: Material,
        budget: FitConfig,
        validate: Callable[[Lists], float],
    ) -> Fitted:
        del budget, validate
        seed = {"seed": material.seed} if seeded else {}
        n_items = len(material.facts.of_item)
        scorer = make(material.known, n_items, material.facts.n_values, **params, **seed)
        return Fitted(partial(_of_scorer, scorer), 0, 0)

    return Contender(title, fit, seeded=seeded)


_PARTS = {
    "recommender": RecommenderConfig,
    "signals": SignalConfig,
    "agent": AgentConfig,
    "encoder": EncoderConfig,
}


def _cerec(title: str, fixed: Mapping[str, Any]) -> Contender:
    """Co-training; settings are `part.name`, a bare name is one of the recommender's."""

    def fit(
        params: Mapping[str, Any],
        material: Material,
        budget: FitConfig,
        validate: Callable[[Lists], float],
    ) -> Fitted:
        tables: dict[str, dict[str, Any]] = {part: {} for part in _PARTS}
        for name, value in {**fixed, **params}.items():
            part, _, key = name.rpartition(".")
            tables.setdefault(part or "recommender", {})[key] = value
        if set(tables) - set(_PARTS):
            raise ConfigError(f"{title}: settings are of {', '.join(_PARTS)}, got {list(tables)}")
        made = {part: settings(kind, tables[part], title) for part, kind in _PARTS.items()}
        return _co_train(made, material, budget, validate)

    return Contender(title, fit)


def _co_train(
    made: Mapping[str, Any],
    material: Material,
    budget: FitConfig,
    validate: Callable[[Lists], float],
) -> Fitted:
    m = material
    model = build(made["recommender"], m.known, m.facts, seed=m.seed)
    agent = WalkAgent(made["agent"], made["encoder"], m.graph, m.facts, seed=m.seed)
    started = time.perf_counter()

    def stop_in_time(row: Row) -> None:
        late = budget.seconds is not None and time.perf_counter() - started > budget.seconds
        if late and "ndcg@20" in row:
            raise KeyboardInterrupt  # the loop then ends in its best state, as on Ctrl-C

    trainer = Trainer(
        model,
        agent,
        m.known,
        m.facts,
        config=TrainConfig(
            epochs=budget.epochs,
            validate_every=budget.every,
            patience=budget.patience,
            metric="ndcg@20",
            agent_epochs=0,
        ),
        signals=made["signals"],
        seed=m.seed,
        validate=lambda scorer: {"ndcg@20": validate(partial(_of_scorer, scorer))},
        watchers=[stop_in_time],
    )
    finished = trainer.run()
    stopper = trainer.progress.stopper
    epochs = len(trainer.progress.history)
    return Fitted(partial(top_lists, model), epochs, stopper.best_epoch, not finished)


CONTENDERS: Mapping[str, Contender] = {
    "popularity": _line("Popularity", lines.popularity),
    "itemknn": _line("Item-kNN", lines.itemknn),
    "ease": _line("EASE", lines.ease),
    "ials": _line("iALS", lines.ials, seeded=True),
    "bpr": _own("BPR-MF", {"model": "bpr", "vectors": "id"}),
    "dns": _own("BPR-MF, DNS", {"model": "bpr", "vectors": "id", "dns": 4}),
    "lightgcn": _own("LightGCN", {"model": "lightgcn", "vectors": "id", "learning_rate": 0.01}),
    **{name: _system(system) for name, system in SYSTEMS.items()},
    "attributes": _own("BPR-MF, attributes", {"model": "bpr", "vectors": "attributes"}),
    "cerec-literal": _cerec(
        "CERec, literal",
        {"model": "climf", "vectors": "id", "signals.counterfactuals": "literal"},
    ),
    "cerec": _cerec("CERec", {}),
}


def contender(name: str) -> Contender:
    """The contender of that name; an unknown name is told with near matches."""
    if name not in CONTENDERS:
        near = near_matches(name, CONTENDERS, most=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(CONTENDERS)}"
        raise ConfigError(f"unknown model {name!r}; {hint}")
    return CONTENDERS[name]
