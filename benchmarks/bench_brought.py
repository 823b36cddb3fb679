"""Packages of others under `cerec.explainer`: are lists theirs, are verified answers true?

    python benchmarks/bench_brought.py FOLDER packages [--pairs 100]     the table of packages
    python benchmarks/bench_brought.py FOLDER orders [--pairs 40]        what to try first, by calls
    python benchmarks/bench_brought.py FOLDER history [--pairs 100]      smallest sets of own items

FOLDER is data such as ml-100k. Each model is fitted on all interactions, seed 0, with its ids in an
order of its own; 20 users are drawn, k = 10, of each the first listed items. A `verified` answer
is confirmed by scoring the changed item, or the shortened history, with the package itself and
ranking. Packages that are not installed are left out. Medians of milliseconds on one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

import cerec
from cerec.adapters import Implicit, ItemItem, LightFM, Ranker, attribute_columns
from cerec.explain.blackbox import BlackBox
from cerec.recommend.fitted import FittedScores, fitted

K = 10


@dataclass
class World:
    """Data, and what users have in an order that is not that of the data."""

    data: cerec.Dataset
    users: list[str]
    items: list[str]
    x: sp.csr_matrix

    @staticmethod
    def of(folder: str) -> World:
        data, rng = cerec.load(folder), np.random.default_rng(0)
        users, items = (rng.permutation(t.ids).tolist() for t in (data.users, data.items))
        user, item = ({x: n for n, x in enumerate(ids)} for ids in (users, items))
        p = data.interactions
        at = [user[data.users[u]] for u in p.user], [item[data.items[i]] for i in p.item]
        x = sp.csr_matrix((np.ones(len(p), np.float32), at), (len(users), len(items)))
        return World(data, users, items, x)

    @property
    def ids(self) -> dict[str, Any]:
        return {"users": self.users, "items": self.items}

    def pairs(self, run: cerec.Run, n: int) -> list[tuple[str, str]]:
        some = np.random.default_rng(0).choice(self.data.users.ids, 20, replace=False)
        return [(u, r.item) for u in some for r in run.recommend(u, k=K)[: -(-n // 20)]][:n]


Confirm = Callable[[cerec.Run, cerec.Explanation], bool]


def out_of_list(scores: np.ndarray, known: np.ndarray, item: int) -> bool:
    """By the package's scores alone."""
    rest = np.array(scores, float)
    rest[known] = -np.inf
    return int((rest > rest[item]).sum()) >= K


def by_history(w: World, ask: Callable[[np.ndarray], np.ndarray]) -> Confirm:
    """`ask(row)`: the package's scores of a history."""

    def confirm(_: cerec.Run, e: cerec.Explanation) -> bool:
        row = w.x[w.users.index(e.user)].toarray()[0]
        known = np.flatnonzero(row)
        row[[w.items.index(h.id) for h in e.history]] = 0.0
        return out_of_list(ask(row), known, w.items.index(e.item))

    return confirm


def changed(run: cerec.Run, e: cerec.Explanation) -> list[Any]:
    values = set(run.attributes(e.item)) - {(c.relation, c.before) for c in e.changes}
    return sorted(values | {(c.relation, c.after) for c in e.changes})


def implicit_models(w: World) -> Iterator[tuple[str, Any, Confirm | None]]:
    from implicit.als import AlternatingLeastSquares
    from implicit.bpr import BayesianPersonalizedRanking
    from implicit.lmf import LogisticMatrixFactorization
    from implicit.nearest_neighbours import CosineRecommender

    seeded = {"factors": 32, "random_state": 0, "num_threads": 1}
    for name, model in (
        ("implicit ALS", AlternatingLeastSquares(**seeded)),
        ("implicit BPR", BayesianPersonalizedRanking(**seeded)),
        ("implicit LMF", LogisticMatrixFactorization(**seeded)),
        ("implicit item-kNN", CosineRecommender(K=50)),
    ):
        model.fit(w.x, show_progress=False)
        knn = name.endswith("kNN")
        ask = by_history(w, lambda row, m=model: sp.csr_matrix(row) @ m.similarity) if knn else None
        if ask is not None:
            inner = model.similarity
            ask = by_history(w, lambda row, s=inner: (sp.csr_matrix(row) @ s).toarray()[0])
        yield name, Implicit(model, w.x, **w.ids), ask
        if name.endswith("ALS"):

            def refold(row: np.ndarray, m: Any = model) -> np.ndarray:
                return m.recalculate_user(np.array([0]), sp.csr_matrix(row))[0] @ m.item_factors.T

            r = Implicit(model, w.x, **w.ids, vector="refolded")
            yield "implicit ALS, refolded", r, by_history(w, refold)


def ease(w: World) -> tuple[str, Any, Confirm]:
    inverse = np.linalg.inv((w.x.T @ w.x).toarray() + 200.0 * np.eye(len(w.items)))
    weight = inverse / -np.diag(inverse)
    np.fill_diagonal(weight, 0.0)
    return "EASE", ItemItem(weight, w.x, **w.ids), by_history(w, lambda row: row @ weight)


def rankers(w: World) -> Iterator[tuple[str, Any, Confirm]]:
    """Models of attribute columns (values of 20 items or more) times the user's usual share."""
    data, columns = w.data, attribute_columns(w.data, least=20)
    own = cerec.recommend.adapters.ranker._attributes(data)
    has = columns([own[i] for i in data.items])
    p = data.interactions
    x = sp.csr_matrix((np.ones(len(p)), (p.user, p.item)), (len(data.users), len(data.items)))
    taste = (
        np.asarray(x @ has) / np.asarray(x.sum(axis=1)) - np.asarray(x.sum(axis=0) @ has) / x.nnz
    )
    of_user = dict(zip(data.users, taste * has.std(axis=0), strict=True))

    def rows(user: str, _: Any, sets: Any) -> np.ndarray:
        there, mine = columns(sets), of_user[user]
        liked = there @ mine
        return np.column_stack([liked, there @ np.abs(mine), there * mine])

    rng, parts, target = np.random.default_rng(0), [], []
    for u in range(0, len(data.users), 3):
        good = x[u].indices
        some = np.concatenate([good, rng.integers(0, len(data.items), 2 * len(good))])
        ids = [data.items[int(i)] for i in some]
        parts.append(rows(data.users[u], ids, [own[i] for i in ids]))
        target.append(np.isin(some, good))
    table, liked = np.vstack(parts), np.concatenate(target).astype(float)

    def made(predict: Any) -> tuple[Any, Confirm]:
        def confirm(run: cerec.Run, e: cerec.Explanation) -> bool:
            scores = predict(rows(e.user, data.items, [own[i] for i in data.items]))
            at, user = data.items.row(e.item), data.users.row(e.user)
            scores[at] = predict(rows(e.user, [e.item], [changed(run, e)]))[0]
            return out_of_list(scores, x[user].indices, at)

        return Ranker(predict, rows, data), confirm

    try:
        import lightgbm

        model = lightgbm.LGBMRegressor(n_estimators=60, verbose=-1, n_jobs=1).fit(table, liked)
        yield "LightGBM", *made(model.booster_.predict)
    except ImportError:
        pass
    try:
        import xgboost

        other = xgboost.XGBRegressor(n_estimators=60, n_jobs=1).fit(table, liked)
        yield "XGBoost", *made(other.predict)
    except ImportError:
        pass
    from sklearn.linear_model import LogisticRegression

    linear = LogisticRegression(max_iter=300).fit(table, liked > 0)
    yield "scikit-learn, logistic", *made(lambda t: linear.decision_function(t))


def lightfm_models(w: World) -> Iterator[tuple[str, Any, Confirm | None]]:
    try:
        from lightfm import LightFM as Model
    except ImportError:
        return
    columns = attribute_columns(w.data, least=20)
    own = cerec.recommend.adapters.ranker._attributes(w.data)
    values = sorted({p for i in own for p in own[i] if columns([[p]]).any()})
    has = np.array([[p in set(own[i]) for p in values] for i in w.items], np.float32)
    features = sp.hstack([sp.identity(len(w.items)), has]).tocsr().astype(np.float32)
    model = Model(no_components=32, loss="warp", random_state=0)
    model.fit(w.x, item_features=features, epochs=15)

    def confirm(run: cerec.Run, e: cerec.Explanation) -> bool:
        at, user, after = w.items.index(e.item), w.users.index(e.user), set(changed(run, e))
        other = features.tolil()
        kept = [p in after for p in values]
        other[at, len(w.items) :] = np.array(kept, np.float32)
        scores = model.predict(user, np.arange(len(w.items)), item_features=other.tocsr())
        return out_of_list(scores, w.x[user].indices, at)

    named = [*([None] * len(w.items)), *values]
    made = LightFM(model, **w.ids, item_features=features, values=named, known=w.x)

    def lists(users: Any, k: int) -> list[Any]:
        out = []
        for u in users:
            scores = model.predict(int(u), np.arange(len(w.items)), item_features=features)
            scores[w.x[u].indices] = -np.inf
            out.append(np.argsort(-scores, kind="stable")[:k])
        return out

    made.lists = lists
    yield "LightFM with features", made, confirm


def packages(w: World, n: int) -> None:
    print("| package | lists | answered | verified, confirmed by the package | ms | ms, 95 % |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, r, confirm in chain(rankers(w), [ease(w)], implicit_models(w), lightfm_models(w)):
        run = cerec.explainer(w.data, recommender=r)
        check = run.check(users=200 if run.brought.has("lists") else 50)
        lists = f"equal {check.equal} of {check.tried}" if check.tried else "its own scores"
        pairs = w.pairs(run, n)
        run.explain(*pairs[0], k=K)
        found, ms = [], []
        for user, item in pairs:
            start = time.thread_time()
            found.append(run.explain(user, item, k=K, budget=1.0))
            ms.append(1e3 * (time.thread_time() - start))
        checked = [e for e in found if e.status == "verified"]
        true = sum(confirm(run, e) for e in checked) if confirm else 0
        told = f"{true} of {len(checked)}" if checked else "none; canonical"
        answered = f"{sum(e.found for e in found)} of {len(found)}"
        middle, high = np.quantile(ms, [0.5, 0.95])
        print(f"| {name} | {lists} | {answered} | {told} | {middle:.0f} | {high:.0f} |", flush=True)


def orders(w: World, n: int) -> None:
    """Calls until the first single change that flips; every single change is tried once."""
    print("| ranker | order | pairs with a single change | calls until it, median | mean |")
    print("|---|---|---|---|---|", flush=True)
    for name, r, _ in rankers(w):
        run = cerec.explainer(w.data, recommender=r)
        box: BlackBox = run.explainer._by_row
        pairs = w.pairs(run, n)
        for told, order in (("as they come", None), ("by a fit", fit_order(run))):
            box._order = order
            calls = [c for c in (first_flip(run, box, u, i) for u, i in pairs) if c]
            numbers = f"{np.median(calls):.0f} | {np.mean(calls):.0f}" if calls else "- | -"
            print(f"| {name} | {told} | {len(calls)} of {len(pairs)} | {numbers} |", flush=True)


def fit_order(run: cerec.Run) -> Callable[[int, int], np.ndarray]:
    """Effects fitted to the scores of a tenth of the users."""
    rows = np.arange(0, len(run.data.users), 10)
    fit = fitted(lambda u: run.brought.scores(rows[u]), run.facts, n_users=len(rows))
    model = FittedScores(run.brought.scores, fit.basis, fit.value)

    def order(user: int, _: int) -> np.ndarray:
        out = np.zeros(run.facts.n_values)
        out[fit.vocabulary] = model.both(np.array([user]))[1][0]
        return out

    return order


def first_flip(run: cerec.Run, box: BlackBox, user: str, item: str) -> int:
    """Which of the single changes asked for is the first that flips; 0: none."""
    seen: list[float] = []

    def asked(*question: Any) -> np.ndarray:
        scores = run.brought.rescore(*question)
        seen.extend(scores.tolist())
        return scores

    box._rescore = asked
    e = run.explain(user, item, k=K, max_changes=1, budget=20.0)
    flips = np.flatnonzero(np.array(seen) < e.cutoff)
    return int(flips[0]) + 1 if e.found and len(flips) else 0


def history(w: World, n: int) -> None:
    """Ours, and items taken away in the order of their Shapley values (exact where linear)."""
    print("| model | method | answered | confirmed | mean size | smallest proven | ms |")
    print("|---|---|---|---|---|---|---|", flush=True)
    wanted = ("implicit ALS, refolded", "implicit item-kNN")
    models = [(m, r, c) for m, r, c in implicit_models(w) if m in wanted]
    for name, r, confirm in (*models, ease(w)):
        run = cerec.explainer(w.data, recommender=r)
        pairs = w.pairs(run, n)
        run.explain(*pairs[0], k=K, by="history")
        found, ms, sizes, slow, done = [], [], [], [], 0
        for user, item in pairs:
            start = time.thread_time()
            e = run.explain(user, item, k=K, by="history")
            ms.append(1e3 * (time.thread_time() - start))
            found.append(e)
            start = time.thread_time()
            size = by_shapley(run, user, item)
            slow.append(1e3 * (time.thread_time() - start))
            done += size > 0
            sizes += [(e.size, size)] if e.found and size else []
        good = [e for e in found if e.status == "verified"]
        true = sum(confirm(run, e) for e in good)
        proven = np.mean([e.certificate == "minimum" for e in good])
        both = np.array(sizes).mean(axis=0)
        print(
            f"| {name} | ours | {len(good)} of {len(found)} | {true} of {len(good)} | "
            f"{both[0]:.2f} | {proven:.0%} | {np.median(ms):.0f} |"
        )
        print(
            f"| {name} | Shapley order | {done} of {len(found)} | {done} of {done} | "
            f"{both[1]:.2f} | - | {np.median(slow):.0f} |",
            flush=True,
        )


def by_shapley(run: cerec.Run, user: str, item: str) -> int:
    """Items taken away by falling Shapley value until the item is out; how many, 0: never.

    Values are exact where a score is a sum over the history, as for all models here.
    """
    u, at = run.data.users.row(user), run.data.items.row(item)
    row = run.brought.histories.row(u)
    alone = run.brought.scores_from([np.array([h]) for h in row])[:, at]
    known = run.brought.known.row(u)
    order = np.argsort(-alone, kind="stable")
    for size in range(1, len(row) + 1):
        left = np.delete(row, order[:size])
        scores = run.brought.scores_from([left])[0]
        if out_of_list(scores, known, at):
            return size
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("what", choices=["packages", "orders", "history"])
    parser.add_argument("--pairs", type=int, default=100)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    w = World.of(args.folder)
    {"packages": packages, "orders": orders, "history": history}[args.what](w, args.pairs)


if __name__ == "__main__":
    main()
