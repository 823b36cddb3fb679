"""Packages of others under `cerec.explainer`: are lists theirs, are verified answers true?

    python benchmarks/bench_brought.py FOLDER packages [--pairs 100]     the table of packages
    python benchmarks/bench_brought.py FOLDER history [--pairs 100]      smallest sets of own items

FOLDER is data such as ml-100k. Each model is fitted on all interactions, seed 0, with its ids in an
order of its own; 20 users are drawn, k = 10, of each the first listed items. A `verified` answer
is confirmed by scoring the changed item, or the shortened history, with the package itself and
ranking. Packages that are not installed are left out. Medians of milliseconds on one thread.
"""

from __future__ import annotations

import argparse
import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

import cerec
from cerec.adapters import Factors, Implicit, ItemItem, LightFM, Ranker, attribute_columns
from cerec_bench.explainers.history import fewest
from cerec_bench.explainers.prince import Prince
from cerec_bench.explainers.protocol import Context, Pairs

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


def by_ratings(w: World) -> Iterator[tuple[str, Any, Confirm | None]]:
    """Packages that number ids by themselves, by the recipes of docs/guide/recipes.md."""
    p, data = w.data.interactions, w.data
    frame = pd.DataFrame({"user": np.array(data.users.ids)[p.user],
                          "item": np.array(data.items.ids)[p.item],
                          "rating": 1.0 + (p.user * 7 + p.item * 3) % 5})  # fmt: skip

    def lists(r: Any, score: Callable[[int], np.ndarray]) -> Any:
        def made(users: Any, k: int) -> list[Any]:
            out = []
            for u in users:
                row = np.array(score(int(u)), float)
                mine = frame["item"][frame["user"] == r.users[int(u)]]
                row[[r.items.row(i) for i in mine]] = -np.inf
                out.append(np.argsort(-row, kind="stable")[:k])
            return out

        return made

    with contextlib.suppress(ImportError):
        import surprise

        told = surprise.Dataset.load_from_df(frame, surprise.Reader(rating_scale=(1, 5)))
        train = told.build_full_trainset()
        svd = surprise.SVD(n_factors=16, random_state=0).fit(train)
        users = [train.to_raw_uid(u) for u in train.all_users()]
        items = [train.to_raw_iid(i) for i in train.all_items()]
        r = Factors(svd.pu, svd.qi, bias=svd.bi, users=users, items=items)
        r.lists = lists(r, lambda u: np.array([svd.estimate(u, i) for i in range(len(items))]))
        yield "Surprise SVD", r, None
    with contextlib.suppress(ImportError):
        import cornac

        triples = list(frame.itertuples(index=False, name=None))
        kept = cornac.data.Dataset.from_uir(triples, seed=0)
        bpr = cornac.models.BPR(k=16, max_iter=30, learning_rate=0.05, seed=0).fit(kept)
        ids = {"users": kept.uid_map, "items": kept.iid_map}
        r = Factors(bpr.u_factors, bpr.i_factors, bias=bpr.i_biases, **ids)
        r.lists = lists(r, bpr.score)
        yield "Cornac BPR", r, None
    with contextlib.suppress(ImportError):
        from implicit.als import AlternatingLeastSquares
        from rectools.dataset import Dataset
        from rectools.models import ImplicitALSWrapperModel

        table = frame.rename(columns={"user": "user_id", "item": "item_id"}).drop(columns="rating")
        dataset = Dataset.construct(table.assign(weight=1, datetime="2024"))
        als = ImplicitALSWrapperModel(AlternatingLeastSquares(factors=16, random_state=0))
        als.fit(dataset)
        ids = {"users": dataset.user_id_map.external_ids, "items": dataset.item_id_map.external_ids}
        yield "RecTools ALS", Implicit(als.model, dataset.get_user_item_matrix(), **ids), None


def packages(w: World, n: int, only: str) -> None:
    print("| package | lists | answered | verified, confirmed by the package | ms | ms, 95 % |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, r, confirm in chain(
        by_ratings(w), [ease(w)], implicit_models(w), lightfm_models(w), rankers(w)
    ):
        if only not in name:
            continue
        run = cerec.explainer(w.data, recommender=r, check=not name.startswith("Surprise"))
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


def history(w: World, n: int) -> None:
    """Ours beside PRINCE, ACCENT and items taken away in the order of their Shapley values."""
    print("| model | method | answered | out of the list | mean size | smallest proven | ms |")
    print("|---|---|---|---|---|---|---|", flush=True)
    wanted = ("implicit ALS, refolded", "implicit item-kNN")
    models = [(m, r, c) for m, r, c in implicit_models(w) if m in wanted]
    for name, r, confirm in (ease(w), *models):
        run = cerec.explainer(w.data, recommender=r)
        pairs = w.pairs(run, n)
        run.explain(*pairs[0], k=K, by="history")
        start = time.process_time()
        found = list(run.explain_many(pairs, k=K, by="history"))
        ms = 1e3 * (time.process_time() - start) / n
        good = [e for e in found if e.status == "verified"]
        true = sum(confirm(run, e) for e in good)
        size = np.mean([e.size for e in good])
        proven = np.mean([e.certificate == "minimum" for e in good])
        row(name, "ours", n, len(good), true, size, f"{proven:.0%}", ms)
        rows = [(run.data.users.row(u), run.data.items.row(i)) for u, i in pairs]
        for method in ("Shapley order", "ACCENT", "PRINCE"):
            start = time.process_time()
            removed = RIVALS[method](run, rows)
            ms = 1e3 * (time.process_time() - start) / n
            sets = [x for x in removed if len(x)]
            true = sum(gone(run, u, i, x) for (u, i), x in zip(rows, removed, strict=True))
            size = np.mean([len(x) for x in sets]) if sets else np.nan
            row(name, method, n, len(sets), true, size, "-", ms)


def row(name: str, method: str, n: int, found: int, true: int, size: float, *rest: Any) -> None:
    print(f"| {name} | {method} | {found} of {n} | {true} of {found} | {size:.2f} | {rest[0]} | "
          f"{rest[1]:.0f} |", flush=True)  # fmt: skip


def gone(run: cerec.Run, user: int, item: int, removed: np.ndarray) -> bool:
    """Whether the item is out of the list without these items of the history."""
    left = np.setdiff1d(run.brought.histories.row(user), removed)
    scores = run.brought.scores_from([left])[0]
    return len(removed) > 0 and out_of_list(scores, run.brought.known.row(user), item)


def by_shapley(run: cerec.Run, pairs: list[tuple[int, int]]) -> list[np.ndarray]:
    """Items by falling Shapley value, exact where a score is a sum over the history, until the
    item is out.
    """
    out = []
    for user, item in pairs:
        mine = run.brought.histories.row(user)
        alone = run.brought.scores_from([np.array([h]) for h in mine])[:, item]
        order = mine[np.argsort(-alone, kind="stable")]
        sizes = range(1, len(mine) + 1)
        out.append(next((order[:s] for s in sizes if gone(run, user, item, order[:s])), order[:0]))
    return out


def by_accent(run: cerec.Run, pairs: list[tuple[int, int]]) -> list[np.ndarray]:
    """ACCENT's search, with exact influences: the scores without each item, 20 candidates."""
    out = []
    for user, item in pairs:
        mine, scores = run.brought.histories.row(user), run.brought.scores(np.array([user]))[0]
        scores[run.brought.known.row(user)] = -np.inf
        follow = np.argsort(-scores, kind="stable")[K : K + 20]
        without = run.brought.scores_from([np.delete(mine, h) for h in range(len(mine))])
        gap = scores[item] - scores[follow]
        change = (without[:, [item]] - without[:, follow] - gap).T
        found = fewest(gap, change, len(mine))
        out.append(mine[:0] if found is None else mine[found[1]])
    return out


def by_prince(run: cerec.Run, pairs: list[tuple[int, int]]) -> list[np.ndarray]:
    """PRINCE, by its own walks on the graph; its candidates follow the model's list."""
    users, items = np.array(pairs, np.int32).T
    method = Prince()
    method.fit(Context(run.data, run.subject, k=K, seed=0))
    return [a.removed for a in method.explain(Pairs(users, items, np.zeros_like(users), K))]


RIVALS = {"Shapley order": by_shapley, "ACCENT": by_accent, "PRINCE": by_prince}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("what", choices=["packages", "history"])
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--only", default="", help="packages whose name holds this")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    w = World.of(args.folder)
    if args.what == "history":
        history(w, args.pairs)
    else:
        packages(w, args.pairs, args.only)


if __name__ == "__main__":
    main()
