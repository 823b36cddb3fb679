"""Intent routing (DGCF's, which CaDSI builds on): vectors spread over the user-item graph, one
chunk per intent, edges shared out between the intents.

    P = softmax over intents of the logits S               (per directed edge; S starts at 1)
    W_k = D_k^-1/2 P_k D_k^-1/2                            (sums over rows, sums over columns)
    H_k = W_k E_k                                          (chunk k of the layer's input E)
    S_k(h, t) += norm(H_k[h]) . tanh(norm(E_k[t]))

T times per layer; the last H is the layer's output. Two kernels do all of it, for each is the
other's gradient: `spread` sums weighted neighbours, `agree` takes products along edges. N nodes, E
directed edges, K intents, d width of all chunks together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from cerec.data.ragged import Ragged
from cerec.recommend.base import Rows, Vectors

_FAST = {"reassoc", "contract", "nsz"}


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """The user-item graph, both ways, in the order of (head, tail); nodes: users, then items."""

    indptr: NDArray[np.int64]
    head: Rows
    tail: Rows
    reverse: NDArray[np.int64]
    """Where the edge from tail to head stands."""

    @staticmethod
    def build(known: Ragged, n_items: int) -> Edges:
        """The graph of the train part."""
        user, item = known.row_of(), known.indices + np.int32(len(known))
        both = np.concatenate([user, item]), np.concatenate([item, user])
        rows = Ragged.from_pairs(*both, len(known) + n_items)
        head = rows.row_of()
        return Edges(rows.indptr, head, rows.indices, np.lexsort((head, rows.indices)))


def route(edges: Edges, start: Tensor, *, intents: int, rounds: int, layers: int) -> Tensor:
    """(N, d) mean of `start` and the outputs of all layers."""
    logits = torch.ones(len(edges.head), intents)
    ego, total = start, start
    for layer in range(layers):
        out = ego
        for turn in range(rounds):
            out = spread(edges, normalise(edges, torch.softmax(logits, dim=1)), ego)
            if layer + 1 < layers or turn + 1 < rounds:  # the last logits serve nobody
                logits = logits + agree(
                    edges, _unit(out, intents), torch.tanh(_unit(ego, intents)), intents
                )
        ego, total = out, total + out
    return total / (layers + 1)


def _unit(x: Tensor, intents: int) -> Tensor:
    """Every chunk at length 1."""
    return F.normalize(x.view(len(x), intents, -1), dim=2).flatten(1)


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, edges: Edges, weight: Tensor, x: Tensor) -> Tensor:
        ctx.edges = edges
        ctx.save_for_backward(weight, x)
        return _spread_by(edges, weight, x)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        (weight, x), edges, g = ctx.saved_tensors, ctx.edges, grad[0].contiguous()
        to_weight = to_x = None
        if ctx.needs_input_grad[1]:
            to_weight = _agree_by(edges, g, x, weight.shape[1])
        if ctx.needs_input_grad[2]:
            to_x = _spread_by(edges, weight[edges.reverse], g)
        return None, to_weight, to_x


class _Agree(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, edges: Edges, a: Tensor, b: Tensor, intents: int) -> Tensor:
        ctx.edges = edges
        ctx.save_for_backward(a, b)
        return _agree_by(edges, a, b, intents)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[None, Tensor, Tensor, None]:
        (a, b), edges, g = ctx.saved_tensors, ctx.edges, grad[0].contiguous()
        return None, _spread_by(edges, g, b), _spread_by(edges, g[edges.reverse], a), None


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, edges: Edges, share: Tensor) -> Tensor:
        p = share.numpy()
        rows = _sums(edges.indptr, p)
        columns = _sums(edges.indptr, p[edges.reverse])
        scale = 1 / np.sqrt(rows[edges.head] * columns[edges.tail])
        ctx.edges, ctx.parts = edges, (p, rows, columns, scale)
        return torch.from_numpy(p * scale)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[None, Tensor]:
        # w = p (r c)^-1/2: through p itself, and through the sums of its row and its column
        edges, (p, rows, columns, scale) = ctx.edges, ctx.parts
        direct = grad[0].numpy() * scale
        q = direct * p
        by_row = _sums(edges.indptr, q) / np.maximum(rows, 1e-30)
        by_column = _sums(edges.indptr, q[edges.reverse]) / np.maximum(columns, 1e-30)
        through = by_row[edges.head] + by_column[edges.tail]
        return None, torch.from_numpy(direct - 0.5 * through)


def spread(edges: Edges, weight: Tensor, x: Tensor) -> Tensor:
    """(N, d) sums of the tails' vectors, chunk k weighted by `weight[:, k]` (E, K)."""
    out: Tensor = _Spread.apply(edges, weight.contiguous(), x.contiguous())  # type: ignore[no-untyped-call]
    return out


def agree(edges: Edges, a: Tensor, b: Tensor, intents: int) -> Tensor:
    """(E, K) products of the head's chunks in `a` with the tail's in `b`."""
    out: Tensor = _Agree.apply(edges, a.contiguous(), b.contiguous(), intents)  # type: ignore[no-untyped-call]
    return out


def normalise(edges: Edges, share: Tensor) -> Tensor:
    """(E, K) shares over the roots of the sums of their row and of their column."""
    out: Tensor = _Normalise.apply(edges, share)  # type: ignore[no-untyped-call]
    return out


def _spread_by(edges: Edges, weight: Tensor, x: Tensor) -> Tensor:
    w, values = weight.detach().numpy(), x.detach().numpy()
    return torch.from_numpy(_spread(edges.indptr, edges.tail, w, values))


def _agree_by(edges: Edges, a: Tensor, b: Tensor, intents: int) -> Tensor:
    near, far = a.detach().numpy(), b.detach().numpy()
    return torch.from_numpy(_agree(edges.indptr, edges.tail, near, far, intents))


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=_FAST)
def _spread(indptr: NDArray[np.int64], tail: Rows, weight: Vectors, x: Vectors) -> Vectors:
    n, (_, intents) = len(indptr) - 1, weight.shape
    width = x.shape[1] // intents
    out = np.zeros((n, x.shape[1]), x.dtype)
    for h in range(n):
        row = out[h]
        for e in range(indptr[h], indptr[h + 1]):
            other = x[tail[e]]
            for k in range(intents):
                w = weight[e, k]
                for j in range(k * width, (k + 1) * width):
                    row[j] += w * other[j]
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=_FAST)
def _agree(indptr: NDArray[np.int64], tail: Rows, a: Vectors, b: Vectors, intents: int) -> Vectors:
    n, width = len(indptr) - 1, a.shape[1] // intents
    out = np.empty((len(tail), intents), a.dtype)
    for h in range(n):
        mine = a[h]
        for e in range(indptr[h], indptr[h + 1]):
            other = b[tail[e]]
            for k in range(intents):
                total = a.dtype.type(0)
                for j in range(k * width, (k + 1) * width):
                    total += mine[j] * other[j]
                out[e, k] = total
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _sums(indptr: NDArray[np.int64], x: Vectors) -> Vectors:
    """(N, K) sums of the rows (E, K) of every head."""
    out = np.zeros((len(indptr) - 1, x.shape[1]), x.dtype)
    for h in range(len(out)):
        for e in range(indptr[h], indptr[h + 1]):
            for k in range(x.shape[1]):
                out[h, k] += x[e, k]
    return out
