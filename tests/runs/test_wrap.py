"""Recommenders made elsewhere: put in the order of the data by id, checked, explained, saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import cerec
from cerec.adapters import Factors, FeatureFactors, Function, ItemItem
from cerec.data.dataset import TEST, TRAIN, VALID
from cerec.data.facts import Facts
from cerec.data.synthetic.generate import make_world
from cerec.errors import ConfigError, DataError, RunError
from worlds import QUICK, SMALL

DATA = make_world(SMALL, seed=1)
RNG = np.random.default_rng(0)
SHUFFLED_USERS = RNG.permutation(DATA.users.ids).tolist()
SHUFFLED_ITEMS = RNG.permutation(DATA.items.ids).tolist()
IDS: dict[str, Any] = {"users": SHUFFLED_USERS, "items": SHUFFLED_ITEMS}


def taken(data: cerec.Dataset = DATA) -> sp.csr_matrix:
    """What users have, in the shuffled order."""
    user = {u: n for n, u in enumerate(SHUFFLED_USERS)}
    item = {i: n for n, i in enumerate(SHUFFLED_ITEMS)}
    pairs = data.interactions
    rows = [user[data.users[u]] for u in pairs.user]
    columns = [item[data.items[i]] for i in pairs.item]
    return sp.csr_matrix((np.ones(len(rows)), (rows, columns)), (len(user), len(item)))


X = taken()
LEFT, SIZE, RIGHT = np.linalg.svd(X.toarray(), full_matrices=False)
USERS, ITEMS = LEFT[:, :8] * SIZE[:8], RIGHT[:8].T


def ranked(user: str) -> list[str]:
    """By hand: the user's unknown items by falling dot product, ties in the order of the data."""
    at = SHUFFLED_USERS.index(user)
    scores = dict(zip(SHUFFLED_ITEMS, ITEMS @ USERS[at], strict=True))
    known = {SHUFFLED_ITEMS[i] for i in X[at].indices}
    return sorted((i for i in DATA.items if i not in known), key=lambda i: -scores[i])


@pytest.fixture(scope="module")
def by_factors() -> cerec.Run:
    return cerec.explainer(DATA, recommender=Factors(USERS, ITEMS, **IDS))


def test_rows_in_an_order_of_their_own_are_mapped_by_id(by_factors: cerec.Run) -> None:
    for user in ("u01", "u07"):
        assert [r.item for r in by_factors.recommend(user, k=9)] == ranked(user)[:9]
    assert by_factors.vectors is None  # no agent unless asked for


def test_scores_stay_doubles() -> None:
    third = np.full((60, 1), 1 / 3)
    run = cerec.explainer(
        DATA, recommender=Factors(third, np.linspace(1, 2, 80)[:, None], **IDS), check=False
    )
    assert run.recommend("u01", k=1)[0].score in (np.linspace(1, 2, 80) * (1 / 3)).tolist()


def test_lists_are_compared_with_the_recommenders_own() -> None:
    def lists(users: Any, k: int) -> list[Any]:
        return [[SHUFFLED_ITEMS.index(i) for i in ranked(SHUFFLED_USERS[u])[:k]] for u in users]

    run = cerec.explainer(DATA, recommender=Factors(USERS, ITEMS, **IDS, lists=lists))
    assert str(run.check(users=40)) == "lists equal 40 of 40"

    def worse(users: Any, k: int) -> list[Any]:
        return [row[1:] for row in lists(users, k + 1)]

    bad = Factors(USERS, ITEMS, **IDS, lists=worse)
    with pytest.raises(DataError, match=r"lists equal 0 of 60; .* has .* at rank 1, by its scores"):
        cerec.explainer(DATA, recommender=bad)
    assert cerec.explainer(DATA, recommender=bad, check=False).check().equal == 0


@pytest.mark.parametrize("wrong", ["users", "items"])
def test_ids_in_a_wrong_order_are_refused_in_one_line(wrong: str) -> None:
    ids = IDS | {wrong: sorted(IDS[wrong])}
    for made in (Factors(USERS, ITEMS, **ids), Factors(USERS, ITEMS, **ids, known=X)):
        with pytest.raises(DataError, match="in the order of the model's own rows") as told:
            cerec.explainer(DATA, recommender=made)
        assert "\n" not in str(told.value)
    with pytest.raises(DataError, match="of what is never listed"):
        cerec.explainer(DATA, recommender=ItemItem(ITEMS @ ITEMS.T, X, **ids))


def test_items_without_a_vector_and_strangers() -> None:
    some = ITEMS.copy()
    some[3] = np.nan
    fewer = Factors(USERS[5:], some, users=SHUFFLED_USERS[5:], items=SHUFFLED_ITEMS)
    run = cerec.explainer(DATA, recommender=fewer)
    listed = {r.item for _, rows in run.recommend_all(k=80) for r in rows}
    assert SHUFFLED_ITEMS[3] not in listed
    assert run.recommend(SHUFFLED_USERS[0]) == []
    assert "5 users of the data are not the recommender's" in str(run.check())
    with pytest.raises(DataError, match="lists 1 items that the data do not hold, such as 'new'"):
        cerec.explainer(
            DATA,
            recommender=Factors(
                USERS, ITEMS, users=SHUFFLED_USERS, items=[*SHUFFLED_ITEMS[:-1], "new"]
            ),
        )


def test_a_model_trained_on_a_part_says_what_is_known() -> None:
    part = X.copy()
    part.data[::2] = 0.0
    run = cerec.explainer(DATA, recommender=ItemItem(ITEMS @ ITEMS.T, part, **IDS))
    assert run.known.size == X.nnz // 2
    assert cerec.explainer(DATA, recommender=Factors(USERS, ITEMS, **IDS)).known.size == X.nnz


def score(users: Sequence[str]) -> Any:
    rows = [SHUFFLED_USERS.index(u) for u in users]
    products = (USERS[u] @ ITEMS.T for u in rows)  # one by one: bits must not depend on company
    return np.tanh(np.stack(list(products)))


def test_a_function_keeps_its_own_ranking_and_its_gaps() -> None:
    def gaps(users: Sequence[str]) -> Any:
        out = score(users)
        out[:, 4] = -np.inf
        out[:, 5] = np.nan
        return out

    run = cerec.explainer(DATA, recommender=Function(gaps, **IDS))
    gone = {SHUFFLED_ITEMS[4], SHUFFLED_ITEMS[5]}
    mine = [i for i in ranked("u02") if i not in gone]
    assert [r.item for r in run.recommend("u02", k=9)] == mine[:9]
    found = run.explain("u02", mine[0], k=5)
    assert found.status in ("fitted", "not_found")
    assert found.status != "fitted" or "is off by" in found.notes[-1]


def rescoring(scale: float = 1.0) -> Function:
    """Values of a random taste; what an item has beyond its values stays."""
    facts, taste = Facts.build(DATA), np.random.default_rng(1)
    pairs = [
        (DATA.relations[int(r)], DATA.entities[int(a)])
        for r, a in zip(facts.relation, facts.attribute, strict=True)
    ]
    effect = dict(zip(pairs, taste.normal(size=len(pairs)), strict=True))
    own = {i: [pairs[v] for v in facts.of_item.row(n)] for n, i in enumerate(DATA.items)}

    def all_scores(users: Sequence[str]) -> Any:
        base = [sum(effect[p] for p in own[i]) for i in SHUFFLED_ITEMS]
        return score(users) + 0.05 * np.array(base)

    def rescore(user: str, item: str, sets: Any) -> Any:
        rest = score([user])[0, SHUFFLED_ITEMS.index(item)]
        return [scale * (rest + 0.05 * sum(effect[tuple(p)] for p in s)) for s in sets]

    return Function(all_scores, **IDS, rescore=rescore)


def test_a_recommender_that_rescores_is_explained_by_that(tmp_path: Path) -> None:
    r = rescoring()
    run = cerec.explainer(DATA, recommender=r, check=False)
    assert "rescore agrees with scores on 50 of 50" in str(run.check())
    found = [run.explain("u01", x.item, k=5) for x in run.recommend("u01", k=5)]
    assert {e.status for e in found} <= {"verified", "not_found"}
    done = next(e for e in found if e.found)
    values = set(run.attributes(done.item)) - {(c.relation, c.before) for c in done.changes}
    values |= {(c.relation, c.after) for c in done.changes}  # type: ignore[arg-type]
    assert done.score_after == run.rescore("u01", done.item, values)
    folder = run.save(tmp_path / "run")
    with pytest.raises(RunError, match="own rescore, which no folder holds"):
        cerec.open(folder).explain("u01", done.item, k=5)
    assert cerec.open(folder).recommend("u01", k=5) == run.recommend("u01", k=5)
    again = cerec.open(folder, recommender=r)
    assert again.explain("u01", done.item, k=5).changes == done.changes
    other = cerec.open(folder, fitted=True).explain("u01", done.item, k=5)
    assert other.status in ("fitted", "not_found")
    with pytest.raises(DataError, match="is not the one this run was saved from"):
        cerec.open(folder, recommender=Factors(USERS, ITEMS, **IDS))


def test_rescoring_on_another_scale_is_refused() -> None:
    with pytest.raises(DataError, match="both must be the same function"):
        cerec.explainer(DATA, recommender=rescoring(scale=2.0))


@pytest.mark.parametrize("given", [[float("nan")], [float("inf")], None, ["many"], [1.0, 2.0]])
def test_rescoring_that_gives_no_number_is_refused(given: Any) -> None:
    r = Function(score, **IDS, rescore=lambda *_: given)
    run = cerec.explainer(DATA, recommender=r, check=False)
    item = run.recommend("u01", k=1)[0].item
    with pytest.raises(DataError, match=r"rescore\('u01', '.*'"):
        run.rescore("u01", item, run.attributes(item))


def test_item_item_answers_by_history_and_stays_so_when_saved(tmp_path: Path) -> None:
    weight = ITEMS @ ITEMS.T
    np.fill_diagonal(weight, 0.0)
    run = cerec.explainer(DATA, recommender=ItemItem(weight, X, **IDS))
    item = run.recommend("u01", k=3)[2].item
    e = run.explain("u01", item, k=3)
    assert (e.status, e.by) == ("verified", "history")
    at, row = SHUFFLED_ITEMS.index(item), X[SHUFFLED_USERS.index("u01")].toarray()[0]
    seen = row > 0
    for h in e.history:
        row[SHUFFLED_ITEMS.index(h.id)] = 0.0
    scores = row @ weight
    assert ((scores > scores[at]) & ~seen).sum() >= 3  # by hand: three others are before it
    again = cerec.open(run.save(tmp_path / "knn"))
    assert again.explain("u01", item, k=3).history == e.history
    assert again.recommend_for([DATA.items[3]], k=2)


def test_effects_of_its_own_are_the_models() -> None:
    facts = Facts.build(DATA)
    pairs = [
        (DATA.relations[int(r)], DATA.entities[int(a)])
        for r, a in zip(facts.relation, facts.attribute, strict=True)
    ]
    value = np.random.default_rng(2).normal(size=(len(pairs), 8))
    row = [DATA.items.row(i) for i in SHUFFLED_ITEMS]
    item = ITEMS + np.array([value[facts.of_item.row(n)].sum(axis=0) for n in row])
    order = np.random.default_rng(3).permutation(len(pairs))
    made = FeatureFactors(USERS, item, value[order], values=[pairs[n] for n in order], **IDS)
    run = cerec.explainer(DATA, recommender=made, check=False)
    found = [run.explain("u01", r.item, k=5, by="attributes") for r in run.recommend("u01", k=5)]
    done = next(e for e in found if e.status == "verified")
    at = SHUFFLED_ITEMS.index(done.item)
    change = sum(
        value[pairs.index((c.relation, str(c.after)))]
        - value[pairs.index((c.relation, str(c.before)))]
        for c in done.changes
    )
    mine = USERS[SHUFFLED_USERS.index("u01")] @ (item[at] + change)
    assert done.score_after == pytest.approx(mine, rel=1e-9)

    class Bare:  # the same by the protocol alone
        users, items, values = SHUFFLED_USERS, SHUFFLED_ITEMS, made.values
        scores, effects, scale = made.scores, made.effects, made.scale

    bare = cerec.explainer(DATA, recommender=Bare(), check=False)
    e = bare.explain("u01", done.item, k=5, by="attributes")
    assert (e.status, e.changes) == ("verified", done.changes)


def test_saved_and_opened_like_any_run(by_factors: cerec.Run, tmp_path: Path) -> None:
    again = cerec.open(by_factors.save(tmp_path / "mine"))
    item = by_factors.recommend("u01", k=1)[0].item
    assert again.explain("u01", item).changes == by_factors.explain("u01", item).changes
    with pytest.raises(RunError, match="no recommender made elsewhere is at hand"):
        again.check()


def test_wrong_material_is_refused() -> None:
    class Model:
        user_factors, item_factors = USERS, ITEMS

    with pytest.raises(ConfigError, match=r"got Model; wrap it with one of cerec.adapters"):
        cerec.explainer(DATA, recommender=Model())
    with pytest.raises(DataError, match=r"item factors has shape \(3, 8\), expected \(80, d\)"):
        Factors(USERS, ITEMS[:3], **IDS)
    with pytest.raises(DataError, match=r"explainer takes data of cerec.load\(FOLDER\), got 'd'"):
        cerec.explainer("d", recommender=Factors(USERS, ITEMS, **IDS))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="score must be a function, got 3"):
        Function(3, **IDS)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="user id 'u01' stands twice"):
        Factors(USERS, ITEMS, users=["u01"] * 60, items=SHUFFLED_ITEMS)
    with pytest.raises(DataError, match=r"gave shape \(25, 3\), expected \(25, 80\)"):
        cerec.explainer(DATA, recommender=Function(lambda u: np.zeros((len(u), 3)), **IDS))


@pytest.mark.parametrize("newcomers", [False, True])
def test_a_wrapped_run_lists_what_the_trained_one_lists(newcomers: bool, tmp_path: Path) -> None:
    pairs = DATA.interactions
    part = np.random.default_rng(0).choice([TRAIN, VALID, TEST], len(pairs), p=[0.6, 0.2, 0.2])
    if newcomers:
        part[(pairs.user % 5 == 0) & (part == TRAIN)] = VALID
    data = replace(DATA, interactions=replace(pairs, part=part.astype(np.int8)))
    trained = cerec.train(data, QUICK, seed=3)
    factors = [trained.model.arrays[name] for name in ("user", "item")]
    made = Factors(*factors, users=data.users.ids, items=data.items.ids)
    wrapped = cerec.explainer(data, recommender=made, check=False)
    assert dict(wrapped.recommend_all(k=20)) == dict(trained.recommend_all(k=20))
    assert list(wrapped.listed_pairs(k=5)) == list(trained.listed_pairs(k=5))
    assert wrapped.metrics == trained.metrics
    again = cerec.open(wrapped.save(tmp_path / "wrapped"))
    assert dict(again.recommend_all(k=20)) == dict(trained.recommend_all(k=20))


def test_the_agent_is_trained_when_asked_for() -> None:
    pytest.importorskip("torch")
    rows: list[Any] = []
    made = Factors(USERS, ITEMS, **IDS)
    run = cerec.explainer(DATA, recommender=made, agent=True, on_row=rows.append, config=QUICK)
    assert len(rows) == QUICK.train.agent_epochs
    assert run.explain("u01", run.recommend("u01")[0].item, by="agent").by == "agent"
