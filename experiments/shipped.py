"""What does `cerec train` give with nothing set? The rows beside those of experiments/helps.py.

    python experiments/shipped.py --data FOLDER [--sets ml-100k ml-1m amazon-beauty] [--seeds 3]

Data, filters and split are those of helps.py; `--whole` leaves nothing out, as when a person types
`cerec train FOLDER`. All other settings are the defaults, but for the agent's own epochs, which
change no list. Finished models are kept in docs/results/shipped/; a killed one goes on from
its checkpoint in `--cache`. `python experiments/helps.py --data . --table` writes the page.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from helps_rows import SETS

from cerec.data.dataset import Dataset
from cerec.data.filters import apply
from cerec.data.load import load
from cerec.data.split import split, with_parts
from cerec.files import write_json
from cerec.runs.train import train
from cerec.settings.data import FilterConfig, SplitConfig
from cerec.settings.run import RunConfig

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results" / "shipped"
CONFIG = RunConfig.of({"train": {"agent_epochs": 0}})


def parted(folder: Path, filters: FilterConfig) -> Dataset:
    """The data as every model of helps.py sees it: one split, whatever the seed."""
    data, _ = apply(load(folder), filters)
    return with_parts(data, split(data, SplitConfig(), seed=0))


def learn(data: Dataset, seed: int, cache: Path) -> dict[str, Any]:
    """One model with the settings as shipped, and its numbers."""
    folder = cache / f"{data.name}.{len(data.triples)}.{seed}"
    run = train(data, CONFIG, seed=seed, out=folder, resume=True)
    if not run.meta["finished"]:
        raise SystemExit("stopped; the command goes on from the files that are there")
    shutil.rmtree(folder)
    figures = {name: run.metrics["test"][name] for name in ("recall@20", "ndcg@20")}
    return {
        "seed": seed,
        "validation": {name: run.metrics["valid"][name] for name in figures},
        "epoch": run.meta["best_epoch"],
        "epochs": len(run.history),
        **figures,
    }


def main() -> None:
    """Learn what is missing, one seed of every set first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["ml-100k", "ml-1m", "amazon-beauty"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--whole", action="store_true", help="leave nothing out of the data")
    parser.add_argument("--cache", type=Path, default=Path(".cache/shipped"))
    args = parser.parse_args()
    for seeds in sorted({1, args.seeds}):
        for name in args.sets:
            path = RESULTS / f"{name}{'-whole' if args.whole else ''}.json"
            begun: dict[str, Any] = {"set": name, "whole": args.whole, "runs": []}
            if path.exists():
                begun = json.loads(path.read_text())
            if len(begun["runs"]) >= seeds:
                continue
            data = parted(args.data / name, FilterConfig() if args.whole else SETS[name].filters)
            for seed in range(len(begun["runs"]), seeds):
                begun["runs"].append(learn(data, seed, args.cache))
                write_json(path, begun)
                print(path.stem, begun["runs"][-1], flush=True)


if __name__ == "__main__":
    main()
