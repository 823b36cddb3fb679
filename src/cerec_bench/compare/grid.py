"""The grid: for every contender the same number of trials, then its best settings on every seed.

Trials learn from train with the first seed and are judged on validation alone. The settings with
the best validation number are then learned with every seed (the winning trial is the fit of the
first) and measured on test, once, with train and validation items left out of the lists. Each
finished cell is a JSON file named after everything it depends on: a grid that was stopped goes on
where it was, and one with more models or seeds computes only what is new.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.split import Split
from cerec.errors import CerecError, ConfigError
from cerec.files import read_json, replacing, write_json
from cerec.metrics import METRICS, PerUser, beyond_accuracy, mean, per_user
from cerec.recommend.base import Material
from cerec.rng import generator
from cerec_bench.compare.contenders import Fitted, Lists, Task, contender
from cerec_bench.compare.cost import Meter
from cerec_bench.compare.fit import FitConfig
from cerec_bench.compare.space import SPACES, Params, Search, plain, read_space
from cerec_bench.systems.chunks import take

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is compared, and what each contender may spend."""

    models: tuple[str, ...]
    seeds: int = 5
    """Fits of the best settings, with seeds 0, 1, ..."""
    trials: int = 1
    """Settings tried per contender; the defaults are the first."""
    valid_users: int = 5000
    """Users validation is measured on, at the most: the same for all."""
    ks: tuple[int, ...] = (20, 40, 60, 80)
    fit: FitConfig = field(default_factory=FitConfig)
    search: Path = SPACES
    """Folder of the search spaces."""

    def __post_init__(self) -> None:
        for name in ("seeds", "trials", "valid_users"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.models or not self.ks or min(self.ks) < 1:
            raise ConfigError("a comparison needs models, and list lengths of at least 1")
        for name in self.models:
            contender(name)


@dataclass(frozen=True, slots=True)
class Cell:
    """One fit and what came of it."""

    model: str
    kind: str
    """`trial` (validation alone) or `seed` (test too)."""
    params: Params
    seed: int
    key: str
    error: str = ""
    """Why the system refused this data or these settings; empty when it did not."""
    valid: float | None = None
    """The number settings and epochs are chosen by: NDCG@20 on validation."""
    test: dict[str, float] = field(default_factory=dict)
    epochs: int = 0
    best_epoch: int = 0
    timed_out: bool = False
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0


class Grid:
    """Runs a plan on one data set and split; `folder` holds the cells."""

    def __init__(
        self,
        data: Dataset,
        parts: Split,
        plan: Plan,
        folder: Path,
        on_cell: Callable[[Cell, bool], None] | None = None,
    ) -> None:
        """`on_cell` is told every finished cell, and whether it was there before."""
        for part in ("train", "valid", "test"):
            if getattr(parts, part).size == 0:
                raise ConfigError(
                    f"{data.name}: the {part} part is empty; a comparison needs all three, "
                    "set the shares of the split"
                )
        self.plan, self.folder = plan, folder
        self._data, self._parts = data, parts
        # A missing or wrong file is told before anything is computed. A system without settings
        # (an empty file) has nothing to tune.
        self._spaces = {n: read_space(plan.search, n) for n in plan.models if plan.trials > 1}
        self._facts, self._graph = Facts.build(data), Ckg.build(data, parts.train)
        self._on_cell = on_cell
        self._winner: tuple[Cell, Fitted] | None = None
        judges = np.flatnonzero(parts.valid.counts)
        if len(judges) > plan.valid_users:
            rng = generator(0, "compare/judges")
            judges = np.sort(rng.choice(judges, plan.valid_users, replace=False))
        self._judges, self._wanted = judges, take(parts.valid, judges)
        digest = hashlib.sha256(data.fingerprint.encode())
        for rows in (parts.train, parts.valid, parts.test):
            digest.update(rows.indptr.tobytes() + rows.indices.tobytes())
        self._world = digest.hexdigest()

    @property
    def size(self) -> int:
        """Cells in all."""
        return sum(self._trials(n) + self._seeds(n) for n in self.plan.models)

    def _trials(self, name: str) -> int:
        return self.plan.trials if self._spaces.get(name) else 0

    def _seeds(self, name: str) -> int:
        return self.plan.seeds if contender(name).seeded else 1

    def run(self) -> list[Cell]:
        """Every cell of the grid, computed or read."""
        return [cell for name in self.plan.models for cell in self._model(name)]

    def _model(self, name: str) -> Iterator[Cell]:
        self._winner = None
        trials = list(self._tune(name)) if self._trials(name) else []
        yield from trials
        found = [(cell.valid, cell.params) for cell in trials if cell.valid is not None]
        best = max(found, key=lambda pair: pair[0])[1] if found else {}
        for seed in range(self._seeds(name)):
            yield self._cell(name, "seed", best, seed)
            self._winner = None

    def _tune(self, name: str) -> Iterator[Cell]:
        yield self._cell(name, "trial", {}, 0)
        search = Search(self._spaces[name], seed=0)
        for _ in range(self.plan.trials - 1):
            trial, params = search.ask()
            cell = self._cell(name, "trial", plain(params), 0)
            search.tell(trial, cell.valid)
            yield cell

    def _cell(self, name: str, kind: str, params: Params, seed: int) -> Cell:
        ks = self.plan.ks if kind == "seed" else ()
        depends = [_FORMAT, self._world, name, kind, params, seed, asdict(self.plan.fit), ks]
        depends.append(len(self._judges))
        depends += [asdict(config()) for config in contender(name).configs]
        if fixed := dict(contender(name).fixed):
            depends.append(fixed)
        if (recipe := contender(name).recipe) > 1:
            depends.append({"recipe": recipe})
        text = json.dumps(depends, sort_keys=True)
        key = f"{name}-{kind}-{seed}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        path = self.folder / "cells" / f"{key}.json"
        known = path.exists()
        if known:
            cell = Cell(**read_json(path))
        else:
            cell = self._compute(Cell(name, kind, params, seed, key))
            write_json(path, asdict(cell))
        if self._on_cell is not None:
            self._on_cell(cell, known)
        return cell

    def _compute(self, cell: Cell) -> Cell:
        kept = self._winner
        fitted: Fitted | None
        if kept is not None and cell.kind == "seed" and kept[0].params == cell.params:
            done, fitted = kept
            cell = _with(done, kind="seed", key=cell.key)
        else:
            cell, fitted = self._fit(cell)
        if fitted is None:
            return cell
        if cell.kind == "seed":
            return _with(cell, test=self._test(fitted.lists, cell.key))
        if kept is None or (cell.valid or 0.0) > (kept[0].valid or 0.0):
            self._winner = cell, fitted
        return cell

    def _fit(self, cell: Cell) -> tuple[Cell, Fitted | None]:
        """The cell with what validation said and what it took; no Fitted when it was refused."""
        material = Material(self._parts.train, self._facts, self._graph, cell.seed)
        task = Task(
            cell.params, material, self.plan.fit, self._validate, self._data, self._parts.valid
        )
        try:
            with Meter() as meter:
                fitted = contender(cell.model).fit(task)
                valid = self._validate(fitted.lists)
        except CerecError as error:  # too large for it, or settings that do not go together
            return _with(cell, error=str(error)), None
        done = _with(
            cell,
            valid=valid,
            epochs=fitted.epochs,
            best_epoch=fitted.best_epoch,
            timed_out=fitted.timed_out,
            seconds=round(meter.seconds, 3),
            cpu_seconds=round(meter.cpu_seconds, 3),
            peak_mb=round(meter.peak_mb, 1),
        )
        return done, fitted

    def _validate(self, lists: Lists) -> float:
        """NDCG@20 on validation."""
        rows = _padded(lists(self._parts.train, 20, self._judges), 20)
        return mean(per_user(rows, self._wanted, (20,), ("ndcg",)))["ndcg@20"]

    def _test(self, lists: Lists, key: str) -> dict[str, float]:
        """All metrics on test; those of every user go to a Parquet file beside the cell."""
        known, most = self._parts.known_before("test"), max(self.plan.ks)
        rows = _padded(lists(known, most), most)
        values = per_user(rows, self._parts.test, self.plan.ks, METRICS)
        n_items = len(self._facts.of_item)
        extra = [beyond_accuracy(rows, self._parts.train, n_items, k) for k in self.plan.ks]
        write_per_user(self.per_user_path(key), list(self._data.users), values)
        return mean(values) | {name: v for part in extra for name, v in part.items()}

    def per_user_path(self, key: str) -> Path:
        """Where the metrics of every user of a cell are."""
        return self.folder / "per_user" / f"{key}.parquet"


def _with(cell: Cell, **changes: Any) -> Cell:
    return Cell(**{**asdict(cell), **changes})


def _padded(rows: Any, width: int) -> Any:
    """Lists of a small catalogue, filled up with -1."""
    short = width - rows.shape[1]
    return rows if short <= 0 else np.pad(rows, ((0, 0), (0, short)), constant_values=-1)


def write_per_user(path: Path, users: Sequence[str], values: PerUser) -> None:
    """One line per user, nan where a user has nothing held out."""
    with replacing(path) as target:
        pl.DataFrame({"user": users, **values}).write_parquet(target)


def read_per_user(path: Path) -> PerUser:
    """The columns of `write_per_user`, without the users."""
    frame = pl.read_parquet(path)
    return {name: frame[name].to_numpy() for name in frame.columns if name != "user"}
