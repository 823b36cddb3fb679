"""One model of experiments/helps.py: a set made ready, and the learning until validation falls."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from helps_rows import SETS, Method

from cerec.agent.agent import WalkAgent
from cerec.agent.loop import Trainer
from cerec.checkpoint import drop_checkpoint
from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.filters import apply
from cerec.data.load import load
from cerec.data.ragged import Ragged
from cerec.data.split import Split, split
from cerec.metrics import per_user
from cerec.recommend.base import Recommender
from cerec.recommend.models import build
from cerec.recommend.topk import top_k_all
from cerec.rng import generator
from cerec.settings.agent import AgentConfig, EncoderConfig
from cerec.settings.data import SplitConfig
from cerec.settings.recommender import RecommenderConfig
from cerec.settings.train import SignalConfig, TrainConfig
from cerec_bench.compare.fit import FitConfig, fit_recommender

METRICS = ("recall@20", "ndcg@20")
AGENT_EVERY = 3


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """One set, ready to learn from."""

    name: str
    data: Dataset
    parts: Split
    both: Ragged
    """Train and validation: masked when testing."""
    facts: Facts


def read(name: str, folder: Path) -> World:
    """Load, filter and split a set; the split is the same for every method and seed."""
    data, _ = apply(load(folder / name), SETS[name].filters)
    parts = split(data, SplitConfig(), seed=0)
    return World(name, data, parts, parts.known_before("test"), Facts.build(data))


def validation(world: World, factors: tuple[np.ndarray, np.ndarray]) -> float:
    """The number to raise: recall@20 + ndcg@20 on validation."""
    lists = top_k_all(*factors, world.parts.train, 20)
    values = per_user(lists, world.parts.valid, [20], ["recall", "ndcg"])
    return float(sum(np.nanmean(values[m]) for m in METRICS))


def learn(
    world: World,
    name: str,
    method: Method,
    trial: tuple[float, float],
    seed: int,
    fit: FitConfig,
    cache: Path,
) -> tuple[Recommender, dict[str, Any]]:
    """Learn one model until validation stops rising; the model, and what to keep of the way.

    Co-training takes hours on a large set: killed, it goes on from its checkpoint in `cache`.
    """
    settings = SETS[world.name]
    config = RecommenderConfig(
        model=method.model,  # type: ignore[arg-type]
        vectors=method.vectors,  # type: ignore[arg-type]
        learning_rate=trial[0],
        l2=trial[1],
        batch=settings.batch,
        swap_weight=method.weight,
        swap_known=method.known,
    )
    model = build(config, world.parts.train, world.facts, seed=seed)
    start = time.process_time()
    before = 0.0
    if method.agent:
        begun = cache / world.name / f"{slug(name)}.{seed}.{trial[0]}.{trial[1]}.begun"
        *best, before = co_train(world, model, method, seed, fit, begun)
        drop_checkpoint(begun)
    else:
        train = world.parts.train
        for epoch in range(method.warmup):
            rng = generator(seed, f"helps/warmup/{epoch}")
            model.epoch(train.row_of(), train.indices, method.start, rng=rng)
        found = fit_recommender(
            model,
            world.parts.train,
            method.negatives,
            lambda m: validation(world, m.factors()),
            fit,
            rng=generator(seed, "helps/order"),
            swaps=method.swaps,
        )
        best = [found.best.epoch, found.best.score]
    return model, {
        "learning_rate": trial[0],
        "l2": trial[1],
        "seed": seed,
        "validation": best[1],
        "epoch": best[0],
        "patience": fit.patience * fit.every,
        "allowed": fit.epochs,
        "cpu_seconds": round(before + time.process_time() - start, 1),
    }


def co_train(
    world: World, model: Recommender, method: Method, seed: int, fit: FitConfig, begun: Path
) -> tuple[int, float, float]:
    """Learn with the agent, in turn; the best epoch, its number, and seconds before a kill."""
    graph = Ckg.build(world.data, world.parts.train)
    agent = WalkAgent(
        AgentConfig(depth=method.depth),
        EncoderConfig(start=method.encoder),  # type: ignore[arg-type]
        graph,
        world.facts,
        seed=seed,
    )
    trainer = Trainer(
        model,
        agent,
        world.parts.train,
        world.facts,
        config=TrainConfig(
            epochs=fit.epochs,
            validate_every=fit.every,
            patience=fit.patience,
            warmup=method.warmup,
            agent_epochs=0,
            agent_every=AGENT_EVERY,
            checkpoint_seconds=300.0,
        ),
        signals=method.agent or SignalConfig(),
        seed=seed,
        # the trainer stops by the number of that name: hand it the one all rows are stopped by
        validate=lambda scorer: {"ndcg@20": validation(world, (scorer.user, scorer.item))},
        folder=begun,
    )
    trainer.resume()
    before = sum(float(row["seconds"]) for row in trainer.progress.history)
    if not trainer.run():
        raise SystemExit("stopped; the command goes on from the files that are there")
    return trainer.progress.stopper.best_epoch, trainer.progress.stopper.best, before


def slug(name: str) -> str:
    """A file name."""
    return "".join(c if c.isalnum() else "-" for c in name).replace("--", "-").strip("-").lower()
