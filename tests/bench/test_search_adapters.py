"""Recommenders made elsewhere are explained, and their own code agrees."""

from __future__ import annotations

import warnings

import implicit
import numpy as np
import pytest
import scipy.sparse as sp
from search_worlds import check_slowly, dataset

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError, DataError
from cerec.recommend.adapters import (
    low_rank,
    scorer_from_factors,
    scorer_from_model,
    scorer_from_scores,
)
from cerec_bench.search.explainer import Explainer


def tastes(seed: int = 0) -> tuple[Dataset, Facts, Ragged]:
    """Sixty users who like one of six genres each, ninety items."""
    rng = np.random.default_rng(seed)
    genre, maker = rng.integers(0, 6, 90), rng.integers(6, 14, 90)
    triples = [(i, 0, int(genre[i])) for i in range(90)] + [
        (i, 1, int(maker[i])) for i in range(90)
    ]
    data = dataset(triples, (60, 90, 14, 2))
    liked = [(u, i) for u in range(60) for i in range(90) if genre[i] == u % 6]
    liked = [pair for pair in liked if rng.random() < 0.6]
    user, item = np.array(liked).T
    return data, Facts.build(data), Ragged.from_pairs(user, item, 60)


@pytest.fixture(scope="module")
def als() -> tuple[implicit.cpu.als.AlternatingLeastSquares, sp.csr_matrix]:
    _, _, known = tastes()
    ones = np.ones(known.size, np.float32)
    matrix = sp.csr_matrix((ones, known.indices, known.indptr), shape=(60, 90))
    with warnings.catch_warnings():  # implicit asks for one BLAS thread
        warnings.simplefilter("ignore", RuntimeWarning)
        model = implicit.cpu.als.AlternatingLeastSquares(
            factors=8, iterations=5, random_state=0, num_threads=1
        )
        model.fit(matrix, show_progress=False)
    return model, matrix


def test_implicit_als_is_explained_and_its_own_ranking_agrees(als) -> None:  # type: ignore[no-untyped-def]
    model, matrix = als
    data, facts, known = tastes()
    scorer = scorer_from_model(data, facts, model, seed=0)
    assert scorer.fidelity is not None
    explainer = Explainer(data, known, facts, scorer)
    verified = 0
    for user in range(0, 60, 4):
        theirs, _ = model.recommend(user, matrix[user], N=5)
        assert theirs.tolist() == explainer.listed(user, 5).tolist()
        for item in theirs.tolist():
            e = explainer.explain(data.users[user], data.items[item], k=5)
            if e.status != "verified":
                continue
            verified += 1
            check_slowly(explainer, e)
            assert "fitted to this recommender" in e.text
            after = _their_list(model, matrix, user, item, explainer, e)
            expected = [i for i in theirs.tolist() if i != item]
            assert after == [*expected, data.items.row(e.replacement)]
    assert verified > 50


def _their_list(model, matrix, user, item, explainer, e) -> list[int]:  # type: ignore[no-untyped-def]
    """What implicit recommends once the changed item's vector stands in its table."""
    facts, effect = explainer.facts, explainer.scorer.effect
    vector = model.item_factors[item].copy()
    for change in e.changes:
        for sign, attribute in ((-1, change.before), (1, change.after)):
            if attribute is not None:
                relation = explainer.data.relations.row(change.relation)
                entity = explainer.data.entities.row(attribute)
                at = np.flatnonzero((facts.relation == relation) & (facts.attribute == entity))[0]
                vector += sign * effect[at]
    before = model.item_factors[item].copy()
    model.item_factors[item] = vector
    try:
        return model.recommend(user, matrix[user], N=5)[0].tolist()
    finally:
        model.item_factors[item] = before


def test_factors_may_be_arrays_or_mappings(als) -> None:  # type: ignore[no-untyped-def]
    model, _ = als
    data, facts, _ = tastes()
    plain = scorer_from_factors(data, facts, model.user_factors, model.item_factors)
    mapped = scorer_from_factors(
        data,
        facts,
        dict(zip(data.users, model.user_factors.astype(np.float64), strict=True)),
        dict(zip(reversed(data.items), model.item_factors[::-1].tolist(), strict=True)),
    )
    assert np.array_equal(plain.scores(7), mapped.scores(7))
    assert np.array_equal(plain.effect, mapped.effect)


def test_a_bias_is_taken_along() -> None:
    data, facts, _ = tastes()
    rng = np.random.default_rng(1)

    class Model:
        user_embeddings = rng.normal(size=(60, 3)).astype(np.float32)
        item_embeddings = rng.normal(size=(90, 3)).astype(np.float32)
        item_biases = rng.normal(size=90).astype(np.float32)

    scorer = scorer_from_model(data, facts, Model())
    expected = Model.item_embeddings @ Model.user_embeddings[5] + Model.item_biases
    assert scorer.scores(5) == pytest.approx(expected, abs=1e-5)


def test_any_callable_is_explained_by_fitted_effects() -> None:
    data, facts, known = tastes()
    rng = np.random.default_rng(2)
    liking = rng.normal(size=(60, facts.n_values))
    own = [liking[:, facts.of_item.row(i)].sum(axis=1) for i in range(90)]
    table = np.stack(own, axis=1) + 0.01 * rng.normal(size=(60, 90))

    def score(user: str, items: tuple[str, ...]) -> np.ndarray:
        return table[data.users.row(user), [data.items.row(i) for i in items]]

    for wrong, words in (("text", "no array of numbers"), (1e300, "no number of single precision")):
        with pytest.raises(DataError, match=words):
            scorer_from_scores(data, facts, lambda _, items, x=wrong: [x] * len(items))
    scorer = scorer_from_scores(data, facts, score)
    assert scorer.fidelity is not None
    assert scorer.fidelity > 0.8
    explainer = Explainer(data, known, facts, scorer)
    pairs = [(u, data.items[int(i)]) for u in data.users for i in explainer.listed(int(u[1:]), 5)]
    answers = list(explainer.explain_many(pairs, k=5))
    assert sum(e.status == "verified" for e in answers) > 0.9 * len(answers)
    for e in answers[:40]:
        if e.status == "verified":
            check_slowly(explainer, e)


def test_a_low_rank_matrix_is_found_again() -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.normal(size=(40, 3)) @ rng.normal(size=(3, 30))).astype(np.float32)
    user, item = low_rank(matrix, 5, seed=0)
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    assert np.abs(user @ item.T - centred).max() < 1e-4


def test_mistakes_name_what_was_expected() -> None:
    data, facts, _ = tastes()
    users, items = np.ones((60, 2)), np.ones((90, 2))
    with pytest.raises(DataError, match=r"user factors have shape \(59, 2\), expected \(60, d\)"):
        scorer_from_factors(data, facts, users[:59], items)
    with pytest.raises(DataError, match="3 columns and item factors 2"):
        scorer_from_factors(data, facts, np.ones((60, 3)), items)
    with pytest.raises(DataError, match="no factors for user 'u00'"):
        scorer_from_factors(data, facts, {"u01": [1, 2]}, items)
    with pytest.raises(ConfigError, match="object has no factors"):
        scorer_from_model(data, facts, object())
    with pytest.raises(DataError, match="expected one number for each of the 90 items"):
        scorer_from_scores(data, facts, lambda user, items: [1.0])
