"""Co-training, the paper's system: the recommender and its agent learn in turn."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.split import Split
from cerec.errors import ConfigError
from cerec.history import Row
from cerec.recommend.base import Material, Recommender
from cerec.recommend.models import build
from cerec.recommend.newcomers import for_newcomers
from cerec.recommend.scorer import NotFinite
from cerec.runs.board import Board, drop_events
from cerec.runs.evaluate import final_figures, validation_figures
from cerec.runs.job import Job
from cerec.runs.kept import kept_of
from cerec.runs.notes import in_force, unused
from cerec.runs.run import Run
from cerec.runs.start import NUMBERLESS, fingerprint
from cerec.settings.models import find
from cerec.settings.run import RunConfig, to_toml
from cerec.settings.train import TrainConfig

if TYPE_CHECKING:
    from cerec.agent.loop import Trainer

log = logging.getLogger("cerec")


def cotrain(data: Dataset, parts: Split, job: Job, folder: Path | None, *, resume: bool) -> Run:
    """Recommender and agent, learned from the train part, and the run of them."""
    from cerec.agent.agent import WalkAgent
    from cerec.agent.loop import Trainer

    config, seed = job.config, job.seed
    facts, ckg = Facts.build(data), Ckg.build(data, parts.train)
    for words in unused(config, data, facts, job.negatives, validated=parts.valid.size > 0):
        log.warning(words)
    model = _model(config, Material(parts.train, facts, ckg, seed))
    agent = WalkAgent(config.agent, config.encoder, ckg, facts, seed=seed)
    trainer = Trainer(
        model,
        agent,
        parts.train,
        facts,
        config=config.train,
        signals=in_force(config),
        seed=seed,
        validate=lambda scorer: validation_figures(
            for_newcomers(scorer, parts.train), parts, config.train.metric
        ),
        watchers=_watchers(job),
        folder=folder / "checkpoint" if folder else None,
        negatives=job.negatives,
        stamp=fingerprint({**job.origin, "config": to_toml(_numbers(config))}),
    )
    if resume and not trainer.resume():
        log.warning(f"{folder}: nothing to resume there; starting over")
    board = _board(folder, trainer) if folder and config.train.tensorboard else None
    earlier = sum(float(row["seconds"]) for row in trainer.progress.history)
    with _telling_divergence(config), closing(board) if board else nullcontext():
        finished = trainer.run()
        scorer = for_newcomers(model.scorer(), parts.train)
    return Run(
        data,
        parts,
        kept_of(scorer, facts),
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


def _numbers(config: RunConfig) -> RunConfig:
    """The settings without those that change no number (`start.NUMBERLESS`)."""
    plain = TrainConfig()
    names = (name.removeprefix("train.") for name in NUMBERLESS)
    return replace(config, train=replace(config.train, **{n: getattr(plain, n) for n in names}))


def _board(folder: Path, trainer: Trainer) -> Board:
    """The chart of a training; of one that is resumed it is drawn again, no epoch twice."""
    drop_events(folder / "tensorboard")
    board = Board(folder / "tensorboard")
    for row in trainer.progress.history:
        board(row)
    trainer.watch(board)
    return board


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


def _watchers(job: Job) -> list[Callable[[Row], None]]:
    from cerec.agent.watch import LossWatch

    config, r = job.config, job.config.recommender
    out = [] if job.on_row is None else [job.on_row]
    if config.system is None and r.model != "climf-original":
        out.append(LossWatch(r))
    return out


def _model(config: RunConfig, material: Material) -> Recommender:
    if config.system is None:
        m = material
        return build(config.recommender, m.known, m.facts, seed=m.seed)
    name, settings = config.system
    model: Recommender = find(name).make(settings, material)
    return model
