"""Recommenders made elsewhere, brought in three ways."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cerec
from cerec.data.dataset import TEST, TRAIN, VALID, Interactions
from cerec.data.synthetic.generate import make_world
from cerec.errors import ConfigError, DataError
from worlds import QUICK, SMALL

DATA = make_world(SMALL, seed=1)
RNG = np.random.default_rng(0)
USERS = RNG.normal(size=(len(DATA.users), 8)).astype(np.float32)
ITEMS = RNG.normal(size=(len(DATA.items), 8)).astype(np.float32)


def ranked(user: int) -> list[str]:
    """By hand: the user's unknown items by falling dot product."""
    mine = DATA.interactions
    known = set(mine.item[mine.user == user].tolist())
    scores = ITEMS.astype(np.float64) @ USERS[user].astype(np.float64)
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return [DATA.items[i] for i in order if i not in known]


@pytest.fixture(scope="module")
def by_arrays() -> cerec.Run:
    return cerec.explainer(DATA, user_factors=USERS, item_factors=ITEMS, config=QUICK)


def test_arrays_rank_as_their_dot_product(by_arrays: cerec.Run) -> None:
    for user in (0, 7):
        assert [r.item for r in by_arrays.recommend(DATA.users[user], k=9)] == ranked(user)[:9]


def test_mappings_and_objects_are_the_same(by_arrays: cerec.Run) -> None:
    class Model:
        user_factors, item_factors = USERS, ITEMS

    ways: list[dict[str, Any]] = [
        {
            "user_factors": dict(zip(DATA.users, USERS, strict=True)),
            "item_factors": dict(zip(reversed(DATA.items), ITEMS[::-1], strict=True)),
        },
        {"model": Model()},
    ]
    for way in ways:
        run = cerec.explainer(DATA, config=QUICK, **way)
        assert np.array_equal(run.kept.arrays["item"], by_arrays.kept.arrays["item"])
        assert run.recommend("u01", k=5) == by_arrays.recommend("u01", k=5)


def test_a_callable_keeps_its_own_ranking() -> None:
    def score(user: str, items: Any) -> Any:
        return np.tanh(ITEMS[[DATA.items.row(i) for i in items]] @ USERS[DATA.users.row(user)] / 9)

    run = cerec.explainer(DATA, score=score, config=QUICK)
    assert [r.item for r in run.recommend(DATA.users[2], k=9)] == ranked(2)[:9]
    assert run.kept.fidelity is not None
    found = run.explain(DATA.users[2], ranked(2)[0], k=5)
    assert found.status in ("fitted", "not_found")
    assert found.fidelity == (run.kept.fidelity if found.status == "fitted" else None)


def test_saved_and_opened_like_any_run(by_arrays: cerec.Run, tmp_path: Path) -> None:
    again = cerec.open(by_arrays.save(tmp_path / "mine"))
    item = by_arrays.recommend("u01", k=1)[0].item
    assert again.explain("u01", item).changes == by_arrays.explain("u01", item).changes


def test_wrong_material_is_told() -> None:
    with pytest.raises(ConfigError, match=r"give user_factors= and item_factors=, or model="):
        cerec.explainer(DATA)
    with pytest.raises(ConfigError, match="go together"):
        cerec.explainer(DATA, user_factors=USERS)
    with pytest.raises(DataError, match=r"item factors have shape \(3, 8\), expected \(80, d\)"):
        cerec.explainer(DATA, user_factors=USERS, item_factors=ITEMS[:3])
    with pytest.raises(DataError, match=r"explainer takes data of cerec.load\(FOLDER\), got 'd'"):
        cerec.explainer("d", user_factors=USERS, item_factors=ITEMS)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"score\(user, items\) must be a function, got 3"):
        cerec.explainer(DATA, score=3)  # type: ignore[arg-type]


def test_a_recommender_may_rescore_by_itself() -> None:
    def rescore(user: str, item: str, attributes: list[tuple[str, str]]) -> float:
        u, i = DATA.users.row(user), DATA.items.row(item)
        return float(USERS[u] @ ITEMS[i]) - 100.0 * (len(set(attributes)) < n_own[item])

    n_own: dict[str, int] = {}
    run = cerec.explainer(
        DATA, user_factors=USERS, item_factors=ITEMS, rescore=rescore, config=QUICK
    )
    item = run.recommend("u01", k=1)[0].item
    n_own[item] = len(run.attributes(item))
    found = run.explain("u01", item, k=5, changes="remove")
    assert found.status == "verified"  # leaving one value out costs 100
    assert len(found.changes) == 1
    assert found.changes[0].after is None
    assert run.rescore("u01", item, run.attributes(item)) > -50


@pytest.mark.parametrize("given", [float("nan"), float("inf"), None, "many"])
def test_rescoring_that_gives_no_number_is_told(given: Any, by_arrays: cerec.Run) -> None:
    run = cerec.Run(DATA, by_arrays.split, by_arrays.kept, rescore=lambda *_: given)
    item = run.recommend("u01", k=1)[0].item
    with pytest.raises(DataError, match=rf"rescore\('u01', .* gave {given!r}, not a number"):
        run.explain("u01", item, k=5)


def test_factors_beyond_single_precision_are_refused() -> None:
    data = make_world(SMALL, seed=1)
    user, item = (np.full((len(ids), 4), 1e60) for ids in (data.users, data.items))
    with np.errstate(over="ignore"), pytest.raises(DataError, match="not finite in row 0"):
        cerec.explainer(data, user_factors=user, item_factors=item)


@pytest.mark.parametrize("newcomers", [False, True])
def test_a_wrapped_run_lists_what_the_trained_one_lists(newcomers: bool, tmp_path: Path) -> None:
    pairs = DATA.interactions
    part = np.random.default_rng(0).choice([TRAIN, VALID, TEST], len(pairs), p=[0.6, 0.2, 0.2])
    if newcomers:
        part[(pairs.user % 5 == 0) & (part == TRAIN)] = VALID
    data = replace(DATA, interactions=replace(pairs, part=part.astype(np.int8)))
    trained = cerec.train(data, QUICK, seed=3)
    factors = [trained.kept.arrays[name] for name in ("user", "item")]
    wrapped = cerec.explainer(data, user_factors=factors[0], item_factors=factors[1], config=QUICK)
    assert dict(wrapped.recommend_all(k=20)) == dict(trained.recommend_all(k=20))
    user = data.users[0]
    assert wrapped.recommend(user, k=100) == trained.recommend(user, k=100)
    assert list(wrapped.listed_pairs(k=5)) == list(trained.listed_pairs(k=5))
    assert wrapped.metrics == trained.metrics
    again = cerec.open(wrapped.save(tmp_path / "wrapped"))
    assert dict(again.recommend_all(k=20)) == dict(trained.recommend_all(k=20))


@pytest.mark.parametrize("model", ["climf", "lightgcn"])
def test_a_wrapped_run_of_any_factor_model(model: Any) -> None:
    config = replace(QUICK, recommender=replace(QUICK.recommender, model=model))
    trained = cerec.train(DATA, config, seed=3)
    known = trained.split.train
    rows = Interactions(known.row_of(), known.indices)  # what the trained run knows of its users
    factors = [trained.kept.arrays[name] for name in ("user", "item")]
    wrapped = cerec.explainer(
        replace(DATA, interactions=rows),
        user_factors=factors[0],
        item_factors=factors[1],
        config=QUICK,
    )
    assert dict(wrapped.recommend_all(k=20)) == dict(trained.recommend_all(k=20))
