"""Co-training, the paper's system: the recommender and its agent learn in turn."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cerec.checkpoint import Row
from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.split import Split
from cerec.errors import ConfigError, NotFinite
from cerec.recommend.base import EpochRecommender, Material
from cerec.recommend.context import context_of
from cerec.recommend.models import build
from cerec.recommend.newcomers import for_newcomers
from cerec.runs.evaluate import final_figures, validation_figures
from cerec.runs.run import Run
from cerec.runs.stored import stored_of
from cerec.runs.training import Training, fingerprint
from cerec.runs.unused import unused
from cerec.settings.models import find
from cerec.settings.run import RunConfig
from cerec.settings.train import SignalConfig

if TYPE_CHECKING:
    pass

log = logging.getLogger("cerec")


def cotrain(
    data: Dataset, parts: Split, job: Training, folder: Path | None, *, resume: bool
) -> Run:
    """Recommender and agent, learned from the train part, and the run of them."""
    from cerec.agent.agent import WalkAgent
    from cerec.agent.loop import Trainer
    from cerec.agent.quality import walk_quality

    config, seed = job.config, job.seed
    facts, ckg = Facts.build(data), Ckg.build(data, parts.train)
    for words in unused(config, data, facts, validated=parts.valid.size > 0):
        log.warning(words)
    model = _model(config, Material(parts.train, facts, ckg, seed))
    agent = WalkAgent(config.agent, config.encoder, ckg, facts, seed=seed)
    trainer = Trainer(
        model,
        agent,
        parts.train,
        facts,
        config=config.train,
        signals=signals_of(config),
        seed=seed,
        validate=lambda m: validation_figures(
            for_newcomers(m.scorer(), parts.train), parts, config.train.metric
        ),
        watchers=_watchers(job),
        folder=folder / "checkpoint" if folder else None,
        negatives=job.negatives,
        stamp=fingerprint(job.origin),
    )
    if resume and not trainer.resume():
        log.warning(f"{folder}: nothing to resume there; starting over")
    earlier = sum(float(row["seconds"]) for row in trainer.progress.history)
    with _telling_divergence(config):
        finished = trainer.run()
        if finished and agent.learned and facts.n_values:
            context = context_of(model, parts.train, facts, config.agent.list_length)
            trainer.progress.history[-1].update(walk_quality(agent, context))
        scorer = for_newcomers(model.scorer(), parts.train)
    return Run(
        data,
        parts,
        stored_of(scorer, facts),
        config=config,
        seed=seed,
        vectors=agent.vectors() if agent.learned else None,
        # a stopped training may continue: test is looked at when it has ended
        metrics=final_figures(scorer, parts, test=finished),
        history=trainer.progress.history,
        meta={
            "finished": finished,
            "best_epoch": trainer.progress.stopper.best_epoch,
            "seconds": round(earlier + time.perf_counter() - job.started, 2),
            "removed": job.removed,
            "origin": job.origin,
        },
    )


def signals_of(config: RunConfig) -> SignalConfig:
    """The signals learned from: no counterfactuals for a system of another package."""
    return SignalConfig(counterfactuals="none") if config.system else config.signals


@contextmanager
def _telling_divergence(config: RunConfig) -> Iterator[None]:
    """Name the setting to lower where a recommender leaves all bounds."""
    section = "recommender" if config.system is None else "model"
    settings = config.system[1] if config.system else config.recommender
    try:
        yield
    except NotFinite:
        raise ConfigError(
            "training diverged, the recommender holds no numbers any more; lower "
            f"{section}.learning_rate ({settings.learning_rate})"
        ) from None


def _watchers(job: Training) -> list[Callable[[Row], None]]:
    from cerec.agent.watch import LossWatch

    config, r = job.config, job.config.recommender
    out = [] if job.on_row is None else [job.on_row]
    if config.system is None:
        out.append(LossWatch(r))
    return out


def _model(config: RunConfig, material: Material) -> EpochRecommender:
    if config.system is None:
        m = material
        return build(config.recommender, m.known, m.facts, seed=m.seed)
    name, settings = config.system
    model: EpochRecommender = find(name).make(settings, material)
    return model
