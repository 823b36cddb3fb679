"""Where the node table starts: a recommender's factors, or noise."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from cerec.data.ckg import Ckg
from cerec.errors import ConfigError

Float = NDArray[np.float32]
_NOISE = 0.02  # next to a mean row length of 1


def random_table(graph: Ckg, size: int, rng: np.random.Generator) -> Tensor:
    """Gaussian rows of about unit length."""
    table = rng.standard_normal((graph.n_nodes, size), np.float32) / np.float32(np.sqrt(size))
    return torch.from_numpy(table)


def factor_table(
    graph: Ckg,
    user: Float,
    item: Float,
    size: int,
    rng: np.random.Generator,
) -> Tensor:
    """The recommender's factors; other entities at the mean of their neighbours.

    Factors wider than `size` are projected on their leading
    directions, narrower ones are filled up with noise. Users and items keep their relative
    lengths; every kind of node gets a mean length of 1.
    """
    if user.shape != (graph.n_users, user.shape[1]) or item.shape != (
        graph.n_items,
        user.shape[1],
    ):
        raise ConfigError(
            f"factors of shape {user.shape} and {item.shape} do not fit "
            f"{graph.n_users} users and {graph.n_items} items"
        )
    entity = _neighbour_means(graph, item)
    parts = [unit_mean(np.asarray(part, np.float32)) for part in (user, item, entity)]
    table = _fit_width(np.concatenate(parts), size)
    lengths = np.linalg.norm(table, axis=1)
    noise = rng.standard_normal(table.shape, np.float32) / np.float32(np.sqrt(size))
    # A node nobody knows anything of still needs a vector of its own.
    scale = np.where(lengths > 0, _NOISE, 1.0).astype(np.float32)
    return torch.from_numpy(table + scale[:, None] * noise)


def _neighbour_means(graph: Ckg, item: Float) -> Float:
    """Mean item vector around every other entity: of its items, else of its entities'."""
    n_users, n_items = graph.n_users, graph.n_items
    edges = graph.adjacency
    matrix = sparse.csr_array(
        (np.ones(edges.size, np.float32), edges.indices, edges.indptr), (graph.n_nodes,) * 2
    )
    rows = matrix[n_users + n_items :]
    near = rows[:, n_users : n_users + n_items]
    count = near.sum(axis=1)
    mean = near @ item / np.maximum(count, 1)[:, None]
    far = rows[count == 0][:, n_users + n_items :]
    mean[count == 0] = far @ mean / np.maximum(far.sum(axis=1), 1)[:, None]
    return np.asarray(mean, np.float32)


def unit_mean(part: Float) -> Float:
    """Scaled to a mean row length of 1."""
    lengths = np.linalg.norm(part, axis=1)
    mean = float(lengths[lengths > 0].mean()) if np.any(lengths > 0) else 1.0
    return part / np.float32(mean)


def _fit_width(table: Float, size: int) -> Float:
    """Leading directions of a wider table; zeros beside a narrower one."""
    d = table.shape[1]
    if d > size:
        moment = table.T.astype(np.float64) @ table
        direction = np.linalg.eigh(moment)[1][:, ::-1][:, :size]
        return (table @ direction).astype(np.float32)
    return np.pad(table, ((0, 0), (0, size - d)))
