"""Scorers around recommenders made elsewhere: factors, objects that hold factors, callables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.errors import ConfigError, DataError
from cerec.recommend.effects import fit_effects
from cerec.recommend.scorer import Scorer
from cerec.rng import generator

Factors = ArrayLike | Mapping[Any, ArrayLike]
"""An array with a row per id in the order of the data, or a mapping from id to vector."""
Score = Callable[[str, Sequence[str]], ArrayLike]
"""`score(user, items)`: one number per item, higher is better."""

_ATTRIBUTES = (
    ("user_factors", "item_factors", "", ""),  # implicit, many others
    ("user_embeddings", "item_embeddings", "user_biases", "item_biases"),  # LightFM
    ("pu", "qi", "bu", "bi"),  # Surprise
    ("user_embedding", "item_embedding", "user_bias", "item_bias"),  # torch modules
)
_MOST_SCORES = 200_000_000  # 0.8 GB of single precision


def scorer_from_factors(
    data: Dataset, facts: Facts, user: Factors, item: Factors, *, seed: int = 0
) -> Scorer:
    """A scorer for `score = user . item`, with effects of item values fitted to the factors."""
    users, items = _table(data.users, user), _table(data.items, item)
    if users.shape[1] != items.shape[1]:
        raise DataError(
            f"user factors have {users.shape[1]} columns and item factors {items.shape[1]}; "
            "both must come from the same model"
        )
    largest = [float(np.abs(table).max(initial=0.0)) for table in (users, items)]
    if largest[0] * largest[1] * users.shape[1] > float(np.finfo(np.float32).max):
        raise DataError(
            f"user factors up to {largest[0]:.3g} and item factors up to {largest[1]:.3g} may give "
            "scores beyond single precision; scale them down, which changes no list"
        )
    fitted = fit_effects(items, facts, user=users, seed=seed)
    return Scorer(users, items, fitted.effect, users, "sum", fidelity=fitted.fidelity)


def scorer_from_model(data: Dataset, facts: Facts, model: object, *, seed: int = 0) -> Scorer:
    """A scorer for an object that holds user and item factors, such as a model of `implicit`.

    Its rows must be in the order of `data.users` and `data.items`. Biases are taken along.
    """
    for user, item, _, item_bias in _ATTRIBUTES:
        if hasattr(model, user) and hasattr(model, item):
            users, items = _array(getattr(model, user)), _array(getattr(model, item))
            if item_bias and getattr(model, item_bias, None) is not None:
                bias = _array(getattr(model, item_bias)).reshape(-1, 1)
                items = np.concatenate([items, bias], axis=1)
                users = np.concatenate([users, np.ones((len(users), 1), users.dtype)], axis=1)
            # a bias of the user moves all items alike, so it cannot change a list
            return scorer_from_factors(data, facts, users, items, seed=seed)
    names = " or ".join(f"{u} and {i}" for u, i, _, _ in _ATTRIBUTES)
    raise ConfigError(
        f"{type(model).__name__} has no factors (looked for {names}); "
        "give user_factors= and item_factors=, or score="
    )


def scorer_from_scores(
    data: Dataset, facts: Facts, score: Score, *, rank: int = 64, seed: int = 0
) -> Scorer:
    """A scorer for any callable, by its scores of all users and items.

    The ranking is the callable's own, in single precision. Effects are fitted to a low-rank form
    of the scores; the fidelity is that of the scores themselves.
    """
    shape = len(data.users), len(data.items)
    if shape[0] * shape[1] > _MOST_SCORES:
        raise ConfigError(
            f"{shape[0]:,} users x {shape[1]:,} items are more than {_MOST_SCORES:,} scores to "
            "hold; bring factors instead, or fewer users"
        )
    matrix = np.empty(shape, np.float32)
    for row, user in enumerate(data.users):
        matrix[row] = _scores_of(score, user, data.items)
    return _scorer_of_matrix(matrix, facts, rank, seed)


def with_effects(scorer: Scorer, facts: Facts, *, rank: int = 64, seed: int = 0) -> Scorer:
    """The scorer itself when it knows what values do; else with effects fitted to its scores."""
    if scorer.effect.any() or facts.n_values == 0:
        return scorer
    if scorer.matrix is not None:
        return _scorer_of_matrix(scorer.matrix, facts, rank, seed)
    fitted = fit_effects(scorer.item, facts, user=scorer.user, seed=seed)
    user = scorer.user
    return Scorer(user, scorer.item, fitted.effect, user, "sum", fidelity=fitted.fidelity)


def _scorer_of_matrix(matrix: NDArray[np.float32], facts: Facts, rank: int, seed: int) -> Scorer:
    users, items = low_rank(matrix, rank, seed)
    fitted = fit_effects(items, facts, user=users, seed=seed)
    # what the low-rank form leaves out is orthogonal to it, hence lost to the effects in full
    fidelity = fitted.fidelity * _kept_share(matrix, users, items)
    return Scorer(users, items, fitted.effect, users, "sum", matrix=matrix, fidelity=fidelity)


def low_rank(
    matrix: NDArray[np.float32], rank: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """User (U, r) and item (I, r) sides of the scores around each user's mean, by random SVD."""
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    rank = min(rank, *matrix.shape)
    width = min(rank + 16, *matrix.shape)
    rng = generator(seed, "adapters/low rank")
    basis = centred @ rng.normal(size=(matrix.shape[1], width)).astype(np.float32)
    for _ in range(3):
        basis = np.linalg.qr(basis)[0]
        basis = centred @ (centred.T @ basis)
    basis = np.linalg.qr(basis)[0]
    left, size, right = np.linalg.svd(basis.T @ centred, full_matrices=False)
    users = basis @ (left[:, :rank] * size[:rank])
    return np.ascontiguousarray(users, np.float32), np.ascontiguousarray(right[:rank].T, np.float32)


def _kept_share(
    matrix: NDArray[np.float32], users: NDArray[np.float32], items: NDArray[np.float32]
) -> float:
    """Share of the variance of the scores that the low-rank form holds."""
    lost = total = 0.0
    for start in range(0, len(matrix), 256):
        part = matrix[start : start + 256]
        centred = part - part.mean(axis=1, keepdims=True)
        total += float(np.square(centred, dtype=np.float64).sum())
        rest = centred - users[start : start + 256] @ items.T
        lost += float(np.square(rest, dtype=np.float64).sum())
    return 1.0 - lost / total if total > 0 else 1.0


def _scores_of(score: Score, user: str, items: IdTable) -> NDArray[np.float64]:
    given = score(user, items.ids)  # what it raises is its own
    try:
        got = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"score({user!r}, items) gave no array of numbers: {error}") from None
    if got.shape != (len(items),):
        raise DataError(
            f"score({user!r}, items) gave {got.shape}, expected one number for each of the "
            f"{len(items)} items"
        )
    sound = np.abs(got) <= np.finfo(np.float32).max  # false for nan, too
    if not sound.all():
        raise DataError(
            f"score({user!r}, items) gave {got[~sound][0]}, no number of single precision"
        )
    return got


def _table(ids: IdTable, factors: Factors) -> NDArray[np.float32]:
    """(n, d) factors in row order."""
    if isinstance(factors, Mapping):
        rows: list[Any] = [None] * len(ids)
        for key, vector in factors.items():
            if (key if isinstance(key, str) else str(key)) in ids:
                rows[ids.row(key)] = vector
        missing = next((ids[n] for n, row in enumerate(rows) if row is None), None)
        if missing is not None:
            raise DataError(f"no factors for {ids.kind} {missing!r}; give one vector for every id")
        factors = rows
    try:
        table = np.asarray(_array(factors), np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"{ids.kind} factors are not an array of numbers: {error}") from None
    if table.ndim != 2 or len(table) != len(ids):
        raise DataError(
            f"{ids.kind} factors have shape {table.shape}, expected ({len(ids)}, d): one row per "
            f"{ids.kind} in the order of the data, or a mapping from id to vector"
        )
    return np.ascontiguousarray(table, np.float32)


def _array(factors: Any) -> NDArray[Any]:
    """NumPy form of arrays, torch tensors, embedding modules and matrices on a GPU."""
    for step in ("weight", "data", "detach", "cpu", "to_numpy"):
        if isinstance(factors, np.ndarray):
            break
        inner = getattr(factors, step, None)
        if inner is not None:
            factors = inner() if callable(inner) else inner
    return np.asarray(factors)
