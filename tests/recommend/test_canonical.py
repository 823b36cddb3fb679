"""Canonical effects: the ridge by hand and against refits, scores to the bit, planted worlds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cerec.data.facts import Facts
from cerec.errors import DataError, NotFinite
from cerec.recommend import ridge
from cerec.recommend.canonical import (
    FactorScores,
    canonical,
    centred,
    factor_subject,
    free_columns,
    vocabulary_of,
)
from cerec.recommend.fitted import FittedScores, coordinates, fitted, low_rank, score_subject
from cerec.recommend.scorer import score_all
from recommend_worlds import facts, ragged

RELATION = np.array([0] * 6 + [1] * 8 + [2] * 5, np.int32)


def world(seed: int, n: int = 120) -> Facts:
    """Relation 0: always one of 6 values; 1: none to four of 8; 2: at most one of 5."""
    rng = np.random.default_rng(seed)
    of_item = []
    for _ in range(n):
        several = 6 + rng.choice(8, rng.integers(0, 5), replace=False)
        one = [14 + int(rng.integers(5))] if rng.random() < 0.6 else []
        of_item.append([int(rng.integers(6)), *sorted(several.tolist()), *one])
    return facts(of_item, RELATION.tolist())


def design(known: Facts, support: int = 1) -> tuple[sp.csr_matrix, np.ndarray]:
    vocabulary, of_item = vocabulary_of(known, support)
    shape = len(of_item), len(vocabulary)
    z = sp.csr_matrix((np.ones(of_item.size), of_item.indices, of_item.indptr), shape)
    return z, free_columns(z, known.relation[vocabulary], support)


def planted(known: Facts, noise: float, seed: int, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """True effect vectors, centred as ours, and item vectors that are their sums."""
    rng = np.random.default_rng(seed)
    x = centred(
        rng.normal(size=(known.n_values, d)), known.relation, known.holders.counts.astype(float)
    )
    item = np.stack([x[known.of_item.row(i)].sum(axis=0) for i in range(len(known.of_item))])
    return x, item + 2.0 + noise * rng.normal(size=item.shape)


def test_ridge_by_hand() -> None:
    # two values of two items each, y = 1, 1, 0, 0; the intercept takes 1/2
    z = sp.csr_matrix(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]))
    y = np.array([[1.0], [1], [0], [0]])
    for solve in (ridge.primal, ridge.dual):
        value, unseen = solve(z, np.ones((4, 1)), y)(2.0)
        # Z'MZ = [[1, -1], [-1, 1]] has eigenvalue 2 along (1, -1), Z'MY = (1, -1): 1 / (2 + 2)
        assert value[:, 0] == pytest.approx([0.25, -0.25])
        # hat: 1/4 of the mean, 2 / (2 + 2) of the other direction, of which 1/4 is each item's
        assert unseen[:, 0] == pytest.approx(np.array([0.25, 0.25, -0.25, -0.25]) / (1 - 0.375))


@pytest.mark.parametrize("form", [ridge.primal, ridge.dual])
@pytest.mark.parametrize("penalty", [0.5, 5.0])
def test_leaving_out_in_closed_form_is_refitting_without_the_item(
    form: object, penalty: float
) -> None:
    z, free = design(world(1, 40))
    y = np.random.default_rng(2).normal(size=(40, 3))
    _, unseen = form(z, free, y)(penalty)  # type: ignore[operator]
    for i in range(40):
        rows = np.delete(np.arange(40), i)
        some = z[rows], free[rows], y[rows]
        value, _ = ridge.primal(*some)(penalty)
        guess = ridge.predicted(*some, value, z[[i]], free[[i]])
        assert y[i] - guess[0] == pytest.approx(unseen[i], abs=1e-9)


@given(st.integers(0, 10_000), st.sampled_from([0.1, 3.0, 81.0]))
def test_primal_dual_and_iterated_agree(seed: int, penalty: float) -> None:
    z, free = design(world(seed, 50))
    y = np.random.default_rng(seed).normal(size=(50, 4))
    one, two = ridge.primal(z, free, y)(penalty), ridge.dual(z, free, y)(penalty)
    np.testing.assert_allclose(one[0], two[0], atol=1e-9)
    np.testing.assert_allclose(one[1], two[1], atol=1e-8)
    three = ridge.conjugate(z, free, y, near=1e-12)(penalty, None)
    np.testing.assert_allclose(three, one[0], atol=1e-8)


def test_an_item_that_nothing_else_tells_of_counts_from_the_mean() -> None:
    z = sp.csr_matrix(np.eye(4)[[0, 0, 1, 1]])
    free = np.array([[1.0, 0], [1, 0], [1, 0], [1, 1]])  # the last column is of one item only
    y = np.array([[1.0], [2], [3], [8]])
    for form in (ridge.primal, ridge.dual):
        assert form(z, free, y)(1.0)[1][3, 0] == pytest.approx(8 - 3.5)


def test_large_problems_leave_a_tenth_out(monkeypatch: pytest.MonkeyPatch) -> None:
    known = world(4, 400)
    _, item = planted(known, 0.5, 5)
    user = np.random.default_rng(6).normal(size=(30, 6))
    exact = canonical(user, item, known)
    monkeypatch.setattr(ridge, "DENSE", 8)
    iterated = canonical(user, item, known)
    assert iterated.fidelity == pytest.approx(exact.fidelity, abs=0.1)
    assert iterated.penalty == pytest.approx(exact.penalty, rel=10)
    np.testing.assert_allclose(iterated.value, exact.value, atol=0.1)


def test_centring_moves_no_prediction_and_no_replacement() -> None:
    known = world(7)
    z, free = design(known)
    y = np.random.default_rng(8).normal(size=(120, 3))
    raw, _ = ridge.primal(z, free, y)(4.0)
    held = np.asarray(z.sum(axis=0)).ravel()
    ours = centred(raw + 3.0, known.relation, held)
    before = ridge.predicted(z, free, y, raw, z, free)
    np.testing.assert_allclose(ridge.predicted(z, free, y, ours, z, free), before, atol=1e-9)
    for r in range(3):
        mine = known.relation == r
        assert held[mine] @ ours[mine] == pytest.approx(np.zeros(3), abs=1e-9)
        np.testing.assert_allclose(np.diff(ours[mine], axis=0), np.diff(raw[mine], axis=0))


def test_the_penalty_is_the_best_of_all() -> None:
    z, free = design(world(9))
    _, y = planted(world(9), 1.0, 10)
    gram = np.diag([9.0, 4, 1, 1, 1, 0])
    found = ridge.fit(z, free, y, gram)
    errors = [ridge.energy(ridge.primal(z, free, y)(p)[1], gram) for p in ridge.PENALTIES]
    assert found.penalty == ridge.PENALTIES[int(np.argmin(errors))]
    total = ridge.energy(y - y.mean(axis=0), gram)
    assert found.fidelity == pytest.approx(1 - min(errors) / total)


def test_planted_effects_are_found() -> None:
    known = world(11, 600)
    x, item = planted(known, 0.05, 12)
    user = np.random.default_rng(13).normal(size=(50, 6))
    found = canonical(user, item, known)
    assert found.fidelity > 0.97
    np.testing.assert_allclose(found.value, x, atol=0.05)


def test_noise_has_no_effects() -> None:
    known = world(14, 300)
    rng = np.random.default_rng(15)
    found = canonical(rng.normal(size=(50, 6)), rng.normal(size=(300, 6)), known)
    assert abs(found.fidelity) < 0.1
    assert np.abs(found.value).max() < 0.3


def test_number_of_values_and_presence_are_free() -> None:
    known = world(16, 300)
    z, _ = design(known)
    count = np.asarray(z[:, 6:14].sum(axis=1)).ravel()
    item = np.stack([count, 5.0 * (count > 0)], axis=1)
    found = canonical(np.eye(2), item, known)
    np.testing.assert_allclose(found.value, 0.0, atol=1e-9)
    assert found.fidelity == pytest.approx(1.0)


def test_presence_is_a_column_only_where_it_says_more() -> None:
    z, free = design(world(17), support=5)
    assert free.shape[1] == 1 + 3 + 1  # intercept, counts, presence of relation 1 alone
    assert np.array_equal(free[:, -1], free[:, 2] > 0)
    q, back = ridge.basis(free)
    assert q.shape[1] == 4  # relation 0, of which every item has one, is the intercept
    np.testing.assert_allclose(free @ back, q, atol=1e-9)
    assert z.shape[1] == 19


def test_values_below_the_support_are_left_out() -> None:
    known = facts([[0, 2]] * 5 + [[1, 2]] * 4 + [[0]] * 2 + [[]], [0, 0, 1])
    vocabulary, of_item = vocabulary_of(known, 5)
    assert vocabulary.tolist() == [0, 2]
    assert [of_item.row(i).tolist() for i in (0, 5, 9, 11)] == [[0, 1], [1], [0], []]
    rng = np.random.default_rng(18)
    user, item = rng.normal(size=(3, 2)), rng.normal(size=(12, 2))
    found = canonical(user, item, known)
    assert found.vocabulary.tolist() == [0, 2]
    np.testing.assert_allclose(found.value, 0.0, atol=1e-12)  # a lone value of its relation


# --- scores


@pytest.mark.parametrize("d", [1, 3, 4, 7, 64])
def test_scores_are_those_of_score_all_to_the_bit(d: int) -> None:
    rng = np.random.default_rng(d)
    user = rng.normal(size=(9, d)).astype(np.float32)
    item = rng.normal(size=(1100, d)).astype(np.float32)
    value = rng.normal(size=(30, d))
    model = FactorScores(user, item, value)
    block = model.both(np.arange(9))
    item_t = np.ascontiguousarray(item.T)
    for u in range(9):
        assert np.array_equal(block[0][u], score_all(user[u], item_t))
        one = model.both(np.array([u]))
        assert np.array_equal(one[0][0], block[0][u])
        assert np.array_equal(one[1][0], block[1][u])
    np.testing.assert_allclose(block[1], user @ value.T, atol=1e-6)


def test_sums_of_effects_are_exact_in_any_order() -> None:
    rng = np.random.default_rng(20)
    user, value = rng.normal(size=(4, 8)), rng.normal(size=(200, 8))
    effect = FactorScores(user, np.zeros((3, 8)), value).both(np.arange(4))[1]
    for row in effect:
        assert len({sum(rng.permutation(row).tolist()) for _ in range(20)}) == 1


def test_a_bias_is_one_more_factor() -> None:
    rng = np.random.default_rng(21)
    known = world(22)
    x, item = planted(known, 0.0, 23, d=4)
    bias = item[:, 3].astype(np.float32)
    user, item = rng.normal(size=(8, 3)).astype(np.float32), item[:, :3].astype(np.float32)
    subject = factor_subject(user, item, known, ragged(*[[]] * 8), bias=bias)
    scores, effects = subject.both(np.arange(8))
    plain = FactorScores(user, item, np.zeros((0, 3))).both(np.arange(8))[0]
    assert np.array_equal(scores, plain + bias.astype(float))
    same = FactorScores(user, item, np.zeros((19, 3)), bias=bias).both(np.arange(8))[0]
    assert np.array_equal(scores, same)
    np.testing.assert_allclose(effects, user @ x[:, :3].T + x[:, 3], atol=0.05)


def test_subject_of_factors() -> None:
    known = world(24)
    _, item = planted(known, 0.1, 25)
    user = np.random.default_rng(26).normal(size=(8, 6))
    seen = ragged(*[[n] for n in range(8)])
    subject = factor_subject(user, item, known, seen)
    assert subject.source == "canonical"
    assert subject.fidelity is not None
    assert subject.fidelity > 0.9
    assert subject.scale.tolist() == [1.0] * 120
    assert (np.diff(subject.vocabulary) > 0).all()
    assert (subject.support >= 5).all()
    np.testing.assert_allclose(subject.scores(np.arange(8)), user @ item.T)


@pytest.mark.parametrize("kind", ["factors", "scores"])
def test_without_facts_there_are_no_effects(kind: str) -> None:
    known = facts([[]] * 10, [])
    user, item = np.ones((2, 3)), np.arange(30.0).reshape(10, 3)
    seen = ragged([], [])
    if kind == "factors":
        subject = factor_subject(user, item, known, seen)
    else:
        subject = score_subject(user @ item.T, known, seen)
    assert (subject.source, subject.fidelity) == ("none", None)
    scores, effects = subject.both(np.array([1, 0]))
    assert effects.shape == (2, 0)
    np.testing.assert_allclose(scores, (user @ item.T)[[1, 0]])


def test_wrong_factors_are_refused() -> None:
    known, seen = world(27), ragged([], [])
    good = np.ones((120, 3))
    with pytest.raises(DataError, match="expected 2 and 120"):
        factor_subject(np.ones((3, 3)), good, known, seen)
    with pytest.raises(DataError, match="4 columns and item factors 3"):
        factor_subject(np.ones((2, 4)), good, known, seen)
    with pytest.raises(DataError, match="float32 or float64"):
        factor_subject(np.ones((2, 3), int), good, known, seen)
    with pytest.raises(NotFinite, match="row 1"):
        factor_subject(np.array([[1.0, 1, 1], [1, np.nan, 1]]), good, known, seen)
    with pytest.raises(DataError, match="effects have 2 columns"):
        FactorScores(np.ones((2, 3)), good, np.ones((5, 2)))


# --- scores alone


def scored(seed: int, noise: float = 0.1) -> tuple[Facts, np.ndarray, np.ndarray]:
    """A world, scores of 40 users of its 200 items, and their true effects."""
    known = world(seed, 200)
    x, item = planted(known, noise, seed)
    user = np.random.default_rng(seed + 1).normal(size=(40, 6))
    return known, user @ item.T, user @ x.T


def test_scores_alone_say_what_factors_say() -> None:
    known, matrix, effects = scored(30)
    subject = score_subject(matrix, known, ragged(*[[]] * 40))
    assert subject.source == "fitted"
    scores, ours = subject.both(np.arange(40))
    assert np.array_equal(scores, matrix)
    assert np.corrcoef(ours.ravel(), effects.ravel())[0, 1] > 0.99
    assert subject.fidelity is not None
    assert subject.fidelity > 0.95


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_what_may_not_be_listed_does_not_ruin_the_fit(share: float) -> None:
    known, matrix, effects = scored(31)
    # the best are missing, as where a recommender leaves out what the user has
    cut = np.quantile(matrix, 1 - share, axis=1, keepdims=True)
    matrix = np.where(matrix > cut, np.nan, matrix)
    matrix[:, 5] = -np.inf  # of an item that is never shown
    subject = score_subject(matrix, known, ragged(*[[]] * 40))
    scores, ours = subject.both(np.arange(40))
    assert np.isnan(scores[:, 5]).all()
    assert np.array_equal(np.isnan(scores), ~np.isfinite(matrix))
    assert np.isfinite(ours).all()
    assert np.corrcoef(ours.ravel(), effects.ravel())[0, 1] > (0.95 if share < 0.2 else 0.9)


def test_one_user_and_many_by_scores_alone() -> None:
    known, matrix, _ = scored(32)
    matrix[::3, ::4] = np.nan
    matrix[7] = np.nan
    subject = score_subject(lambda users: matrix[users], known, ragged(*[[]] * 40))
    scores, effects = subject.both(np.arange(40))
    for u in (0, 7, 8):
        one = subject.both(np.array([u]))
        assert np.array_equal(one[0][0], scores[u], equal_nan=True)
        assert np.array_equal(one[1][0], effects[u])
    assert not effects[7].any()
    row = effects[8]
    assert len({sum(np.random.default_rng(n).permutation(row).tolist()) for n in range(9)}) == 1


def test_single_precision_scores_are_kept() -> None:
    known, matrix, _ = scored(33)
    low = matrix.astype(np.float32)
    scores, _ = score_subject(low, known, ragged(*[[]] * 40)).both(np.arange(3))
    assert np.array_equal(scores, low[:3].astype(float))


def test_low_rank_holds_the_scores_around_the_mean() -> None:
    rng = np.random.default_rng(34)
    matrix = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 50)) + rng.normal(size=(30, 1))
    basis = low_rank(matrix, 4)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-9)
    centred_scores = matrix - matrix.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(coordinates(matrix, basis) @ basis.T, centred_scores, atol=1e-9)


def test_wrong_scores_are_refused() -> None:
    known, matrix, _ = scored(35)
    seen = ragged(*[[]] * 40)
    with pytest.raises(DataError, match=r"expected \(40, 200\)"):
        score_subject(matrix[:, :9], known, seen)
    with pytest.raises(DataError, match="shape"):
        score_subject(lambda users: matrix[users, :9], known, seen)
    with pytest.raises(DataError, match="needs n_users"):
        fitted(lambda users: matrix[users], known)
    matrix[3, 3] = np.inf
    with pytest.raises(DataError, match="user row 3"):
        FittedScores(lambda users: matrix[users], np.zeros((200, 1)), np.zeros((2, 1))).both(
            np.arange(5)
        )
