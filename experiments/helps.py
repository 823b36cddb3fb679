"""Do counterfactuals help the recommender? One command, every number of docs/results/helps.md.

    python experiments/helps.py --data FOLDER [--sets ml-100k ml-1m amazon-beauty] [--seeds 5]

FOLDER holds the data sets; `--sets last-fm --seeds 1` adds the fourth. All of it takes many hours
of a core. Every cell (set, method) is tuned by the same trials on validation with one seed, then
learned anew with each seed; test is looked at once per seed. Finished cells are kept in
docs/results/helps/ and not run again, but for models that may have risen further and are allowed
more epochs now, with the numbers of every user in its folders `users`;
`--table` only writes the page. `--again` learns finished seeds once more where the numbers of
users are not there, and says how far it ends from what was written.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import helps_table
import helps_users
import numpy as np
from helps_compare import may_rise
from helps_models import METRICS, World, learn, read, slug
from helps_rows import DEFAULT, LINES, METHODS, SETS, Method, Set

from cerec.metrics import per_user
from cerec.recommend.lines import ease_weights, itemknn_weights, popularity
from cerec.recommend.topk import top_k_all
from cerec.threads import set_threads
from cerec_bench.systems.chunks import top_lists_of

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results" / "helps"
HEAD = (HERE / "helps_head.md").read_text(encoding="utf-8")


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
    fit = SETS[world.name].fit
    if not tune(world, name, method, cell, cache, deadline):
        return
    setting = setting_of(RESULTS / world.name / f"{slug(method.like or name)}.json")
    setting["patience"] = fit.patience * fit.every
    if any(not setting.items() <= run.items() for run in cell["runs"]):
        if time.time() > deadline:
            return
        cell["runs"] = []  # learned with another setting or wait
        helps_users.drop(RESULTS / world.name, slug(name))
    for seed in range(seeds):
        if seed < len(cell["runs"]):
            enough = not cut_short(cell["runs"][seed], fit.epochs)
            if enough and not (again and lacks_users(world, name, seed)):
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


def cut_short(run: dict[str, Any], epochs: int) -> bool:
    """True for a model whose epochs were used up while it may have risen, if it gets more now."""
    return may_rise(run) and epochs > run["allowed"]


def tune(
    world: World,
    name: str,
    method: Method,
    cell: dict[str, Any],
    cache: Path,
    deadline: float,
) -> bool:
    """Learn with one setting after the other, unless another row's is taken; False: out of time."""
    path = RESULTS / world.name / f"{slug(name)}.json"
    while not method.like and (trial := next_trial(SETS[world.name], cell["trials"])):
        if time.time() > deadline:
            return False
        _, row = learn(world, name, method, trial, 0, SETS[world.name].trial, cache)
        cell["trials"].append(row)
        save(path, cell)
        print(world.name, name, "trial", trial, row["validation"], flush=True)
    return True


def next_trial(settings: Set, done: list[dict[str, Any]]) -> tuple[float, float] | None:
    """The setting to try next; None when the row is tuned.

    First those of the set. While the best l2 is the least or the greatest tried with its learning
    rate, half or twice of it (`Set.beyond`).
    """
    if len(done) < len(settings.trials):
        return settings.trials[len(done)]
    best = max(done, key=lambda row: row["validation"])
    tried = [row["l2"] for row in done if row["learning_rate"] == best["learning_rate"]]
    ends = {min(tried): 0.5, max(tried): 2.0}
    if best["l2"] not in ends or len(done) >= len(settings.trials) + settings.beyond:
        return None
    return best["learning_rate"], round(best["l2"] * ends[best["l2"]], 6)


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
    if name == "popularity":
        scorer = popularity(world.parts.train, n_items)
        lists = top_k_all(scorer.user, scorer.item, world.both, 20)
    else:
        make = {"ease": ease_weights, "itemknn": itemknn_weights}[name]
        lists = top_lists_of(make(world.parts.train, n_items), world.both, 20)
    values = keep_users(world, lists, name, 0)
    row = {m: float(np.nanmean(values[m])) for m in METRICS}
    row["cpu_seconds"] = round(time.process_time() - start, 1)
    save(path, {"name": name, "method": {"vectors": "line"}, "trials": [], "runs": [row]})


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
            if line != "ease" or len(world.facts.of_item) <= 15_000:
                run_line(world, line, again=args.again)
        for seeds in sorted({1, args.seeds}):  # one seed of everything first
            for row in args.methods:
                run_cell(world, row, METHODS[row], seeds, args.cache, deadline, again=args.again)
    helps_table.write(RESULTS, DEFAULT, [*LINES, *METHODS], HEAD)


if __name__ == "__main__":
    main()
