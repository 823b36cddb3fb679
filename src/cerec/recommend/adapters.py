"""Recommenders made elsewhere as arrays: factors, objects that hold factors, callables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cerec.data.dataset import Dataset
from cerec.data.ids import IdTable
from cerec.errors import ConfigError, DataError

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
_MOST_SCORES = 200_000_000  # 1.6 GB


def factors_of(
    data: Dataset, user: Factors, item: Factors
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(U, d) and (I, d) factors in the order of the data, checked."""
    users, items = _table(data.users, user), _table(data.items, item)
    if users.shape[1] != items.shape[1]:
        raise DataError(
            f"user factors have {users.shape[1]} columns and item factors {items.shape[1]}; "
            "both must come from the same model"
        )
    return users, items


def factors_of_model(
    data: Dataset, model: object
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Factors of an object that holds them, such as a model of `implicit`.

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
            return factors_of(data, users, items)
    names = " or ".join(f"{u} and {i}" for u, i, _, _ in _ATTRIBUTES)
    raise ConfigError(
        f"{type(model).__name__} has no factors (looked for {names}); "
        "give user_factors= and item_factors=, or score="
    )


def scores_of(data: Dataset, score: Score) -> NDArray[np.float64]:
    """(U, I) all scores of a callable."""
    shape = len(data.users), len(data.items)
    if shape[0] * shape[1] > _MOST_SCORES:
        raise ConfigError(
            f"{shape[0]:,} users x {shape[1]:,} items are more than {_MOST_SCORES:,} scores to "
            "hold; bring factors instead, or fewer users"
        )
    matrix = np.empty(shape)
    for row, user in enumerate(data.users):
        matrix[row] = _scores_of(score, user, data.items)
    return matrix


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
