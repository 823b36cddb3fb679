"""A model of somebody else's, trained and measured here: `cerec.train(data, model=MyModel())`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.split import Split
from cerec.errors import ConfigError, DataError
from cerec.recommend.protocol import Trainable
from cerec.runs.evaluate import final_figures
from cerec.runs.run import Run
from cerec.runs.stored import stored_scores
from cerec.runs.training import Training

BLOCK = 1024


def refuse_no_model(model: object) -> None:
    """Refuse what `train` cannot train."""
    missing = [name for name in ("fit", "scores") if not callable(getattr(model, name, None))]
    if missing or isinstance(model, type):
        what = "an object, not a class" if isinstance(model, type) else f"a method {missing[0]}"
        raise ConfigError(f"model= needs {what}; see docs/guide/extending.md, got {model!r:.60}")


def fit_model(data: Dataset, parts: Split, job: Training, model: Trainable) -> Run:
    """The run of a model that learned from the train part; effects are fitted to its scores."""
    model.fit(data, parts.train, seed=job.seed)
    facts = Facts.build(data)
    stored = stored_scores(scores_in_order(model, data), facts)
    return Run(
        data,
        parts,
        stored,
        config=job.config,
        seed=job.seed,
        metrics=final_figures(stored.subject(data, facts, parts.train), parts),
        meta={
            "finished": True,
            "model": type(model).__name__,
            "seconds": round(time.perf_counter() - job.started, 2),
            "removed": job.removed,
            "origin": job.origin,
        },
    )


def scores_in_order(model: Trainable, data: Dataset) -> NDArray[np.float32]:
    """(U, I) all scores, in the order of the data."""
    users, items = (
        _rows(name, getattr(model, f"{name}s", None), table)
        for name, table in (("user", data.users), ("item", data.items))
    )
    out = np.empty((len(users), len(items)), np.float32)
    for start in range(0, len(users), BLOCK):
        rows = users[start : start + BLOCK]
        found = np.asarray(model.scores(rows), np.float64)
        if found.shape != (len(rows), len(items)) or not np.isfinite(found).all():
            raise DataError(
                f"scores(users) must give a finite number for each of {len(rows)} users and "
                f"{len(items)} items, got shape {found.shape}"
            )
        out[start : start + BLOCK] = found[:, items]
    return out


def _rows(kind: str, ids: Any, table: IdTable) -> NDArray[np.int64]:
    """The model's row of every id of the data."""
    place = {id_: row for row, id_ in enumerate(ids if ids is not None else ())}
    missing = [id_ for id_ in table.ids if id_ not in place]
    if missing or len(place) != len(table):
        hint = f"it has no {missing[0]!r}" if missing else f"it has {len(place)}"
        raise DataError(f"after fit, {kind}s must be the {len(table)} {kind}s of the data; {hint}")
    return np.array([place[id_] for id_ in table.ids])
