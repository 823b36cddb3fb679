"""The whole pipeline on one page: data -> recommender (and agent) -> run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cerec.asides import held
from cerec.checkpoint import Row, drop_checkpoint
from cerec.data.dataset import Dataset
from cerec.data.filters import apply
from cerec.data.split import Split, split
from cerec.errors import ConfigError, DataError
from cerec.recommend.asking import described, list_length
from cerec.recommend.base import NegativeSampler
from cerec.recommend.protocol import Trainable
from cerec.runs.fit import fit
from cerec.runs.own_model import fit_model, refuse_no_model
from cerec.runs.run import Run, open_run
from cerec.runs.training import Training, prepare
from cerec.settings.run import RunConfig, to_toml
from cerec.threads import training_threads

log = logging.getLogger("cerec")


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
    model: Trainable | None = None,
) -> Run:
    """Train a recommender on `data`: the linear one, or what `config.model` names.

    With `out`, the run is written there. Co-training leaves checkpoints, so that a killed one can
    be resumed (`resume=True`) and ends with the same numbers; an interrupt (Ctrl-C) ends with the
    best recommender so far. A sampler of one's own (`negatives`) takes the place of the ordinary
    negatives that `config.signals` names. `on_row` gets a row for every epoch or step, and in it
    `until`, where the phase ends if validation finds nothing better.

    With `model`, an object with the methods of `cerec.recommend.Trainable`, that model learns
    from the train part in place of the one that `config.model` names.

    Nothing held out enters graph, sampler or stopping: validation chooses, test is looked at
    once, at the end.
    """
    config = config or RunConfig()
    seed = checked("train", data, config, seed)
    config = config.resolved()
    _refuse_strange(out, on_row)
    if resume and force:
        raise ConfigError("resume=True continues, force=True starts over; give one of the two")
    if resume and out is None:
        raise ConfigError("resume=True continues from a checkpoint; name its folder, out=")
    started = time.perf_counter()
    origin: dict[str, Any] = {"data": data.fingerprint, "config": to_toml(config), "seed": seed}
    if negatives is not None:
        list_length(negatives)  # refuses what is no sampler
        origin["negatives"] = described(negatives)
    if model is not None:
        refuse_no_model(model)
        if resume:
            raise ConfigError("a model of your own cannot be resumed; train it again")
        origin["model"] = type(model).__name__
    with training_threads(learning=config.linear is None or config.linear.agent):
        job = Training(config, seed, origin, started, on_row, negatives, model)
        return _train(data, job, out, resume=resume, force=force)


def _train(
    data: Dataset, job: Training, out: str | Path | None, *, resume: bool, force: bool
) -> Run:
    data, removed = apply(data, job.config.filters)
    job = replace(job, removed=tuple(map(str, removed)))
    parts = split(data, job.config.split, seed=job.seed)
    if parts.train.size == 0:
        raise DataError(f"{data.name}: no interactions are left to learn from; filter less")
    _refuse_full_lists(job.config.train.metric, len(data.items))
    if out is None:
        return _learned(data, parts, job, None, resume=False)
    folder = Path(out)
    with held(folder):
        if prepare(folder, job.origin, resume=resume, force=force):
            return open_run(folder)
        run = _learned(data, parts, job, folder, resume=resume)
        (folder / "run.json").unlink(missing_ok=True)  # an old run stays whole until here
        run.write(folder)
        if run.meta["finished"]:
            drop_checkpoint(folder / "checkpoint")
    return run


def _learned(
    data: Dataset, parts: Split, job: Training, folder: Path | None, *, resume: bool
) -> Run:
    if job.model is not None:
        return fit_model(data, parts, job, job.model)
    if job.config.linear is not None:
        return fit(data, parts, job)
    from cerec.runs.cotrain import cotrain  # which needs torch

    return cotrain(data, parts, job, folder, resume=resume)


def checked(who: str, data: object, config: object, seed: object) -> int:
    """The seed as a plain number; arguments of the wrong kind are refused."""
    if not isinstance(data, Dataset):
        raise DataError(f"{who} takes data of cerec.load(FOLDER), got {data!r:.60}")
    if not isinstance(config, RunConfig):
        raise ConfigError(f"config must be a RunConfig, got {config!r:.60}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError(f"seed must be a whole number from 0, got {seed!r}")
    return int(seed)  # one of NumPy is not written to JSON


def _refuse_strange(out: object, on_row: object) -> None:
    if out is not None and not (isinstance(out, str | Path) and str(out)):
        raise ConfigError(f"out must be the name of a folder, got {out!r}")
    if on_row is not None and not callable(on_row):
        raise ConfigError(f"on_row must be a function of a history row, got {on_row!r}")


def _refuse_full_lists(metric: str, n_items: int) -> None:
    """Refuse to stop by the recall of lists that hold every item, which is always 1."""
    name, _, k = metric.partition("@")
    if name == "recall" and int(k) >= n_items:
        raise ConfigError(
            f"train.metric = {metric!r} would list all {n_items:,} items, so that recall is 1 "
            "whatever is learned; choose shorter lists, or ndcg"
        )
