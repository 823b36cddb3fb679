"""Fitting the default recommender: settings by validation, figures on what was held out, then
once more on all interactions.
"""

from __future__ import annotations

import logging
import time
from dataclasses import asdict
from typing import Any

import numpy as np

from cerec.checkpoint import Row
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.recommend.linear.candidates import Sample
from cerec.recommend.linear.choose import Looked, choose, choose_weights
from cerec.recommend.linear.fit import Chosen, FitMaterial, build
from cerec.recommend.linear.gram import longest
from cerec.recommend.linear.weighing import Marks, Weighing
from cerec.runs.agents import learn_agent
from cerec.runs.evaluate import final_figures
from cerec.runs.run import Run
from cerec.runs.stored import StoredModel
from cerec.runs.training import Training
from cerec.runs.unused import unused
from cerec.settings.linear import LinearConfig

log = logging.getLogger("cerec")
STEPS = ("which items go together", "what attributes say", "factors", "measuring", "fitting")
"""In this order; a row of progress for each."""


def fit(data: Dataset, parts: Split, job: Training) -> Run:
    """The run of the linear recommender; quick enough that nothing is resumed."""
    settings = job.config.linear or LinearConfig()
    progress = _Progress(job)
    facts = Facts.build(data)
    for words in unused(job.config, data, facts):
        log.warning(words)
    marks = Marks.of(data)

    def weighed(weighing: Weighing, known: Ragged = parts.train) -> FitMaterial:
        return FitMaterial(known, marks.weights(known, weighing), facts)

    if (most := longest(parts.train)) < parts.train.counts.max(initial=0):
        long = int((parts.train.counts > most).sum())
        log.warning(
            "note: histories of more than %s items (%s here) count with so many of them, drawn "
            "at random, where it is learned which items go together",
            f"{most:,}",
            f"{long:,}",
        )
    turns = marks.options(parts.train, settings)
    weighing, material, sample, looks = choose_weights(weighed, parts.valid, turns)
    looked = _looked(material, parts, settings, progress, sample)
    progress("measuring")
    model = StoredModel.linear(build(material, looked.chosen, factors=looked.factors))
    metrics = final_figures(model.subject(data, facts, parts.train), parts)
    known, refitted = parts.train, not settings.holdout and bool(parts.valid.size + parts.test.size)
    if refitted:
        progress("fitting")
        known = everything(parts)
        material = weighed(weighing, known)
        model = StoredModel.linear(build(material, looked.chosen))
    vectors, rows = None, progress.rows
    if settings.agent:
        subject = model.subject(data, facts, known)
        vectors, learned = learn_agent(data, subject, job.config, seed=job.seed, on_row=job.on_row)
        rows = rows + learned
    return Run(
        data,
        parts,
        model,
        known=known,
        config=job.config,
        seed=job.seed,
        vectors=vectors,
        metrics=metrics,
        history=rows,
        meta={
            "finished": True,
            "refitted": refitted,
            "seconds": round(time.perf_counter() - job.started, 2),
            "chosen": {
                **described(looked, data),
                "weights": {**asdict(weighing), "looks": looks},
                "values": {"used": len(material.vocabulary), "left_out": material.left_out},
            },
            "removed": job.removed,
            "origin": job.origin,
        },
    )


def everything(parts: Split) -> Ragged:
    """User -> the items of all parts."""
    three = parts.train, parts.valid, parts.test
    user = np.concatenate([part.row_of() for part in three])
    item = np.concatenate([part.indices for part in three])
    return Ragged.from_pairs(user, item, len(parts.train))


def described(looked: Looked, data: Dataset) -> dict[str, Any]:
    """What was chosen on validation, by name, for `run.json`."""
    chosen = looked.chosen
    return {
        "penalty": chosen.penalty,
        "entries": chosen.entries,
        "popularity": chosen.popularity,
        "relations": {data.relations[r]: w for r, w in chosen.relations.items()},
        "factors": None if chosen.folding is None else asdict(chosen.folding),
        "factor": chosen.factor,
        "attributes": looked.attributes,
        "ndcg": looked.ndcg,
        "best": looked.best,
        "curve": [list(point) for point in looked.curve],
        "looks": looked.looks,
    }


def _looked(
    material: FitMaterial,
    parts: Split,
    settings: LinearConfig,
    progress: _Progress,
    sample: Sample | None,
) -> Looked:
    if parts.valid.size and material.history.size:
        return choose(
            material,
            parts.valid,
            dial=settings.dial,
            factors=settings.factors == "auto",
            sample=sample,
            progress=progress,
        )
    log.warning(
        "note: nothing is held out for validation, so the settings are guesses; "
        "split.valid above 0 lets validation choose them"
    )
    relations = dict.fromkeys(np.unique(material.relation).tolist(), 0.05)
    return Looked(Chosen(relations=relations), float("nan"), float("nan"), 1.0, (), 0)


class _Progress:
    """A row of the history for every step."""

    def __init__(self, job: Training) -> None:
        self.rows: list[Row] = []
        self._job, self._since = job, time.perf_counter()

    def __call__(self, step: str) -> None:
        now = time.perf_counter()
        row: Row = {"phase": step, "epoch": len(self.rows) + 1, "seconds": now - self._since}
        row["seconds"] = round(now - self._since, 3)
        self._since = now
        self.rows.append(row)
        if self._job.on_row is not None:
            self._job.on_row({**row, "until": len(STEPS)})
