"""Systems compared on one split: the same number of trials for each, then its best on every seed.

Trials learn from train with the first seed and are judged on validation alone. The settings with
the best validation number are then learned with every seed and measured on test, once, with train
and validation items left out of the lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.split import Split
from cerec.errors import ConfigError
from cerec.metrics import METRICS, PerUser, beyond_accuracy, mean, per_user
from cerec.recommend.base import Material
from cerec.rng import generator
from cerec_bench.cells import Arrays, Cell, Cells, Table, fingerprint
from cerec_bench.plans.contenders import Contender, Lists, Task, contender
from cerec_bench.plans.fit import FitConfig
from cerec_bench.plans.tuning import SPACES, Params, read_space, tries
from cerec_bench.report.tables import Column
from cerec_bench.statistics import Figure, Line, bootstrap, holm, signed_rank, spread

SHOWN = ("recall", "ndcg", "hr")
"""The metrics of the paper's table, which are tested."""
_TITLES = {"recall": "Recall", "ndcg": "NDCG", "hr": "HR"}


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
    test_users: int = 0
    """Users that test is measured on, at the most; 0: all."""
    ks: tuple[int, ...] = (20, 40, 60, 80)
    fit: FitConfig = field(default_factory=FitConfig)
    search: Path = SPACES
    """Folder of the search spaces."""
    reference: str = "linear"
    """Who the others are tested against; the first where it is not among them."""

    def __post_init__(self) -> None:
        for name in ("seeds", "trials", "valid_users"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.models or not self.ks or min(self.ks) < 1:
            raise ConfigError("a comparison needs models, and list lengths of at least 1")
        for name in self.models:
            contender(name)


@dataclass(frozen=True, slots=True)
class Fit:
    """One fit: its settings, and the cell that holds `valid`, `test`, `epochs` and the rest."""

    model: str
    kind: str
    """`trial` (validation alone) or `seed` (test too)."""
    params: Params
    seed: int
    cell: Cell

    @property
    def valid(self) -> float | None:
        """NDCG@20 on validation, by which settings and epochs are chosen."""
        value = self.cell.found.get("valid")
        return None if value is None else float(value)


class Systems:
    """Runs a plan on one data set and split."""

    def __init__(self, data: Dataset, parts: Split, plan: Plan, cells: Cells) -> None:
        for part in ("train", "valid", "test"):
            if getattr(parts, part).size == 0:
                raise ConfigError(
                    f"{data.name}: the {part} part is empty; a comparison needs all three, "
                    "set the shares of the split"
                )
        self.plan, self.cells = plan, cells
        self._data, self._parts = data, parts
        # A missing or wrong file is reported before anything is computed. A system without
        # settings (an empty file) has nothing to tune.
        self._spaces = {n: read_space(plan.search, n) for n in plan.models if plan.trials > 1}
        self._facts, self._graph = Facts.build(data), Ckg.build(data, parts.train)
        judges = _some(np.flatnonzero(parts.valid.counts), plan.valid_users, "compare/judges")
        self._judges, self._wanted = judges, parts.valid.take(judges)
        there, most = np.flatnonzero(parts.test.counts), plan.test_users
        self._tested = _some(there, most, "compare/test") if most else np.arange(len(parts.test))
        three = (parts.train, parts.valid, parts.test)
        self._world = [
            data.fingerprint,
            fingerprint(*(a for r in three for a in (r.indptr, r.indices))),
        ]

    @property
    def size(self) -> int:
        """Fits in all."""
        return sum(self._trials(n) + self._seeds(n) for n in self.plan.models)

    def _trials(self, name: str) -> int:
        return self.plan.trials if self._spaces.get(name) else 0

    def _seeds(self, name: str) -> int:
        return self.plan.seeds if contender(name).seeded else 1

    def run(self) -> list[Fit]:
        """Every fit of the plan, computed or read."""
        return [fit for name in self.plan.models for fit in self._model(name)]

    def _model(self, name: str) -> Iterator[Fit]:
        settings = tries(self._spaces.get(name, ()), self._trials(name), seed=0)
        trials = [self.fit(name, "trial", params, 0) for params in settings]
        yield from trials
        found = [(fit.valid, fit.params) for fit in trials if fit.valid is not None]
        best = max(found, key=lambda pair: pair[0])[1] if found else {}
        for seed in range(self._seeds(name)):
            yield self.fit(name, "seed", best, seed)

    def fit(self, name: str, kind: str, params: Params, seed: int) -> Fit:
        """One fit with these settings; what a system refuses is a cell with an error."""
        entry = contender(name)
        depends: Table = {
            "world": self._world,
            "model": name,
            "kind": kind,
            "params": params,
            "seed": seed,
            "fit": asdict(self.plan.fit),
            "ks": self.plan.ks if kind == "seed" else (),
            "judges": len(self._judges),
            **({"test_users": self.plan.test_users} if self.plan.test_users else {}),
            "defaults": [asdict(config()) for config in entry.configs],
            "fixed": dict(entry.fixed),
        }
        cell = self.cells.get(
            f"{name}-{kind}-{seed}",
            depends,
            lambda: self._compute(entry, kind, params, seed),
            recipe=entry.recipe,
            refusals=True,
        )
        return Fit(name, kind, params, seed, cell)

    def _compute(
        self, entry: Contender, kind: str, params: Params, seed: int
    ) -> tuple[Table, Arrays]:
        material = Material(self._parts.train, self._facts, self._graph, seed)
        task = Task(params, material, self.plan.fit, self._validate, self._data, self._parts.valid)
        fitted = entry.fit(task)
        found: Table = {
            "valid": self._validate(fitted.lists),
            "epochs": fitted.epochs,
            "best_epoch": fitted.best_epoch,
            "timed_out": fitted.timed_out,
        }
        if kind == "trial":
            return found, {}
        found["test"], values = self._test(fitted.lists)
        return found, {name: np.asarray(v, np.float64) for name, v in values.items()}

    def _validate(self, lists: Lists) -> float:
        """NDCG@20 on validation."""
        rows = _padded(lists(self._parts.train, 20, self._judges), 20)
        return mean(per_user(rows, self._wanted, (20,), ("ndcg",)))["ndcg@20"]

    def _test(self, lists: Lists) -> tuple[dict[str, float], PerUser]:
        """All metrics on test: their means, and those of every user."""
        known, most, wanted = self._parts.known_before("test"), max(self.plan.ks), self._parts.test
        rows, wanted = _padded(lists(known, most, self._tested), most), wanted.take(self._tested)
        values = per_user(rows, wanted, self.plan.ks, METRICS)
        n_items = len(self._facts.of_item)
        extra = [beyond_accuracy(rows, self._parts.train, n_items, k) for k in self.plan.ks]
        return mean(values) | {name: v for part in extra for name, v in part.items()}, values

    def summary(self) -> tuple[list[Line], Table]:
        """A line per contender, and what the numbers rest on; computes what is missing."""
        plan = self.plan
        base = plan.reference if plan.reference in plan.models else plan.models[0]
        lines = summarise(self.run(), keys_of(plan.ks), reference=base)
        sizes = {part: getattr(self._parts, part).size for part in ("train", "valid", "test")}
        return lines, {
            "data": self._data.name,
            "fingerprint": self._data.fingerprint,
            "users": len(self._data.users),
            "items": len(self._data.items),
            "split": sizes,
            "seeds": plan.seeds,
            "trials": plan.trials,
            "valid_users": plan.valid_users,
            "test_users": plan.test_users,
            "ks": list(plan.ks),
            "fit": asdict(plan.fit),
            "reference": base,
        }


def _some(users: NDArray[np.int64], most: int, purpose: str) -> NDArray[np.int64]:
    """The users, or so many of them drawn at random: the same for all systems."""
    return np.sort(generator(0, purpose).choice(users, min(most, len(users)), replace=False))


def _padded(rows: NDArray[Any], width: int) -> NDArray[Any]:
    """Lists of a small catalogue, filled up with -1."""
    short = width - rows.shape[1]
    return rows if short <= 0 else np.pad(rows, ((0, 0), (0, short)), constant_values=-1)


def keys_of(ks: Sequence[int]) -> list[str]:
    """`recall@20`, `ndcg@20`, ... in the order of the paper's table."""
    return [f"{metric}@{k}" for k in ks for metric in SHOWN]


def columns(ks: Sequence[int]) -> list[Column]:
    """The columns of the table: the tested metrics, and what a fit took."""
    keys = [k.partition("@") for k in keys_of(ks)]
    tested = [Column(f"{m}@{k}", f"{_TITLES[m]}@{k}") for m, _, k in keys]
    took = {"trials": "tried", "seconds": "s a fit", "cpu_seconds": "CPU s", "peak_mb": "MB"}
    return tested + [Column(key, title, 1, 0, ranked=False) for key, title in took.items()]


def summarise(fits: Sequence[Fit], keys: Sequence[str], *, reference: str) -> list[Line]:
    """One line per contender in the order of the fits."""
    models = list(dict.fromkeys(fit.model for fit in fits))
    users: dict[str, PerUser] = {}
    for model in models:
        done = [f for f in fits if f.model == model and f.kind == "seed" and not f.cell.error]
        if done:
            values = [f.cell.arrays for f in done]
            users[model] = {key: np.mean([v[key] for v in values], axis=0) for key in keys}
    tested = {key: _tests(users, key, reference) for key in keys}
    return [_line(model, fits, users.get(model, {}), tested) for model in models]


def _tests(
    users: Mapping[str, PerUser], key: str, reference: str
) -> dict[str, tuple[float, float]]:
    """Contender -> (corrected p, effect) against the reference."""
    if reference not in users:
        return {}
    base, others = users[reference][key], [m for m in users if m != reference]
    raw = []
    for model in others:
        gap = users[model][key] - base
        raw.append(signed_rank(gap[~np.isnan(gap)]))
    corrected = holm([p for p, _ in raw])
    return {m: (p, effect) for m, p, (_, effect) in zip(others, corrected, raw, strict=True)}


def _line(
    model: str,
    fits: Sequence[Fit],
    users: PerUser,
    tested: Mapping[str, Mapping[str, tuple[float, float]]],
) -> Line:
    entry = contender(model)
    mine = [fit for fit in fits if fit.model == model]
    done = [fit for fit in mine if fit.kind == "seed" and not fit.cell.error]
    if not done:
        error = next((fit.cell.error for fit in mine if fit.cell.error), "not computed")
        return Line(model, entry.title, entry.note, error)
    found = [fit.cell.found for fit in done]
    figures = {}
    for key, values in users.items():
        centre, sd = spread([one["test"][key] for one in found])
        low, high = bootstrap(values, rounds=1000)
        p, effect = tested[key].get(model, (None, None))
        n = int((~np.isnan(values)).sum())
        figures[key] = Figure(centre, sd, low, high, n, p, effect)
    rest = [key for key in found[0]["test"] if key not in figures]
    other: Table = {key: float(np.mean([one["test"][key] for one in found])) for key in rest}
    about = [fit.cell.about for fit in done]
    other |= {
        "params": done[0].params,
        "seeds": len(done),
        "trials": max(sum(fit.kind == "trial" for fit in mine), 1),
        "timed_out": sum(bool(fit.cell.found.get("timed_out")) for fit in mine),
        "epochs": float(np.mean([one["epochs"] for one in found])),
        "seconds": float(np.mean([one["seconds"] for one in about])),
        "cpu_seconds": float(np.mean([one["cpu_seconds"] for one in about])),
        "peak_mb": max(fit.cell.about["peak_mb"] for fit in mine),
    }
    return Line(model, entry.title, entry.note, "", figures, other)
