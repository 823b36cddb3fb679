"""The whole pipeline on one page: data -> graph -> recommender and agent -> run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cerec.checkpoint import drop_checkpoint
from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.filters import apply
from cerec.data.ragged import Ragged
from cerec.data.split import Split, split
from cerec.errors import ConfigError, DataError
from cerec.explain.flips import flip_test
from cerec.history import Row
from cerec.recommend.adapters import with_effects
from cerec.recommend.asking import described, list_length
from cerec.recommend.base import Material, NegativeSampler, Recommender
from cerec.recommend.models import build
from cerec.recommend.newcomers import for_newcomers
from cerec.recommend.scorer import NotFinite
from cerec.runs.board import Board, drop_events, writer
from cerec.runs.evaluate import final_figures, validation_figures
from cerec.runs.lock import held
from cerec.runs.notes import idle, in_force
from cerec.runs.run import Run, open_run
from cerec.runs.start import NUMBERLESS, fingerprint, prepare
from cerec.settings.models import find
from cerec.settings.run import RunConfig, to_toml
from cerec.settings.train import SignalConfig, TrainConfig
from cerec.threads import training_threads

if TYPE_CHECKING:
    from cerec.agent.loop import Trainer

log = logging.getLogger("cerec")


@training_threads()
def train(
    data: Dataset,
    config: RunConfig | None = None,
    *,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    on_row: Callable[[Row], None] | None = None,
    negatives: NegativeSampler | None = None,
) -> Run:
    """Train a recommender and its agent on `data`.

    With `out`, the run is written there and training leaves checkpoints, so that a killed one
    goes on with `resume=True` and ends with the same numbers. An interrupt (Ctrl-C) ends with
    the best recommender so far. A sampler of one's own (`negatives`) takes the place of the
    ordinary negatives that `config.signals` names. `on_row` is given the history's row of every
    epoch and in it `until`, where the phase ends if validation finds nothing better.

    Nothing held out enters graph, sampler or stopping: validation decides when to stop, test is
    looked at once, at the end.
    """
    config = config or RunConfig()
    seed = checked("train", data, config, seed)
    config = config.resolved()
    _refuse_strange(config, out, on_row)
    if resume and force:
        raise ConfigError("resume=True goes on, force=True begins anew; give one of the two")
    if resume and out is None:
        raise ConfigError("resume=True goes on from a checkpoint; name its folder, out=")
    started = time.perf_counter()
    begun = {"data": data.fingerprint, "config": to_toml(config), "seed": seed}
    if negatives is not None:
        list_length(negatives)  # refuses what is no sampler
        begun["negatives"] = described(negatives)
    data, removed = apply(data, config.filters)
    parts = split(data, config.split, seed=seed)
    if parts.train.size == 0:
        raise DataError(f"{data.name}: no interactions are left to learn from; filter less")
    _refuse_full_lists(config.train.metric, len(data.items))
    asked = _Asked(config, seed, begun, [str(r) for r in removed], started, on_row, negatives)
    if out is None:
        return _learn(data, parts, asked, None, resume=False)
    folder = Path(out)
    with held(folder):
        if prepare(folder, begun, resume=resume, force=force):
            return open_run(folder)
        return _learn(data, parts, asked, folder, resume=resume)


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What one training was asked for."""

    config: RunConfig
    seed: int
    begun: dict[str, Any]
    removed: list[str]
    started: float
    on_row: Callable[[Row], None] | None
    negatives: NegativeSampler | None


def _learn(data: Dataset, parts: Split, asked: _Asked, folder: Path | None, *, resume: bool) -> Run:
    """Recommender and agent, learned from the train part; the run of them, written to a folder."""
    from cerec.agent.agent import WalkAgent
    from cerec.agent.loop import Trainer

    config, seed = asked.config, asked.seed
    facts, ckg = Facts.build(data), Ckg.build(data, parts.train)
    if config.agent.reward == "verified" and facts.n_values == 0:
        raise DataError(
            f"{data.name}: no item has an attribute to change, so agent.reward = 'verified' has "
            "nothing to verify; add item facts, or set agent.reward = 'all'"
        )
    for words in idle(config, data, facts, asked.negatives, validated=parts.valid.size > 0):
        log.warning(words)
    signals = in_force(config, facts)
    model = _model(config, Material(parts.train, facts, ckg, seed))
    flip = flip_test(facts, config.agent.list_length)
    agent = WalkAgent(config.agent, config.encoder, ckg, facts, seed=seed, flip=flip)
    trainer = Trainer(
        model,
        agent,
        parts.train,
        facts,
        config=config.train,
        signals=signals,
        seed=seed,
        validate=lambda scorer: validation_figures(
            for_newcomers(scorer, parts.train), parts, config.train.metric
        ),
        watchers=_watchers(asked, signals, parts.train),
        folder=folder / "checkpoint" if folder else None,
        negatives=asked.negatives,
        stamp=fingerprint({**asked.begun, "config": to_toml(_numbers(config))}),
    )
    if resume and not trainer.resume():
        log.warning(f"{folder}: nothing to resume there; beginning anew")
    board = _board(folder, trainer) if folder and config.train.tensorboard else None
    earlier = sum(float(row["seconds"]) for row in trainer.progress.history)
    with _telling_divergence(config), closing(board) if board else nullcontext():
        finished = trainer.run()
        scorer = for_newcomers(model.scorer(), parts.train)
    scorer = with_effects(scorer, facts, seed=seed)
    run = Run(
        data,
        parts,
        scorer,
        config=config,
        seed=seed,
        vectors=agent.vectors() if agent.learned else None,
        # what was stopped may be gone on with: test is looked at when it has ended
        metrics=final_figures(scorer, parts, test=finished),
        history=trainer.progress.history,
        meta={
            "finished": finished,
            "best_epoch": trainer.progress.stopper.best_epoch,
            "seconds": round(earlier + time.perf_counter() - asked.started, 2),
            "removed": asked.removed,
            "begun": asked.begun,
        },
    )
    if folder:
        (folder / "run.json").unlink(missing_ok=True)  # an old run stays whole until here
        run.write(folder)
        if finished:
            drop_checkpoint(folder / "checkpoint")
    return run


def _numbers(config: RunConfig) -> RunConfig:
    """The settings without those that change no number (`begun.NUMBERLESS`)."""
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
    section = "recommender" if config.model is None else "model"
    settings = config.system[1] if config.system else config.recommender
    try:
        yield
    except NotFinite:
        raise ConfigError(
            "training diverged, the recommender holds no numbers any more; lower "
            f"{section}.learning_rate ({settings.learning_rate})"
        ) from None


def _watchers(asked: _Asked, signals: SignalConfig, known: Ragged) -> list[Callable[[Row], None]]:
    from cerec.agent.watch import LossWatch

    config, r = asked.config, asked.config.recommender
    out = [] if asked.on_row is None else [asked.on_row]
    if config.model is None and r.model != "climf-original":
        out.append(LossWatch(r, known, imagined=signals.counterfactuals == "imagined"))
    return out


def checked(who: str, data: object, config: object, seed: object) -> int:
    """The seed as a plain number; arguments of the wrong kind are refused."""
    if not isinstance(data, Dataset):
        raise DataError(f"{who} takes data of cerec.load(FOLDER), got {data!r:.60}")
    if not isinstance(config, RunConfig):
        raise ConfigError(f"config must be a RunConfig, got {config!r:.60}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError(f"seed must be a whole number from 0, got {seed!r}")
    return int(seed)  # one of NumPy is not written to JSON


def _refuse_strange(config: RunConfig, out: object, on_row: object) -> None:
    by_id = config.model is not None or config.recommender.vectors == "id"
    if config.agent.reward == "verified" and by_id:
        what = f"{config.model['name']} learns" if config.model else "vectors by id learn"
        raise ConfigError(
            f"agent.reward = 'verified' asks the model what a value does, and {what} nothing of "
            "values; set agent.reward = 'all', or recommender.vectors = 'attributes'"
        )
    if out is not None and not (isinstance(out, str | Path) and str(out)):
        raise ConfigError(f"out must be the name of a folder, got {out!r}")
    if on_row is not None and not callable(on_row):
        raise ConfigError(f"on_row must be a function of a history row, got {on_row!r}")
    if config.train.tensorboard:
        writer()  # refuses where there is none, before anything is touched
        if out is None:
            log.warning("note: train.tensorboard = true writes to the run's folder; name one: out=")


def _refuse_full_lists(metric: str, n_items: int) -> None:
    """Refuse to stop by the recall of lists that hold every item, which is always 1."""
    name, _, k = metric.partition("@")
    if name == "recall" and int(k) >= n_items:
        raise ConfigError(
            f"train.metric = {metric!r} would list all {n_items:,} items, so that recall is 1 "
            "whatever is learned; choose shorter lists, or ndcg"
        )


def _model(config: RunConfig, material: Material) -> Recommender:
    if config.system is None:
        m = material
        return build(config.recommender, m.known, m.facts, seed=m.seed)
    name, settings = config.system
    model: Recommender = find(name).make(settings, material)
    return model
