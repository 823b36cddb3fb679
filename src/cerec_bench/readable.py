"""What the default recommender's parts do: the dial, shares of lift, cold items.

Lists have 20 items. Intervals are of 95 %, by drawing users again 1,000 times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import split
from cerec.explain.explainer import Explainer
from cerec.metrics import per_user
from cerec.recommend.linear.choose import Looked, choose, choose_weights
from cerec.recommend.linear.fit import Material, build
from cerec.recommend.linear.model import Linear
from cerec.recommend.linear.weighing import Marks, Weighing
from cerec.recommend.protocol import Doubles
from cerec.recommend.rank import lists
from cerec.rng import generator
from cerec.runs.kept import Kept
from cerec.settings.linear import LinearConfig

K = 20
TIMES = (0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 4.0)
"""How strongly attributes count, in units of what validation chose."""
_BLOCK = 128  # users whose scores are held at once
Found = dict[str, Any]


class Fitted:
    """The settings of one set, chosen on validation, and the model of the train part."""

    def __init__(self, data: Dataset, train: Ragged, valid: Ragged, test: Ragged) -> None:
        self.data, self.train, self.test = data, train, test
        self.known = _both(train, valid)
        self.facts = facts = Facts.build(data)
        marks = Marks.of(data)

        def weighed(weighing: Weighing) -> Material:
            return Material(train, marks.weights(train, weighing), facts)

        turns = marks.options(train, LinearConfig())
        _, self.material, sample, _ = choose_weights(weighed, valid, turns)
        self.looked: Looked = choose(self.material, valid, dial=0.01, sample=sample)

    def kept(self, times: float = 1.0) -> Kept:
        """The model with attributes that count so many times as much."""
        chosen = self.looked.chosen
        relations = {r: times * w for r, w in chosen.relations.items()}
        chosen = replace(chosen, relations=relations)
        return Kept.linear(build(self.material, chosen, factors=self.looked.factors))

    def users(self, most: int) -> NDArray[np.int64]:
        """Users with something held out for the test, at most so many."""
        users = np.flatnonzero((self.test.counts > 0) & (self.train.counts > 0))
        draw = generator(0, "readable/users")
        return np.sort(draw.choice(users, min(most, len(users)), replace=False))


def measured(data: Dataset, *, users: int = 2000, explained: int = 300, seed: int = 0) -> Found:
    """All results of one set."""
    parts = split(data, seed=seed)
    fitted = Fitted(data, parts.train, parts.valid, parts.test)
    return {
        "set": data.name,
        "seed": seed,
        "k": K,
        "users": len(fitted.users(users)),
        "explained": explained,
        "dial": [_dial(fitted, times, users, explained) for times in TIMES],
        "shares": _shares(fitted, users),
        "cold": cold(data, users=users, seed=seed),
    }


def _dial(fitted: Fitted, times: float, users: int, explained: int) -> Found:
    kept = fitted.kept(times)
    subject = kept.subject(fitted.data, fitted.facts, fitted.known)
    rows = fitted.users(users)
    found = _figures(fitted, rows, (subject.scores(block) for block in _blocks(rows)))
    few = [fitted.data.users[u] for u in rows[:explained]]
    answers = Explainer(fitted.data, subject).explain_all(few, k=K, by="attributes")
    share = int((answers["status"] == "verified").sum()) / max(len(answers), 1)
    return {"times": times, **_means(found), "answered": share, "listed": len(answers)}


def _shares(fitted: Fitted, users: int) -> Found:
    """Whence listed items are above the average unseen one, and the lists without each part."""
    model = _linear(fitted)
    values = _values(model)
    rows = fitted.users(users)
    lift = {name: np.zeros(len(rows)) for name in ("attributes", "history", "popularity")}
    without: dict[str, list[Doubles]] = {name: [] for name in ("nothing", *lift)}
    at = 0
    for block in _blocks(rows):
        scores, parts = _parts(model, values, block)
        for name, kept in without.items():
            kept.append(scores - parts[name] if name in parts else scores)
        known = fitted.known.take(block)
        listed = lists(scores, known.indptr, known.indices, K)
        free = np.ones(scores.shape, bool)
        free[known.row_of(), known.indices] = False
        for name, part in parts.items():
            mean = (part * free).sum(axis=1) / free.sum(axis=1)
            there = np.take_along_axis(part, np.maximum(listed, 0), axis=1) - mean[:, None]
            lift[name][at : at + len(block)] = (there * (listed >= 0)).sum(axis=1)
        at += len(block)
    total = np.sum(list(lift.values()), axis=0)
    return {
        "share": {name: _ratio(part, total) for name, part in lift.items()},
        "without": {
            name: _means(_figures(fitted, rows, iter(kept))) for name, kept in without.items()
        },
    }


def cold(data: Dataset, *, users: int = 2000, seed: int = 0) -> Found:
    """Items that nobody had in train: a tenth of those with attributes, ranked among themselves.

    `linear` knows their values only, as content-kNN does, which adds up the cosines of values
    (weighed by rarity) with the items of the history. Nobody took them, so `popularity` has
    nothing to say of them: it draws lots.
    """
    parts = split(data, seed=seed)
    facts = Facts.build(data)
    able = np.flatnonzero(facts.of_item.counts > 0)
    rng = generator(seed, "readable/cold")
    away = np.zeros(len(data.items), bool)
    away[rng.choice(able, max(len(able) // 10, 1), replace=False)] = True
    three = parts.train, parts.valid, parts.test
    train, valid, _ = (_only(part, ~away) for part in three)
    held = [_only(part, away) for part in three]
    wanted = _both(_both(held[0], held[1]), held[2])
    fitted = Fitted(data, train, valid, wanted)
    model, rows, cold_rows = _linear(fitted), fitted.users(users), np.flatnonzero(away)
    content = _content(facts)
    scores: dict[str, list[Doubles]] = {"linear": [], "content-kNN": [], "popularity": []}
    for block in _blocks(rows):
        history = train.take(block)
        ones = np.ones(history.size)
        taken = sp.csr_matrix((ones, history.indices, history.indptr), (len(block), len(away)))
        scores["linear"].append(model.scores(block)[:, cold_rows])
        scores["content-kNN"].append((taken @ content @ content[cold_rows].T).toarray())
        scores["popularity"].append(rng.random((len(block), len(cold_rows))))
    place = np.cumsum(away) - 1
    goal = Ragged(wanted.indptr, place[wanted.indices].astype(np.int32)).take(rows)
    out: Found = {"items": len(cold_rows), "users": len(rows)}
    for name, found in scores.items():
        table = np.concatenate(found)
        none = np.zeros(len(rows) + 1, np.int64)
        listed = lists(table, none, np.zeros(0, np.int32), min(K, len(cold_rows)))
        out[name] = _means(per_user(listed, goal, (listed.shape[1],), ("recall", "ndcg")))
    return out


def _linear(fitted: Fitted) -> Linear:
    subject = fitted.kept().subject(fitted.data, fitted.facts, fitted.known)
    model = subject.model
    assert isinstance(model, Linear)
    return model


def _content(facts: Facts) -> sp.csr_matrix:
    """(I, V) values weighed by rarity, rows of length one."""
    n_items = len(facts.of_item)
    rare = np.log(n_items / np.maximum(facts.holders.counts, 1))
    of = facts.of_item
    matrix = sp.csr_matrix((rare[of.indices], of.indices, of.indptr), (n_items, len(rare)))
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(1)).ravel())
    return sp.csr_matrix(sp.diags(1.0 / np.maximum(length, 1e-12)) @ matrix)


def _values(model: Linear) -> sp.csr_matrix:
    """(V, I) facts, scaled."""
    a, of = model.arrays, model.of_item
    data = np.repeat(a.scale, of.counts)
    return sp.csr_matrix((data, of.indices, of.indptr), (model.n_items, len(a.share))).T.tocsr()


def _parts(
    model: Linear, values: sp.csr_matrix, block: NDArray[np.int64]
) -> tuple[Doubles, dict[str, Doubles]]:
    scores, effects = model.both(block)
    attributes = np.asarray(effects @ values)
    nobody = model.scores_from([np.zeros(0, np.int32)])
    popular = np.broadcast_to(nobody, scores.shape)
    history = scores - attributes - popular
    return scores, {"attributes": attributes, "history": history, "popularity": popular}


def _figures(
    fitted: Fitted, rows: NDArray[np.int64], scores: Iterator[Doubles]
) -> dict[str, Doubles]:
    known, found = fitted.known, []
    for block, table in zip(_blocks(rows), scores, strict=True):
        mine = known.take(block)
        found.append(lists(table, mine.indptr, mine.indices, K))
    return per_user(np.concatenate(found), fitted.test.take(rows), (K,), ("recall", "ndcg"))


def _means(found: dict[str, Doubles]) -> Found:
    names = {f"{name.partition('@')[0]}": values for name, values in found.items()}
    return {name: float(np.nanmean(values)) for name, values in names.items()}


def _ratio(part: Doubles, total: Doubles) -> Found:
    """Ratio of sums with its interval."""
    draw = generator(0, "readable/bootstrap")
    again = draw.integers(0, len(part), (1000, len(part)))
    drawn = part[again].sum(axis=1) / total[again].sum(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"share": float(part.sum() / total.sum()), "low": float(low), "high": float(high)}


def _blocks(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [rows[n : n + _BLOCK] for n in range(0, len(rows), _BLOCK)]


def _only(part: Ragged, keep: NDArray[np.bool_]) -> Ragged:
    mine = keep[part.indices]
    return Ragged.from_pairs(part.row_of()[mine], part.indices[mine], len(part))


def _both(one: Ragged, other: Ragged) -> Ragged:
    user = np.concatenate([one.row_of(), other.row_of()])
    return Ragged.from_pairs(user, np.concatenate([one.indices, other.indices]), len(one))
