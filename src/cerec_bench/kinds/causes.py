"""Why walked items make poor negatives: four causes, each shown alone and each taken out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cerec.agent.agent import WalkAgent
from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.metrics import mean, per_user
from cerec.recommend.base import EpochRecommender, Material, NegativeSampler
from cerec.recommend.context import context_of
from cerec.recommend.models import build
from cerec.recommend.negatives import DNS, Uniform, Walk
from cerec.rng import generator
from cerec.settings.run import RunConfig
from cerec_bench.cells import Cell, Table
from cerec_bench.plans.experiment import Job
from cerec_bench.plans.files import Experiment, Point, run_config
from cerec_bench.plans.fit import FitConfig, learn
from cerec_bench.plans.without import Levelled, Other, Permuted, Sparing
from cerec_bench.report.tables import Grid, number
from cerec_bench.systems.chunks import top_lists

FIXED = {
    "agent.similarity": "start",
    "agent.widest": 0.5,
    "encoder.start": "factors",
    "encoder.centre": True,
}
"""Rewards on vectors that do not move, hubs left out."""
CO_TRAINED: Mapping[str, tuple[Table, bool]] = {
    "the paper's form": ({}, False),
    "rewards on fixed vectors": (FIXED, False),
    "warm start, 20 epochs": ({"train.warmup": 20}, False),
    "marginal levelled": ({}, True),
    "all three": ({**FIXED, "train.warmup": 20}, True),
    "all three, the default agent": (
        {**FIXED, "train.warmup": 20, "agent.attention": "state", "agent.entropy": 0.2},
        True,
    ),
}


def measure(job: Job) -> Table:
    """Every row is a cell, so a stopped experiment continues."""
    return _Causes(job).all()


class _Causes:
    def __init__(self, job: Job) -> None:
        self.job, self.parts = job, job.parts
        self.facts = Facts.build(job.data)
        graph = Ckg.build(job.data, self.parts.train)
        self.m = Material(self.parts.train, self.facts, graph, job.seed)
        budget = {n: job.option(n, v) for n, v in (("epochs", 60), ("every", 4), ("patience", 4))}
        self.budget = FitConfig(**budget)

    def all(self) -> Table:
        """All four, and the paper's idea with each cause taken out."""
        walk, later = Walk(), _later(self.parts)
        samplers: dict[str, NegativeSampler] = {
            "uniform": Uniform(),
            "DNS 4": DNS(4),
            "walked": walk,
            "walked, permuted over users": Permuted(walk),
            "walked, marginal levelled": Levelled(walk),
            "walked, without false negatives": Sparing(walk, later),
            "uniform, without false negatives": Sparing(Uniform(), later),
            "DNS 4, without false negatives": Sparing(DNS(4), later),
        }
        ran: Table = {n: self._kept(n, partial(self._sampled, s)) for n, s in samplers.items()}
        forms = {n: self._kept(n, partial(self._formed, *f)) for n, f in CO_TRAINED.items()}
        return {
            "negatives": ran,
            "forms": forms,
            "collapse": self._kept("collapse", self._collapse),
            "yardstick": self._kept("yardstick", self._yardstick),
        }

    def _kept(self, name: str, compute: Callable[[], Table]) -> Table:
        job = self.job
        depends = {**job.point.depends, "data": job.data.fingerprint, "row": name}
        words = "".join(c if c.isalnum() else "-" for c in name)
        return job.cells.get(f"{words}-{job.seed}", depends, compute).found

    def _model(self, config: RunConfig | None = None) -> EpochRecommender:
        made = (config or self.job.point.config).recommender
        return build(made, self.m.known, self.facts, seed=self.m.seed)

    def _validate(self, model: EpochRecommender) -> float:
        rows = top_lists(model, self.parts.train, 20)
        return mean(per_user(rows, self.parts.valid, (20,), ("ndcg",)))["ndcg@20"]

    def _test(self, model: EpochRecommender) -> Table:
        known = self.parts.known_before("test")
        rows = top_lists(model, known, 20)
        figures = mean(per_user(rows, self.parts.test, (20,), ("recall", "ndcg")))
        facts = self.facts.of_item.counts
        listed = rows[rows >= 0]
        return {**figures, "facts_of_listed": float(facts[listed].mean() / facts.mean())}

    def _sampled(self, sampler: NegativeSampler) -> Table:
        """A recommender that learns from these negatives; how many drawn ones are liked later."""
        model = self._model()
        done = learn(model, self.m, self.budget, self._validate, negatives=sampler)
        context = context_of(model, self.m.known, self.facts, 20)
        user, item = self.m.known.row_of(), self.m.known.indices
        drawn = sampler.draw(user, item, context, generator(self.m.seed, "causes/drawn"))
        later = _later(self.parts)
        wrong = [i in later.row(u) for u, i in zip(user[::7], drawn[::7], strict=True)]
        epochs = done.progress.stopper.best_epoch
        return {**self._test(model), "false": float(np.mean(wrong)), "best_epoch": epochs}

    def _formed(self, settings: Table, levelled: bool) -> Table:
        """Co-training with these settings on top of the paper's."""
        config = run_config({**self.job.point.settings, **settings})
        model = self._model(config)
        agent = WalkAgent(config.agent, config.encoder, self.m.graph, self.facts, seed=self.m.seed)
        policy = Other(agent, Levelled(agent.negatives, 4)) if levelled else agent
        budget = replace(self.budget, epochs=self.budget.epochs + config.train.warmup)
        signals, train = config.signals, config.train
        done = learn(
            model, self.m, budget, self._validate, policy=policy, signals=signals, train=train
        )
        walked = [row for row in done.progress.history if "reward" in row]
        return {
            **self._test(model),
            "best_epoch": done.progress.stopper.best_epoch,
            "reward": walked[-1]["reward"],
            "spread": walked[-1]["spread"],
        }

    def _collapse(self) -> Table:
        """Effective number of (attribute, item) ends of a step, after so many policy updates."""
        model = self._model()
        learn(model, self.m, replace(self.budget, epochs=20, patience=20), self._validate)
        context = context_of(model, self.m.known, self.facts, 20)
        user, item = self.m.known.row_of(), self.m.known.indices
        out: Table = {}
        for name, settings in {"moment": {}, "fixed": FIXED}.items():
            config = run_config({**self.job.point.settings, **settings, "agent.updates": 8})
            agent = WalkAgent(config.agent, config.encoder, self.m.graph, self.facts, seed=0)
            rows = [agent.learn(user, item, context, rng=generator(n, "causes")) for n in range(12)]
            out[name] = {
                "effective": [float(np.exp(row["entropy"])) for row in rows],
                "cosine": [row["cosine"] for row in rows],
            }
        return out

    def _yardstick(self) -> Table:
        """Rank correlation of item cosines after some epochs with those of the end."""
        model, found = self._model(), {}
        pairs = generator(0, "causes/pairs").integers(0, len(self.facts.of_item), (2, 4000))
        user, item = self.m.known.row_of(), self.m.known.indices
        looks = (0, 1, 5, 10, 20, 40)
        for epoch in range(looks[-1] + 1):
            if epoch in looks:
                found[epoch] = _cosines(model.factors()[1], pairs)
            rng = generator(self.m.seed, f"causes/{epoch}")
            model.epoch(user, item, Uniform(), rng=rng)
        last = found[looks[-1]]
        return {str(n): float(stats.spearmanr(found[n], last).statistic) for n in looks[:-1]}


def _cosines(item: NDArray[Any], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    unit = item.astype(np.float64)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    return np.einsum("nd,nd->n", unit[pairs[0]], unit[pairs[1]])


def _later(parts: Split) -> Ragged:
    user = np.concatenate([parts.valid.row_of(), parts.test.row_of()])
    both = np.concatenate([parts.valid.indices, parts.test.indices])
    return Ragged.from_pairs(user, both, len(parts.train))


def tables(experiment: Experiment, here: Mapping[Point, Cell]) -> tuple[list[Grid], list[str]]:
    """The negatives, the paper's form with causes taken out, collapse and yardstick."""
    rows: list[list[list[str]]] = [[], [], [], []]
    for point, cell in here.items():
        title, found = experiment.sets[point.set].title, cell.found
        for name, f in found["negatives"].items():
            share = [number(100 * f["false"], 1), number(f["facts_of_listed"], 2)]
            figures = [number(f["recall@20"]), number(f["ndcg@20"])]
            rows[0].append([f"{title}, {name}", *figures, *share])
        for name, f in found["forms"].items():
            figures = [number(f[k]) for k in ("recall@20", "ndcg@20")]
            rest = [str(f["best_epoch"]), number(f["reward"], 2), number(f["spread"], 2)]
            rows[1].append([f"{title}, {name}", *figures, *rest])
        for name, f in found["collapse"].items():
            cells = [number(f["effective"][n], 1) for n in (0, 3, 7, 11)]
            rows[2].append([f"{title}, vectors {name}", *cells, number(f["cosine"][-1], 2)])
        cells = [number(v, 2) for v in found["yardstick"].values()]
        rows[3].append([title, *cells])
    captions = (
        "Negatives of each kind; no agent.",
        "Co-training, one cause taken out at a time.",
        "Effective number of ends of a step (e to the entropy) after 8, 32, 64, 96 updates.",
        "Rank correlation of item cosines with those after 40 epochs.",
    )
    heads = (
        ["", "recall@20", "ndcg@20", "liked later %", "facts of listed items"],
        ["", "recall@20", "ndcg@20", "best epoch", "last reward", "spread of cosines"],
        ["", "8", "32", "64", "96", "mean cosine"],
        ["", "at 0", "1", "5", "10", "20"],
    )
    grids = [Grid(c, h, r) for c, h, r in zip(captions, heads, rows, strict=True) if r]
    return grids, []
