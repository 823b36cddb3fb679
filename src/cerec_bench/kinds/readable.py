"""What the default recommender's parts do: the dial, shares of lift, cold items.

Lists have 20 items. Settings are chosen on validation, figures are of test.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.explain.explainer import Explainer
from cerec.metrics import PerUser, mean, per_user
from cerec.recommend.linear.model import Linear, LinearArrays
from cerec.recommend.protocol import Doubles
from cerec.recommend.rank import lists
from cerec.rng import generator
from cerec.runs.fit import fit
from cerec.runs.stored import linear_subject
from cerec.runs.training import Training
from cerec.settings.run import LINEAR, RunConfig
from cerec_bench.cells import Cell, Table
from cerec_bench.plans.experiment import Job
from cerec_bench.plans.files import Experiment, Point
from cerec_bench.report.tables import Grid

K = 20
TIMES = (0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 4.0)
"""How strongly attributes count, in units of what validation chose."""
PARTS = ("attributes", "history", "popularity")
_BLOCK = 128  # users whose scores are held at once


def measure(job: Job) -> Table:
    """All results of one set."""
    data, parts, users = job.data, job.parts, job.option("users", 2000)
    facts, explained = Facts.build(data), job.option("explained", 300)
    job.note("fitting")
    arrays = _fitted(data, parts.train, parts.valid)
    known = parts.known_before("test")
    rows = _some(parts.train, parts.test, users)
    dial = []
    for times in TIMES:
        job.note(f"attributes {times:g} times as strong")
        told = replace(arrays, unit=times * arrays.unit, bits=arrays.bits - 3)
        subject = linear_subject(told.named(), data, facts, known)
        found = _means(map(subject.scores, _blocks(rows)), known, parts.test, rows)
        few = [data.users[u] for u in rows[:explained]]
        answers = Explainer(data, subject).explain_all(few, k=K, by="attributes")
        share = int((answers["status"] == "verified").sum()) / max(len(answers), 1)
        dial.append({"times": times, **found, "answered": share, "listed": len(answers)})
    job.note("shares and cold items")
    return {
        "users": len(rows),
        "explained": explained,
        "dial": dial,
        "shares": _shares(Linear(arrays), known, parts.test, rows),
        "cold": _cold(data, facts, parts, users),
    }


measure.reads = ("filters", "split")  # type: ignore[attr-defined]


def _fitted(data: Dataset, train: Ragged, valid: Ragged) -> LinearArrays:
    """The model of the train part, with settings chosen on validation."""
    nothing = Ragged(np.zeros(len(train) + 1, np.int64), np.zeros(0, np.int32))
    config = RunConfig(model={"name": LINEAR, "holdout": True})
    run = fit(data, Split(train, valid, nothing), Training(config, 0, {}, time.perf_counter()))
    return LinearArrays(**run.model.arrays)


def _shares(model: Linear, known: Ragged, test: Ragged, rows: NDArray[np.int64]) -> Table:
    """Whence listed items are above the average unseen one, and the lists without each part."""
    lift = {name: [] for name in PARTS}  # type: dict[str, list[Doubles]]
    without = {name: [] for name in ("nothing", *PARTS)}  # type: dict[str, list[Doubles]]
    for block in _blocks(rows):
        scores, parts = _parts(model, block)
        mine = known.take(block)
        listed = lists(scores, mine.indptr, mine.indices, K)
        free = np.ones(scores.shape, bool)
        free[mine.row_of(), mine.indices] = False
        without["nothing"].append(scores)
        for name, part in parts.items():
            usual = (part * free).sum(axis=1) / free.sum(axis=1)
            there = np.take_along_axis(part, np.maximum(listed, 0), axis=1) - usual[:, None]
            lift[name].append((there * (listed >= 0)).sum(axis=1))
            without[name].append(scores - part)
    sums = {name: np.concatenate(found) for name, found in lift.items()}
    total = np.sum(list(sums.values()), axis=0)
    return {
        "share": {name: _ratio(part, total) for name, part in sums.items()},
        "without": {n: _means(iter(kept), known, test, rows) for n, kept in without.items()},
    }


def _ratio(part: Doubles, total: Doubles) -> Table:
    """Ratio of sums, with an interval of 95 % over 1,000 draws of the users."""
    again = generator(0, "readable/bootstrap").integers(0, len(part), (1000, len(part)))
    low, high = np.quantile(part[again].sum(axis=1) / total[again].sum(axis=1), [0.025, 0.975])
    return {"share": float(part.sum() / total.sum()), "low": float(low), "high": float(high)}


def _parts(model: Linear, block: NDArray[np.int64]) -> tuple[Doubles, dict[str, Doubles]]:
    a, of = model.arrays, model.of_item
    values = sp.csr_matrix((np.repeat(a.scale, of.counts), of.indices, of.indptr))
    values.resize(model.n_items, len(a.share))
    scores, effects = model.both(block)
    attributes = np.asarray(values @ effects.T).T
    popular = np.broadcast_to(a.own, scores.shape)
    return scores, dict(
        zip(PARTS, (attributes, scores - attributes - popular, popular), strict=True)
    )


def _cold(data: Dataset, facts: Facts, parts: Split, users: int) -> Table:
    """Items that nobody had in train: a tenth of those with attributes, ranked among themselves.

    `linear` knows their values only, as content-kNN does, which adds up the cosines of values
    (weighed by rarity) with the items of the history. Nobody took them, so `popularity` has
    nothing to say of them: it draws lots.
    """
    able = np.flatnonzero(facts.of_item.counts > 0)
    rng = generator(0, "readable/cold")
    away = np.zeros(len(data.items), bool)
    away[rng.choice(able, max(len(able) // 10, 1), replace=False)] = True
    train, valid = _only(parts.train, ~away), _only(parts.valid, ~away)
    held = [_only(part, away) for part in (parts.train, parts.valid, parts.test)]
    wanted = Ragged.from_pairs(
        np.concatenate([part.row_of() for part in held]),
        np.cumsum(away)[np.concatenate([part.indices for part in held])] - 1,
        len(train),
    )
    model, rows, cold = Linear(_fitted(data, train, valid)), _some(train, wanted, users), away
    content, n_cold = _content(facts), int(away.sum())
    scores: dict[str, list[Doubles]] = {"linear": [], "content-kNN": [], "popularity": []}
    for block in _blocks(rows):
        history = train.take(block)
        ones, shape = np.ones(history.size), (len(block), len(away))
        taken = sp.csr_matrix((ones, history.indices, history.indptr), shape)
        scores["linear"].append(model.scores(block)[:, cold])
        scores["content-kNN"].append((taken @ content @ content[cold].T).toarray())
        scores["popularity"].append(rng.random((len(block), n_cold)))
    nothing = Ragged(np.zeros(len(train) + 1, np.int64), np.zeros(0, np.int32))
    out: Table = {"items": n_cold, "users": len(rows)}
    return out | {n: _means(iter(found), nothing, wanted, rows) for n, found in scores.items()}


def _content(facts: Facts) -> sp.csr_matrix:
    """(I, V) values weighed by rarity, rows of length one."""
    of, rare = facts.of_item, np.log(len(facts.of_item) / np.maximum(facts.holders.counts, 1))
    matrix = sp.csr_matrix((rare[of.indices], of.indices, of.indptr), (len(of), len(rare)))
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(1)).ravel())
    return sp.csr_matrix(sp.diags(1.0 / np.maximum(length, 1e-12)) @ matrix)


def _means(
    scores: Iterator[Doubles], known: Ragged, wanted: Ragged, rows: NDArray[np.int64]
) -> Table:
    """Recall and NDCG of the lists that these scores make, block by block."""
    found = []
    for block, table in zip(_blocks(rows), scores, strict=True):
        mine = known.take(block)
        found.append(lists(table, mine.indptr, mine.indices, K))
    told: PerUser = per_user(np.concatenate(found), wanted.take(rows), (K,), ("recall", "ndcg"))
    return {name.partition("@")[0]: value for name, value in mean(told).items()}


def _some(train: Ragged, wanted: Ragged, most: int) -> NDArray[np.int64]:
    """Users with something known and something wanted, at most so many."""
    users = np.flatnonzero((wanted.counts > 0) & (train.counts > 0))
    draw = generator(0, "readable/users")
    return np.sort(draw.choice(users, min(most, len(users)), replace=False))


def _blocks(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [rows[n : n + _BLOCK] for n in range(0, len(rows), _BLOCK)]


def _only(part: Ragged, keep: NDArray[np.bool_]) -> Ragged:
    mine = keep[part.indices]
    return Ragged.from_pairs(part.row_of()[mine], part.indices[mine], len(part))


def tables(experiment: Experiment, here: Mapping[Point, Cell]) -> tuple[list[Grid], list[str]]:
    """The dial, the shares and the cold items of all sets."""
    found = [(experiment.sets[p.set].title, cell.found) for p, cell in here.items()]
    dial = [
        [f"{times:g}", *(text for _, f in found for text in _dialled(f["dial"][n]))]
        for n, times in enumerate(TIMES)
    ]
    shares = [
        [f"{title}: {name}", f"{x['share']:.3f} ({x['low']:.3f} to {x['high']:.3f})"]
        + [f"{f['shares']['without'][n]['recall']:.4f}" for n in (name, "nothing")]
        for title, f in found
        for name, x in f["shares"]["share"].items()
    ]
    cold = [
        [f"{title}: {name}", *(f"{f['cold'][name][m]:.4f}" for m in ("recall", "ndcg"))]
        + [f"{f['cold'][n]:,}" for n in ("items", "users")]
        for title, f in found
        for name in ("linear", "content-kNN", "popularity")
    ]
    heads = [text for title, _ in found for text in (f"{title}: recall@20", "answered")]
    parts = ["", "share of the lift", "recall@20 without it", "with it"]
    return [
        Grid("How strongly attributes count, against what validation chose.", ["", *heads], dial),
        Grid("Shares of the lift, with intervals of 95 %.", parts, shares),
        Grid("Items that nobody took.", ["", "recall@20", "NDCG@20", "items", "users"], cold),
    ], []


def _dialled(row: Table) -> tuple[str, str]:
    return f"{row['recall']:.4f}", f"{row['answered']:.0%}"
