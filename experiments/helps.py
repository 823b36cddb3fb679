"""Do counterfactuals help the recommender? One command, every number of docs/results/helps.md.

    python experiments/helps.py --data FOLDER [--sets ml-100k ml-1m amazon-beauty] [--seeds 5]

FOLDER holds the data sets; `--sets last-fm --seeds 1` adds the fourth. All of it takes many hours
of a core. Every cell (set, method) is tuned by the same trials on validation with one seed, then
learned anew with each seed; test is looked at once per seed. Finished cells are kept in
docs/results/helps/ and not run again, with the numbers of every user in its folders `users`;
`--table` only writes the page. `--again` learns finished seeds once more where the numbers of
users are not there, and says how far it ends from what was written.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import helps_table
import helps_users
import numpy as np
from helps_rows import DEFAULT, LINES, METHODS, SETS, Method

from cerec.agent.agent import WalkAgent
from cerec.agent.config import AgentConfig
from cerec.data.dataset import Dataset
from cerec.data.filters import apply
from cerec.data.load import load
from cerec.data.split import Split, SplitConfig, split
from cerec.evaluate.ranking import per_user
from cerec.graph.ckg import Ckg
from cerec.graph.encoders import EncoderConfig
from cerec.graph.facts import Facts
from cerec.ragged import Ragged
from cerec.recommend.base import Recommender
from cerec.recommend.config import RecommenderConfig
from cerec.recommend.lines import fit_line
from cerec.recommend.models import build
from cerec.recommend.negatives import Uniform
from cerec.recommend.topk import top_k_all, top_k_matrix
from cerec.rng import generator
from cerec.threads import set_threads
from cerec.training.checkpoint import drop_checkpoint
from cerec.training.loop import TrainConfig, Trainer
from cerec.training.recommender import FitConfig, fit_recommender
from cerec.training.signals import SignalConfig

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results" / "helps"
METRICS = ("recall@20", "ndcg@20")
AGENT_EVERY = 3
HEAD = (HERE / "helps_head.md").read_text(encoding="utf-8")


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
    world: World,
    name: str,
    method: Method,
    trial: tuple[float, float],
    seed: int,
    fit: FitConfig,
    cache: Path,
) -> tuple[Recommender, dict[str, Any]]:
    """Learn one model until validation stops rising; the model, and what to keep of the way.

    Co-training takes hours on a large set: killed, it goes on from its checkpoint in `cache`.
    """
    settings = SETS[world.name]
    config = RecommenderConfig(
        model=method.model,  # type: ignore[arg-type]
        vectors=method.vectors,  # type: ignore[arg-type]
        learning_rate=trial[0],
        l2=trial[1],
        batch=settings.batch,
        swap_weight=method.weight,
        swap_known=method.known,
    )
    model = build(config, world.parts.train, world.facts, seed=seed)
    start = time.process_time()
    before = 0.0
    if method.agent:
        begun = cache / world.name / f"{slug(name)}.{seed}.{trial[0]}.{trial[1]}.begun"
        *best, before = co_train(world, model, method, seed, fit, begun)
        drop_checkpoint(begun)
    else:
        train = world.parts.train
        for epoch in range(method.warmup):
            rng = generator(seed, f"helps/warmup/{epoch}")
            model.epoch(train.row_of(), train.indices, Uniform(), rng=rng)
        found = fit_recommender(
            model,
            world.parts.train,
            method.negatives,
            lambda m: validation(world, m.factors()),
            fit,
            rng=generator(seed, "helps/order"),
            swaps=method.swaps,
        )
        best = [found.best.epoch, found.best.score]
    return model, {
        "learning_rate": trial[0],
        "l2": trial[1],
        "seed": seed,
        "validation": best[1],
        "epoch": best[0],
        "patience": fit.patience * fit.every,
        "cpu_seconds": round(before + time.process_time() - start, 1),
    }


def co_train(
    world: World, model: Recommender, method: Method, seed: int, fit: FitConfig, begun: Path
) -> tuple[int, float, float]:
    """Learn with the agent, in turn; the best epoch, its number, and seconds before a kill."""
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
            checkpoint_seconds=300.0,
        ),
        signals=method.agent or SignalConfig(),
        seed=seed,
        # the trainer stops by the number of that name: hand it the one all rows are stopped by
        validate=lambda scorer: {"ndcg@20": validation(world, (scorer.user, scorer.item))},
        folder=begun,
    )
    trainer.resume()
    before = sum(float(row["seconds"]) for row in trainer.progress.history)
    if not trainer.run():
        raise SystemExit("stopped; the command goes on from the files that are there")
    return trainer.progress.stopper.best_epoch, trainer.progress.stopper.best, before


def run_cell(
    world: World,
    name: str,
    method: Method,
    seeds: int,
    cache: Path,
    deadline: float,
    *,
    again: bool = False,
) -> None:
    """Tune, then one model per seed; every finished step is written at once."""
    path = RESULTS / world.name / f"{slug(name)}.json"
    begun = path.read_text() if path.exists() else '{"trials": [], "runs": []}'
    cell = {"name": name, **json.loads(begun)}
    cell["method"] = {
        "vectors": method.vectors,
        "weight": method.weight,
        "known": method.known,
        "like": method.like,
    }
    if not tune(world, name, method, cell, cache, deadline):
        return
    fit = SETS[world.name].fit_of(method)
    setting = setting_of(RESULTS / world.name / f"{slug(method.like or name)}.json")
    setting["patience"] = fit.patience * fit.every
    cell["runs"] = [run for run in cell["runs"] if setting.items() <= run.items()]
    for seed in range(seeds):
        if seed < len(cell["runs"]) and not (again and lacks_users(world, name, seed)):
            continue
        if time.time() > deadline:
            return
        trial = setting["learning_rate"], setting["l2"]
        model, row = learn(world, name, method, trial, seed, fit, cache)
        values = keep_users(world, top_k_all(*model.factors(), world.both, 20), name, seed)
        row |= {m: float(np.nanmean(values[m])) for m in METRICS}
        was = cell["runs"][seed : seed + 1]
        cell["runs"][seed : seed + 1] = [row]
        save(path, cell)
        print(world.name, name, seed, {m: row[m] for m in METRICS}, flush=True)
        for old in was:
            gaps = ", ".join(f"{m} {row[m] - old[m]:+.6f}" for m in METRICS)
            print(f"  against what was written before: {gaps}", flush=True)


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
        _, row = learn(world, name, method, trial, 0, SETS[world.name].trial, cache)
        cell["trials"].append(row)
        save(path, cell)
    return True


def setting_of(path: Path) -> dict[str, float]:
    """The learning rate and l2 that won the trials of a row, which must be tuned by now."""
    trials = json.loads(path.read_text())["trials"]
    best = max(trials, key=lambda row: row["validation"])
    return {"learning_rate": best["learning_rate"], "l2": best["l2"]}


def keep_users(world: World, lists: np.ndarray, name: str, seed: int) -> dict[str, np.ndarray]:
    """Test numbers of every user, kept for the paired tests."""
    values = per_user(lists, world.parts.test, [20], ["recall", "ndcg"])
    helps_users.keep(RESULTS / world.name, slug(name), seed, values)
    return values


def lacks_users(world: World, name: str, seed: int) -> bool:
    """True when the numbers of users of a finished seed are not there."""
    return helps_users.of_seed(RESULTS / world.name, slug(name), METRICS[0], seed) is None


def run_line(world: World, name: str, *, again: bool = False) -> None:
    """A reference line with its default settings, fitted to train."""
    path = RESULTS / world.name / f"{slug(name)}.json"
    if path.exists() and not (again and lacks_users(world, name, 0)):
        return
    n_items = len(world.facts.of_item)
    start = time.process_time()
    scorer = fit_line(name, world.parts.train, n_items, 0, seed=0)
    if scorer.matrix is not None:
        lists = top_k_matrix(scorer.matrix, world.both, 20)
    else:
        lists = top_k_all(scorer.user, scorer.item, world.both, 20)
    values = keep_users(world, lists, name, 0)
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
    parser.add_argument(
        "--cache", type=Path, default=Path(".cache/helps"), help="for models begun and not finished"
    )
    parser.add_argument(
        "--again", action="store_true", help="learn seeds again whose numbers of users are lost"
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="start no cell after this")
    parser.add_argument("--table", action="store_true", help="only write the table")
    args = parser.parse_args()
    set_threads()
    deadline = time.time() + 60 * args.minutes
    for name in [] if args.table else args.sets:
        world = read(name, args.data)
        for line in LINES:
            if line == "popularity" or len(world.facts.of_item) <= 15_000:
                run_line(world, line, again=args.again)
        for seeds in sorted({1, args.seeds}):  # one seed of everything first
            for row in args.methods:
                method = METHODS[row]
                if method.short and SETS[name].brief is None:
                    continue  # no row of this set is learned more briefly than others
                run_cell(world, row, method, seeds, args.cache, deadline, again=args.again)
    helps_table.write(RESULTS, DEFAULT, [*LINES, *METHODS], HEAD)


if __name__ == "__main__":
    main()
