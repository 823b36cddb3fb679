"""How well attributes tell who takes an item that was not there in training.

    python benchmarks/new_items.py demo FOLDER ...   # about two minutes for each

A fifth of the items are left out of the data and scored by their attributes. Printed is the chance
that a user who took such an item stands before one who did not, users by the item's rank, as the
mean over the items: for the vector of `run.new_item`, for the attributes on no item's own part (0),
on that of a random item, for a random item's vector and for the mean item without attributes.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import cerec
from cerec.data.ragged import Ragged
from cerec.data.restrict import restrict
from cerec.explain.lookup import value_rows
from cerec.recommend.exact import exact_ranks
from cerec.recommend.newitem import add_item
from cerec.recommend.scorer import Scorer
from cerec.settings.parsing import parse
from cerec.settings.run import RunConfig
from cerec.threads import set_threads


def chance(better: NDArray[np.float64], took: NDArray[np.bool_]) -> float:
    """AUC of those who took the item."""
    ranks, n = rankdata(better), int(took.sum())
    return float((ranks[took].sum() - n * (n + 1) / 2) / (n * (len(took) - n)))


def measure(source: str, vectors: str, seed: int) -> dict[str, float]:
    """The figures of one data set, one kind of vectors and one choice of items."""
    data, rng = cerec.load(source), np.random.default_rng(seed)
    gone = rng.random(len(data.items)) < 0.2
    settings = {"recommender": {"vectors": vectors}, "train": {"agent_epochs": 0}}
    run = cerec.train(restrict(data, items=~gone), parse(RunConfig, settings), seed=seed)
    whole = cerec.Run(data, run.split, run.scorer)
    scorer, n, known = run.scorer, len(run.data.items), run.split.train
    there = {pair for item in run.data.items for pair in run.attributes(item)}
    users, pairs = np.arange(len(data.users)), data.interactions
    found: dict[str, list[float]] = {}
    for row in np.flatnonzero(gone):
        took = np.isin(users, pairs.user[pairs.item == row])
        if not 0 < took.sum() < len(took):
            continue
        told = [pair for pair in whole.attributes(data.items[int(row)]) if pair in there]
        values = value_rows(run.data, run.facts, told)
        share, other = _pooled(scorer, values), int(rng.integers(n))
        theirs = _pooled(scorer, run.facts.of_item.row(other))
        for name, vector in {
            "new_item": add_item(scorer, run.facts, values)[0].item[n],
            "zero": share,
            "random own part": scorer.item[other] - theirs + share,
            "random item": scorer.item[other],
            "mean item": scorer.item.mean(axis=0),
        }.items():
            better = _standing(scorer, vector, known)
            found.setdefault(name, []).append(chance(better, took))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _pooled(scorer: Scorer, values: NDArray[np.int32]) -> NDArray[np.float32]:
    """(d,) what these values add to an item's vector."""
    total = scorer.effect[values].sum(axis=0)
    return total / max(len(values), 1) if scorer.pooling == "mean" else total


def _standing(scorer: Scorer, vector: NDArray[np.float32], known: Ragged) -> NDArray[np.float64]:
    """(U,) how high an item with this vector stands, as a share of the unknown items."""
    item = np.vstack([scorer.item, vector.astype(np.float32)])
    rank = exact_ranks(replace(scorer, item=item), len(item) - 1, known)[1]
    return -rank / (len(item) - known.counts)


if __name__ == "__main__":
    set_threads()
    for source in sys.argv[1:] or ["demo"]:
        for vectors in ("attributes", "id"):
            rows = [measure(source, vectors, seed) for seed in (0, 1)]
            words = (f"{name} {np.mean([row[name] for row in rows]):.3f}" for name in rows[0])
            print(f"{source}, {vectors}: {', '.join(words)}", flush=True)
