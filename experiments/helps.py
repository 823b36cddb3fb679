"""Do counterfactuals help the recommender? One command, every number of docs/results/helps.md.

    python experiments/helps.py --data FOLDER [--sets ml-100k ml-1m amazon-beauty] [--seeds 5]

FOLDER holds the data sets. Every cell (set, method) is tuned by the same trials on validation with
one seed, then learned anew with each seed; test is looked at once per seed. Finished cells are
kept in docs/results/helps/ and not run again; per-user numbers are kept in --cache. A killed run
goes on where it stopped. `--table` only writes the table from what is there.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import helps_table
import numpy as np

from cerec.agent.agent import WalkAgent
from cerec.agent.config import AgentConfig
from cerec.data.dataset import Dataset
from cerec.data.filters import FilterConfig, apply
from cerec.data.load import load
from cerec.data.split import Split, SplitConfig, split
from cerec.evaluate.ranking import per_user
from cerec.graph.ckg import Ckg
from cerec.graph.encoders import EncoderConfig
from cerec.graph.facts import Facts
from cerec.ragged import Ragged
from cerec.recommend.base import NegativeSampler, Recommender, SwapSampler
from cerec.recommend.config import RecommenderConfig
from cerec.recommend.lines import fit_line
from cerec.recommend.models import build
from cerec.recommend.negatives import DNS, Mixture, Uniform, Walk
from cerec.recommend.swaps import RandomSwaps
from cerec.recommend.topk import top_k_all, top_k_matrix
from cerec.rng import generator
from cerec.training.loop import TrainConfig, Trainer
from cerec.training.recommender import FitConfig, fit_recommender
from cerec.training.signals import SignalConfig

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results" / "helps"
METRICS = ("recall@20", "ndcg@20")
AGENT_EVERY = 3
HEAD = (HERE / "helps_head.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Method:
    """What one row of the table learns from."""

    vectors: str
    negatives: NegativeSampler
    swaps: SwapSampler | None = None
    weight: float = 1.0
    agent: SignalConfig | None = None
    """Counterfactuals of the learned agent, co-trained; None: those of the samplers above."""
    depth: int = 1
    """Steps of the agent's walks."""
    encoder: str = "factors"
    """Where the agent's node table starts (`EncoderConfig.start`)."""
    warmup: int = 0
    """Epochs with uniform negatives alone before the rest: the paper's initialisation."""
    like: str = ""
    """The row whose learning rate and l2 this one takes over; empty: it is tuned itself."""
    seeds: int = 5
    """Models to learn at the most: rows with the agent take minutes a model."""


@dataclass(frozen=True, slots=True)
class Set:
    """A data set, how it is filtered, and the trials every method gets."""

    filters: FilterConfig
    trials: tuple[tuple[float, float], ...]
    """(learning rate, l2) pairs."""
    batch: int
    fit: FitConfig


LITERAL = SignalConfig(counterfactuals="literal", chooser="agent")
IMAGINED = SignalConfig(negatives="dns", counterfactuals="imagined", chooser="agent")
HALF_WALK = Mixture([(0.5, Walk()), (0.5, Uniform())])
METHODS: dict[str, Method] = {
    "attributes / uniform": Method("attributes", Uniform()),
    "attributes / DNS 4": Method("attributes", DNS(4)),
    "attributes / DNS 4 + imagined, random": Method("attributes", DNS(4), RandomSwaps()),
    "attributes / DNS 4 + imagined x 0.3, random": Method(
        "attributes", DNS(4), RandomSwaps(), weight=0.3
    ),
    "attributes / walk (the paper's form)": Method("attributes", Walk()),
    "attributes / half walk, half uniform": Method("attributes", HALF_WALK),
    "attributes / uniform + imagined, random": Method("attributes", Uniform(), RandomSwaps()),
    "id / uniform": Method("id", Uniform()),
    "id / DNS 4": Method("id", DNS(4)),
    "id / walk (the paper's form)": Method("id", Walk()),
    "id / half walk, half uniform": Method("id", HALF_WALK),
    "attributes / DNS 16": Method("attributes", DNS(16)),
    "id / DNS 16": Method("id", DNS(16)),
}
DEFAULT = "attributes / DNS 4 + imagined x 0.3, random"
LITERAL_ROW = "attributes / walk (the paper's form)"
SWAPPED = Method("attributes", DNS(4), weight=0.3, agent=IMAGINED, warmup=10, like=DEFAULT, seeds=2)
WALKED = Method("attributes", Walk(), agent=LITERAL, warmup=10, like=LITERAL_ROW, seeds=2)
METHODS |= {
    "attributes / DNS 4 + imagined x 0.3, learned": SWAPPED,
    "attributes / learned walk (the paper's form)": WALKED,
    "attributes / DNS 4 + imagined x 0.3, random, after 10 epochs of uniform": Method(
        "attributes", DNS(4), RandomSwaps(), weight=0.3, warmup=10, like=DEFAULT
    ),
    "attributes / walk, after 10 epochs of uniform": Method(
        "attributes", Walk(), warmup=10, like=LITERAL_ROW
    ),
}
for _steps in range(2, 6):
    METHODS[f"attributes / DNS 4 + imagined x 0.3, random, T = {_steps}"] = Method(
        "attributes", DNS(4), RandomSwaps(steps=_steps), weight=0.3, like=DEFAULT
    )
    METHODS[f"attributes / walk, T = {_steps}"] = Method(
        "attributes", Walk(steps=_steps), like=LITERAL_ROW
    )
METHODS |= {
    "attributes / DNS 4 + imagined x 0.3, learned, cold encoder": replace(
        SWAPPED, encoder="random"
    ),
    "attributes / learned walk, cold encoder": replace(WALKED, encoder="random"),
    "attributes / DNS 4 + imagined x 0.3, learned, without warm-up": replace(SWAPPED, warmup=0),
    "attributes / learned walk, without warm-up": replace(WALKED, warmup=0),
}
for _steps in range(2, 6):
    METHODS[f"attributes / DNS 4 + imagined x 0.3, learned, T = {_steps}"] = replace(
        SWAPPED, depth=_steps, seeds=1
    )
    METHODS[f"attributes / learned walk, T = {_steps}"] = replace(WALKED, depth=_steps, seeds=1)
LINES = ("popularity", "ease", "itemknn")

WIKI = ("*wikiPageWikiLink*", "*rdf-syntax-ns#type*")
SETS: dict[str, Set] = {
    "ml-100k": Set(
        FilterConfig(k_core=10, min_entity=10, min_relation=50),
        ((0.03, 0.02), (0.03, 0.04), (0.06, 0.02), (0.06, 0.04), (0.03, 0.06)),
        2048,
        FitConfig(epochs=300, every=3, patience=5),
    ),
    "ml-1m": Set(
        FilterConfig(leave_out=WIKI, min_entity=10, min_relation=50),
        ((0.07, 0.02), (0.07, 0.03), (0.07, 0.045)),
        8192,
        FitConfig(epochs=200, every=5, patience=3),
    ),
    "amazon-beauty": Set(
        FilterConfig(min_entity=10, min_relation=50),
        ((0.1, 0.02), (0.1, 0.05)),
        8192,
        FitConfig(epochs=300, every=10, patience=4),
    ),
    "last-fm": Set(
        FilterConfig(min_entity=10, min_relation=50),
        ((0.1, 0.01), (0.1, 0.02)),
        8192,
        FitConfig(epochs=100, every=10, patience=2),
    ),
}


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
    both = Ragged.from_pairs(
        np.concatenate([parts.train.row_of(), parts.valid.row_of()]),
        np.concatenate([parts.train.indices, parts.valid.indices]),
        len(parts.train),
    )
    return World(name, data, parts, both, Facts.build(data))


def validation(world: World, factors: tuple[np.ndarray, np.ndarray]) -> float:
    """The number to raise: recall@20 + ndcg@20 on validation."""
    lists = top_k_all(*factors, world.parts.train, 20)
    values = per_user(lists, world.parts.valid, [20], ["recall", "ndcg"])
    return float(sum(np.nanmean(values[m]) for m in METRICS))


def learn(
    world: World, method: Method, trial: tuple[float, float], seed: int
) -> tuple[Recommender, dict[str, Any]]:
    """Learn one model to convergence; the model and what to keep of the way there."""
    settings = SETS[world.name]
    config = RecommenderConfig(
        vectors=method.vectors,  # type: ignore[arg-type]
        learning_rate=trial[0],
        l2=trial[1],
        batch=settings.batch,
        swap_weight=method.weight,
    )
    model = build(config, world.parts.train, world.facts, seed=seed)
    start = time.process_time()
    if method.agent:
        best = co_train(world, model, method, seed)
    else:
        train = world.parts.train
        for epoch in range(method.warmup):
            rng = generator(seed, f"helps/warmup/{epoch}")
            model.epoch(train.row_of(), train.indices, Uniform(), rng=rng)
        fit = fit_recommender(
            model,
            world.parts.train,
            method.negatives,
            lambda m: validation(world, m.factors()),
            settings.fit,
            rng=generator(seed, "helps/order"),
            swaps=method.swaps,
        )
        best = fit.best.epoch, fit.best.score
    return model, {
        "learning_rate": trial[0],
        "l2": trial[1],
        "seed": seed,
        "validation": best[1],
        "epoch": best[0],
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def co_train(world: World, model: Recommender, method: Method, seed: int) -> tuple[int, float]:
    """Learn with the agent, in turn; the best epoch and its validation number."""
    fit = SETS[world.name].fit
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
        ),
        signals=method.agent or SignalConfig(),
        seed=seed,
        # the trainer stops by the number of that name: hand it the one all rows are stopped by
        validate=lambda scorer: {"ndcg@20": validation(world, (scorer.user, scorer.item))},
    )
    trainer.run()
    return trainer.progress.stopper.best_epoch, trainer.progress.stopper.best


def run_cell(
    world: World, name: str, method: Method, seeds: int, cache: Path, deadline: float
) -> None:
    """Tune, then one model per seed; every finished step is written at once."""
    path = RESULTS / world.name / f"{slug(name)}.json"
    cell = (
        json.loads(path.read_text()) if path.exists() else {"name": name, "trials": [], "runs": []}
    )
    cell["method"] = {"vectors": method.vectors, "weight": method.weight, "like": method.like}
    if not tune(world, name, method, cell, cache, deadline):
        return
    best = max(cell["trials"], key=lambda row: row["validation"], default=None)
    setting = setting_of(RESULTS / world.name / f"{slug(method.like or name)}.json")
    cell["runs"] = [run for run in cell["runs"] if setting.items() <= run.items()]
    for seed in range(len(cell["runs"]), min(seeds, method.seeds)):
        if time.time() > deadline:
            return
        if seed == 0 and best is not None:  # the winning trial is the first run
            row = dict(best)
            kept = np.load(trial_file(cache, world, name, cell["trials"].index(best)))
            user, item = kept["user"], kept["item"]
        else:
            model, row = learn(world, method, (setting["learning_rate"], setting["l2"]), seed)
            user, item = model.factors()
        lists = top_k_all(user, item, world.both, 20)
        values = keep_users(world, lists, cache, f"{slug(name)}.{seed}")
        cell["runs"].append(row | {m: float(np.nanmean(values[m])) for m in METRICS})
        save(path, cell)
        print(world.name, name, seed, {k: cell["runs"][-1][k] for k in METRICS}, flush=True)


def tune(
    world: World,
    name: str,
    method: Method,
    cell: dict[str, Any],
    cache: Path,
    deadline: float,
) -> bool:
    """Learn with every setting of the set, unless another row's is taken; False: out of time."""
    path = RESULTS / world.name / f"{slug(name)}.json"
    for trial in () if method.like else SETS[world.name].trials[len(cell["trials"]) :]:
        if time.time() > deadline:
            return False
        model, row = learn(world, method, trial, 0)
        cell["trials"].append(row)
        user, item = model.factors()
        np.savez(trial_file(cache, world, name, len(cell["trials"]) - 1), user=user, item=item)
        save(path, cell)
    return True


def setting_of(path: Path) -> dict[str, float]:
    """The learning rate and l2 that won the trials of a row, which must be tuned by now."""
    trials = json.loads(path.read_text())["trials"]
    best = max(trials, key=lambda row: row["validation"])
    return {"learning_rate": best["learning_rate"], "l2": best["l2"]}


def trial_file(cache: Path, world: World, name: str, trial: int) -> Path:
    """Where the vectors of a trial are kept: the winner is tested without learning it again."""
    folder = cache / world.name
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{slug(name)}.trial{trial}.npz"


def keep_users(world: World, lists: np.ndarray, cache: Path, name: str) -> dict[str, np.ndarray]:
    """Test numbers of every user, kept for the paired tests."""
    values = per_user(lists, world.parts.test, [20], ["recall", "ndcg"])
    folder = cache / world.name
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{name}.npz", **values)
    return values


def run_line(world: World, name: str, cache: Path) -> None:
    """A reference line with its default settings, fitted to train."""
    path = RESULTS / world.name / f"{slug(name)}.json"
    if path.exists():
        return
    n_items = len(world.facts.of_item)
    start = time.process_time()
    scorer = fit_line(name, world.parts.train, n_items, 0, seed=0)
    if scorer.matrix is not None:
        lists = top_k_matrix(scorer.matrix, world.both, 20)
    else:
        lists = top_k_all(scorer.user, scorer.item, world.both, 20)
    values = keep_users(world, lists, cache, f"{slug(name)}.0")
    row = {m: float(np.nanmean(values[m])) for m in METRICS}
    row["cpu_seconds"] = round(time.process_time() - start, 1)
    save(path, {"name": name, "method": {"vectors": "line"}, "trials": [], "runs": [row]})


def slug(name: str) -> str:
    """A file name."""
    return "".join(c if c.isalnum() else "-" for c in name).replace("--", "-").strip("-").lower()


def save(path: Path, cell: dict[str, Any]) -> None:
    """Write aside, then rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(cell, indent=1) + "\n")
    aside.replace(path)


def main() -> None:
    """Run what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["ml-100k", "ml-1m", "amazon-beauty"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=Path(".cache/helps"))
    parser.add_argument("--minutes", type=float, default=1e9, help="start no cell after this")
    parser.add_argument("--table", action="store_true", help="only write the table")
    args = parser.parse_args()
    deadline = time.time() + 60 * args.minutes
    for name in [] if args.table else args.sets:
        world = read(name, args.data)
        for line in LINES:
            if line == "popularity" or len(world.facts.of_item) <= 15_000:
                run_line(world, line, args.cache)
        for seeds in sorted({1, args.seeds}):  # one seed of everything first
            for method in args.methods:
                run_cell(world, method, METHODS[method], seeds, args.cache, deadline)
    helps_table.write(RESULTS, args.cache, DEFAULT, [*LINES, *METHODS], HEAD)


if __name__ == "__main__":
    main()
