from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.metrics import METRICS, beyond_accuracy, mean, per_user
from cerec.recommend.topk import top_k_all


def ragged(*rows: list[int]) -> Ragged:
    row = [r for r, entries in enumerate(rows) for _ in entries]
    flat = [e for entries in rows for e in entries]
    return Ragged.from_pairs(np.array(row, np.int32), np.array(flat, np.int32), len(rows))


def test_every_metric_by_hand() -> None:
    # held out 7, 9, 2; list 7 4 9: hits at positions 1 and 3 of K = 3
    got = {k: v[0] for k, v in per_user(np.array([[7, 4, 9]]), ragged([7, 9, 2]), [3]).items()}
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert got["recall@3"] == pytest.approx(2 / 3)
    assert got["precision@3"] == pytest.approx(2 / 3)
    assert got["hr@3"] == 1.0
    assert got["ndcg@3"] == pytest.approx(1.5 / ideal)
    assert got["mrr@3"] == 1.0
    assert got["map@3"] == pytest.approx((1 / 1 + 2 / 3) / 3)
    assert got["ndcg_kgat@3"] == pytest.approx(1.5 / (1 + 1 / math.log2(3)))


def test_ideal_is_cut_at_k() -> None:
    # three held out, K = 1, a hit: nothing better is possible
    got = per_user(np.array([[5]]), ragged([5, 6, 7]), [1])
    assert got["ndcg@1"][0] == got["map@1"][0] == 1.0


def test_a_user_without_held_out_items_is_left_out() -> None:
    got = per_user(np.array([[1, 2], [1, 2]]), ragged([], [2]), [2])
    assert all(math.isnan(column[0]) for column in got.values())
    assert mean(got)["mrr@2"] == 0.5


def test_short_lists_end_in_minus_one() -> None:
    got = per_user(np.array([[3, -1, -1]]), ragged([3]), [3])
    assert got["recall@3"][0] == 1.0
    assert got["precision@3"][0] == pytest.approx(1 / 3)


def test_unknown_metric_and_too_long_k_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown metric 'auc'"):
        per_user(np.zeros((1, 2), int), ragged([0]), [2], ["auc"])
    with pytest.raises(ConfigError, match="need lists of that length"):
        per_user(np.zeros((1, 2), int), ragged([0]), [3])


def slow(ranked: list[int], relevant: set[int], k: int) -> dict[str, float]:
    """The definitions, one user, plain Python."""
    top = ranked[:k]
    found = [p for p, item in enumerate(top, 1) if item in relevant]
    best = min(k, len(relevant))
    dcg = sum(1 / math.log2(p + 1) for p in found)
    return {
        "recall": len(found) / len(relevant),
        "precision": len(found) / k,
        "hr": float(bool(found)),
        "ndcg": dcg / sum(1 / math.log2(p + 1) for p in range(1, best + 1)),
        "mrr": 1 / found[0] if found else 0.0,
        "map": sum(n / p for n, p in enumerate(found, 1)) / best,
        "ndcg_kgat": dcg / sum(1 / math.log2(p + 1) for p in range(1, len(found) + 1))
        if found
        else 0.0,
    }


@given(
    st.lists(
        st.tuples(st.permutations(range(12)), st.sets(st.integers(0, 11), min_size=1)),
        min_size=1,
        max_size=5,
    )
)
def test_equals_a_plain_version(users: list[tuple[list[int], set[int]]]) -> None:
    lists = np.array([ranked for ranked, _ in users])
    got = per_user(lists, ragged(*[sorted(r) for _, r in users]), [1, 5, 12])
    for row, (ranked, relevant) in enumerate(users):
        for k in (1, 5, 12):
            want = slow(ranked, relevant, k)
            assert {m: got[f"{m}@{k}"][row] for m in METRICS} == pytest.approx(want)
            assert all(-1e-12 <= x <= 1 + 1e-12 for x in want.values())


def test_beyond_accuracy_by_hand() -> None:
    # items 0 (2 train users), 1 (1), 2, 3 (none); lists show 0, 0 and 1, 2
    got = beyond_accuracy(np.array([[0, 1], [0, 2]]), ragged([0, 1], [0]), n_items=4, k=2)
    assert got["coverage@2"] == 0.75
    assert got["novelty@2"] == pytest.approx((0 + 1 + 0 + 1) / 4)
    assert got["popularity@2"] == pytest.approx((2 + 1 + 2 + 0) / 4 / ((2 + 1 + 2) / 3))


@pytest.mark.filterwarnings("ignore")
def test_metrics_equal_those_of_implicit() -> None:
    """implicit ranks for itself, so it is given a model that says what the list is."""
    evaluation = pytest.importorskip("implicit.evaluation")
    base = pytest.importorskip("implicit.cpu.matrix_factorization_base")
    rng = np.random.default_rng(0)
    n_users, n_items, k = 40, 30, 8
    user = rng.standard_normal((n_users, 5)).astype(np.float32)
    item = rng.standard_normal((n_items, 5)).astype(np.float32)
    part = rng.random((n_users, n_items))
    train, test = part < 0.2, (part > 0.75) & (np.arange(n_users) % 10 != 0)[:, None]

    class Given(base.MatrixFactorizationBase):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.user_factors, self.item_factors = user, item

        def fit(self, *args: object) -> None: ...
        def save(self, *args: object) -> None: ...

    theirs = evaluation.ranking_metrics_at_k(
        Given(),
        sp.csr_matrix(train.astype(np.float32)),
        sp.csr_matrix(test.astype(np.float32)),
        K=k,
        show_progress=False,
        num_threads=1,
    )
    known = ragged(*(np.flatnonzero(row).tolist() for row in train))
    wanted = ragged(*(np.flatnonzero(row).tolist() for row in test))
    values = per_user(top_k_all(user, item, known, k), wanted, [k])
    ours = mean(values)
    assert ours[f"ndcg@{k}"] == pytest.approx(theirs["ndcg"])
    assert ours[f"map@{k}"] == pytest.approx(theirs["map"])
    # implicit's "precision" is hits over all that could be hit, added up over users
    most = np.minimum(wanted.counts, k)
    hits = np.nansum(values[f"precision@{k}"]) * k
    assert hits / most.sum() == pytest.approx(theirs["precision"])
    recalled = np.nansum(values[f"recall@{k}"] * wanted.counts)
    assert recalled == pytest.approx(hits)
