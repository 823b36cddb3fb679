"""Reference lines: simple recommenders that any other must be measured against.

Each takes the train items of every user and gives a finished `Scorer`. They know no item values,
so the effects are zero; `effects.fit` gives them some where they have factors.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.errors import ConfigError
from cerec.ragged import Ragged
from cerec.recommend.scorer import Scorer
from cerec.rng import generator

LINES = ("popularity", "itemknn", "ease", "ials")
_DENSE_ITEMS = 20_000  # an item-item matrix of doubles this wide takes 3.2 GB
_DENSE_SCORES = 1 << 29  # users x items held as float32: 2 GB


def popularity(known: Ragged, n_items: int, n_values: int = 0) -> Scorer:
    """Items by how many users took them, the same for everyone."""
    count = np.bincount(known.indices, minlength=n_items).astype(np.float32)
    user = np.ones((len(known), 1), np.float32)
    return Scorer(user, count[:, None], np.zeros((n_values, 1), np.float32), user, "sum")


def ease(known: Ragged, n_items: int, n_values: int = 0, *, l2: float = 200.0) -> Scorer:
    """EASE (Steck 2019): the closed-form item-item model with an empty diagonal.

    Inverts a dense items x items matrix: seconds for 3,000 items, minutes and 2 GB for 15,000;
    refused beyond 20,000.
    """
    _check_dense("EASE", known, n_items)
    x = _matrix(known, n_items)
    gram = (x.T @ x).toarray()
    gram[np.diag_indices(n_items)] += l2
    inverse = np.linalg.inv(gram)
    weight = inverse / -np.diag(inverse)
    weight[np.diag_indices(n_items)] = 0.0
    return _from_matrix(x @ weight.astype(np.float32), known, n_values)


def itemknn(
    known: Ragged, n_items: int, n_values: int = 0, *, neighbours: int = 100, shrink: float = 10.0
) -> Scorer:
    """Cosine similarity between the users of two items, damped for rare items, nearest kept."""
    _check_dense("item-kNN", known, n_items)
    x = _matrix(known, n_items)
    together = (x.T @ x).toarray()
    norm = np.sqrt(np.diag(together))
    similar = together / (np.outer(norm, norm) + shrink)
    similar[np.diag_indices(n_items)] = 0.0
    if neighbours < n_items:
        cut = np.partition(similar, n_items - neighbours, axis=0)[n_items - neighbours]
        similar[similar < cut] = 0.0
    return _from_matrix(x @ similar.astype(np.float32), known, n_values)


def ials(
    known: Ragged,
    n_items: int,
    n_values: int = 0,
    *,
    dim: int = 64,
    weight: float = 0.1,
    l2: float = 0.01,
    sweeps: int = 15,
    seed: int = 0,
) -> Scorer:
    """Implicit ALS (Hu 2008): squared error, train pairs at 1, all pairs at 0 with `weight`.

    `l2` is scaled by how much data a row has (Rendle 2021), so one value fits rows of any size.
    """
    rng = generator(seed, "ials")
    user = (rng.standard_normal((len(known), dim)) * 0.1).astype(np.float32)
    item = (rng.standard_normal((n_items, dim)) * 0.1).astype(np.float32)
    holders = known.transpose(n_items)
    for _ in range(sweeps):
        _solve(user, item, known, weight, l2)
        _solve(item, user, holders, weight, l2)
    return Scorer(user, item, np.zeros((n_values, dim), np.float32), user, "sum")


def fit_line(name: str, known: Ragged, n_items: int, n_values: int, *, seed: int) -> Scorer:
    """The reference line of that name, with its default settings."""
    if name == "popularity":
        return popularity(known, n_items, n_values)
    if name == "itemknn":
        return itemknn(known, n_items, n_values)
    if name == "ease":
        return ease(known, n_items, n_values)
    if name == "ials":
        return ials(known, n_items, n_values, seed=seed)
    raise ConfigError(f"reference line must be one of {', '.join(LINES)}, got {name!r}")


def _solve(
    into: NDArray[np.float32], fixed: NDArray[np.float32], rows: Ragged, weight: float, l2: float
) -> None:
    """The exact least-squares row of `into` for every row, `fixed` unchanged."""
    gram = weight * (fixed.T @ fixed).astype(np.float64)
    eye = np.eye(fixed.shape[1])
    for r in range(len(rows)):
        held = fixed[rows.row(r)].astype(np.float64)  # (n, d)
        pull = l2 * (len(held) + weight * len(fixed))
        into[r] = np.linalg.solve(gram + held.T @ held + pull * eye, held.sum(0))


def _matrix(known: Ragged, n_items: int) -> sp.csr_matrix:
    ones = np.ones(known.size, np.float32)
    return sp.csr_matrix((ones, known.indices, known.indptr), shape=(len(known), n_items))


def _from_matrix(matrix: NDArray[np.float32], known: Ragged, n_values: int) -> Scorer:
    none = np.zeros((len(known), 1), np.float32)
    return Scorer(
        none,
        np.zeros((matrix.shape[1], 1), np.float32),
        np.zeros((n_values, 1), np.float32),
        none,
        "sum",
        matrix=np.ascontiguousarray(matrix, np.float32),
    )


def _check_dense(name: str, known: Ragged, n_items: int) -> None:
    if n_items > _DENSE_ITEMS or len(known) * n_items > _DENSE_SCORES:
        raise ConfigError(
            f"{name} needs dense item-item and user-item matrices: {len(known):,} users x "
            f"{n_items:,} items is too large; use ials or a factor model"
        )
