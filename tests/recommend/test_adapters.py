"""Adapters against the packages themselves: their own lists, their own scores of changed items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import cerec
from cerec.adapters import Factors, Implicit, ItemItem, LightFM, Ranker, Scores, attribute_columns
from cerec.data.synthetic.generate import make_world
from cerec.errors import ConfigError, DataError
from worlds import SMALL

DATA = make_world(SMALL, seed=1)
RNG = np.random.default_rng(0)
USERS = RNG.permutation(DATA.users.ids).tolist()
ITEMS = RNG.permutation(DATA.items.ids).tolist()
IDS: dict[str, Any] = {"users": USERS, "items": ITEMS}
X = sp.csr_matrix(
    (
        np.ones(len(DATA.interactions), np.float32),
        (
            [USERS.index(DATA.users[u]) for u in DATA.interactions.user],
            [ITEMS.index(DATA.items[i]) for i in DATA.interactions.item],
        ),
    ),
    (len(USERS), len(ITEMS)),
)


def changed(run: cerec.Run, e: cerec.Explanation) -> set[tuple[str, str]]:
    """The attributes that an answer gives its item."""
    values = set(run.attributes(e.item)) - {(c.relation, c.before) for c in e.changes}
    return values | {(c.relation, c.after) for c in e.changes}  # type: ignore[arg-type, return-value]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["als", "bpr", "lmf", "knn", "bm25"])
def test_implicit_lists_what_it_lists_itself(kind: str) -> None:
    implicit = pytest.importorskip("implicit")
    models = {
        "als": lambda: implicit.als.AlternatingLeastSquares(factors=8, random_state=0),
        "bpr": lambda: implicit.bpr.BayesianPersonalizedRanking(factors=8, random_state=0),
        "lmf": lambda: implicit.lmf.LogisticMatrixFactorization(factors=8, random_state=0),
        "knn": lambda: implicit.nearest_neighbours.CosineRecommender(K=20),
        "bm25": lambda: implicit.nearest_neighbours.BM25Recommender(K=20),
    }
    model = models[kind]()
    model.fit(X, show_progress=False)
    run = cerec.explainer(DATA, recommender=Implicit(model, X, **IDS))
    assert run.check().equal == run.check().tried == 60
    for wrong in ("users", "items"):
        with pytest.raises(DataError, match="in the order of the model's own rows"):
            cerec.explainer(
                DATA, recommender=Implicit(model, X, **IDS | {wrong: sorted(IDS[wrong])})
            )


@pytest.mark.filterwarnings("ignore")
def test_refolded_als_answers_by_history_as_implicit_itself() -> None:
    implicit = pytest.importorskip("implicit")
    model = implicit.als.AlternatingLeastSquares(factors=8, random_state=0)
    model.fit(X, show_progress=False)
    run = cerec.explainer(DATA, recommender=Implicit(model, X, **IDS, vector="refolded"))
    assert run.check().equal == 60
    user, confirmed = "u01", 0
    for r in run.recommend(user, k=5):
        e = run.explain(user, r.item, k=5)
        if e.status == "verified":
            row = X[USERS.index(user)].copy()
            seen = row.indices.copy()
            row[0, [ITEMS.index(h.id) for h in e.history]] = 0.0
            row.eliminate_zeros()
            more = {"N": 5, "recalculate_user": True, "filter_items": seen}
            listed = model.recommend(0, row, **more, filter_already_liked_items=False)[0]
            assert ITEMS.index(r.item) not in listed.tolist()
            confirmed += 1
    assert confirmed
    stored = cerec.explainer(DATA, recommender=Implicit(model, X, **IDS))
    with pytest.raises(ConfigError, match="scores histories"):
        stored.explain(user, stored.recommend(user)[0].item, by="history")
    other = implicit.bpr.BayesianPersonalizedRanking(factors=8)
    other.fit(X, show_progress=False)
    with pytest.raises(ConfigError, match="cannot refold users"):
        Implicit(other, X, **IDS, vector="refolded")


def confirm(run: cerec.Run, score: Any, k: int = 5) -> int:
    """Every answer, by scoring all items with the package and ranking; how many there are."""
    found = 0
    for user in DATA.users.ids[:4]:
        known = {
            DATA.items[int(i)]
            for i in DATA.interactions.item[DATA.interactions.user == DATA.users.row(user)]
        }
        for r in run.recommend(user, k=3):
            e = run.explain(user, r.item, k=k)
            assert e.status in ("verified", "not_found", "timed_out")
            if not e.found:
                continue
            own = {i: score(user, i, run.attributes(i)) for i in DATA.items if i not in known}
            own[r.item] = score(user, r.item, sorted(changed(run, e)))
            ranked = sorted(own, key=lambda i: -own[i])
            assert ranked.index(r.item) + 1 == e.rank_after > k
            found += 1
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", ["lightgbm", "sklearn", "xgboost"])
def test_a_ranker_confirms_every_answer(package: str) -> None:
    module = pytest.importorskip(package)
    columns = attribute_columns(DATA)
    order = [ITEMS.index(i) for i in DATA.items]
    pairs = {i: cerec.recommend.adapters.ranker._attributes(DATA)[i] for i in DATA.items}
    has = columns([pairs[i] for i in DATA.items])
    mine = X[[USERS.index(u) for u in DATA.users]][:, order].toarray()
    shares = mine @ has / mine.sum(axis=1, keepdims=True) - has.mean(axis=0)
    taste = dict(zip(DATA.users, shares, strict=True))

    def rows(user: str, items: Any, sets: Any) -> Any:
        there = columns(sets)
        return np.column_stack([there @ taste[user], there * taste[user]])

    x = np.vstack([rows(u, DATA.items, [pairs[i] for i in DATA.items]) for u in DATA.users])
    if package == "lightgbm":
        predict = (
            module.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1).fit(x, mine.ravel()).predict
        )
    elif package == "xgboost":
        predict = module.XGBRegressor(n_estimators=20, n_jobs=1).fit(x, mine.ravel()).predict
    else:
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(max_iter=200).fit(x, mine.ravel() > 0)
        predict = lambda x: model.predict_proba(x)[:, 1]  # noqa: E731
    run = cerec.explainer(DATA, recommender=Ranker(predict, rows, DATA))
    assert "rescore agrees with scores on 50 of 50" in str(run.check())
    assert confirm(run, lambda u, i, s: float(predict(rows(u, [i], [s]))[0]))


def test_lightfm_features_are_its_own_effects() -> None:
    lightfm = pytest.importorskip("lightfm")
    pairs = cerec.recommend.adapters.ranker._attributes(DATA)
    values = sorted({p for own in pairs.values() for p in own})
    has = np.array([[p in pairs[i] for p in values] for i in ITEMS], np.float32)
    features = sp.hstack([sp.identity(len(ITEMS)), sp.csr_matrix(has)]).tocsr().astype(np.float32)
    model = lightfm.LightFM(no_components=8, loss="warp", random_state=0)
    model.fit(X, item_features=features, epochs=20)
    named = [*([None] * len(ITEMS)), *values]
    made = LightFM(model, **IDS, item_features=features, values=named, known=X)
    run = cerec.explainer(DATA, recommender=made)
    user = USERS[3]
    own = model.predict(3, np.arange(len(ITEMS)), item_features=features)
    unknown = [n for n in np.argsort(-own, kind="stable") if X[3, n] == 0]
    assert [r.item for r in run.recommend(user, k=5)] == [ITEMS[n] for n in unknown[:5]]
    found = [run.explain(user, r.item, k=3) for r in run.recommend(user, k=3)]
    done = [e for e in found if e.status == "verified"]
    assert done
    for e in done:
        at, other = ITEMS.index(e.item), features.tolil()
        after = changed(run, e)
        other[at, len(ITEMS) :] = [float(p in after) for p in values]
        again = model.predict(3, np.arange(len(ITEMS)), item_features=other.tocsr())
        assert sum(again[n] > again[at] for n in unknown if n != at) >= 3
    plain = lightfm.LightFM(no_components=8, loss="warp", random_state=0).fit(X, epochs=20)
    assert not cerec.explainer(DATA, recommender=LightFM(plain, **IDS)).check().problem


def test_scores_of_a_file_and_its_faults(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        (u, i, float(X[USERS.index(u), ITEMS.index(i)]) + rng.random())
        for u in USERS for i in ITEMS if rng.random() < 0.7
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    frame.write_parquet(tmp_path / "s.parquet")
    run = cerec.explainer(DATA, recommender=Scores(tmp_path / "s.parquet"))
    listed = {(u, r.item) for u, ranks in run.recommend_all(k=80) for r in ranks}
    assert listed <= {(u, i) for u, i, _ in rows}
    assert Scores(frame.to_pandas()).shape == (60, 80)
    with pytest.raises(DataError, match=r"no\.parquet: no such file"):
        Scores(tmp_path / "no.parquet")
    (tmp_path / "bad.parquet").write_text("user,item,score")
    with pytest.raises(DataError, match="not read as Parquet"):
        Scores(tmp_path / "bad.parquet")
    with pytest.raises(DataError, match="has no column 'score', only user, item, rating"):
        Scores(frame.rename({"score": "rating"}))
    with pytest.raises(DataError, match="stand in several rows"):
        Scores(pl.concat([frame, frame[:1]]))


def test_ids_may_be_a_mapping_and_numbers() -> None:
    row = {i: n for n, i in enumerate(ITEMS)}
    made = Factors(np.ones((2, 1)), np.ones((80, 1)), users=np.array([3, 1]), items=row)
    assert made.users.ids == ("3", "1")
    assert list(made.items) == ITEMS
    with pytest.raises(DataError, match="maps ids to rows, which must be 0 to 1"):
        Factors(np.ones((2, 1)), np.ones((80, 1)), users={"a": 1, "b": 2}, items=row)
    with pytest.raises(DataError, match="history must be of ones"):
        ItemItem(np.eye(80), X * 2, **IDS)
    with pytest.raises(ConfigError, match="known must be a sparse matrix"):
        Factors(np.ones((60, 1)), np.ones((80, 1)), **IDS, known=[1, 2])
