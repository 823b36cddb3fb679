"""Node vectors of the collaborative knowledge graph, eq. (6) to (8) of the paper.

N nodes, d width of the node table and of every layer.
"""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cerec.agent.spmm import Adjacency, propagate
from cerec.data.ckg import Ckg
from cerec.settings.agent import EncoderConfig
from cerec.threads import torch_threads


class Encoder(nn.Module):
    """A node table and graph layers on it; `forward()` gives the (N, d) vectors."""

    def __init__(self, graph: Ckg, config: EncoderConfig, table: Tensor) -> None:
        """`table` (N, d) is where the node table starts; see `cerec.agent.warmstart`."""
        super().__init__()
        self.config = config
        self.bounds = (0, graph.n_users, graph.n_users + graph.n_items, graph.n_nodes)
        self.adjacency = Adjacency.plain(graph)
        self.table = nn.Parameter(table.clone())
        self.layers = nn.ModuleList(
            SageLayer(config.size, config.slope) for _ in range(config.layers)
        )

    def reset(self, generator: torch.Generator) -> None:
        """Draw the layers' weights, in a fixed order.

        They are orthogonal, neighbours at half weight: what the table knows passes through.
        """
        for name, weight in self.layers.named_parameters():
            gain = 0.5 if name.endswith("other") else 1.0
            nn.init.orthogonal_(weight, gain, generator=generator)

    def forward(self) -> Tensor:
        """Vectors of all nodes, the sum of the layers 1..L, (N, d)."""
        h: Tensor = self.table
        out = torch.zeros_like(h)
        for layer in self.layers:
            h = layer(self.adjacency, h)
            out = out + h
        return self._centred(out) if self.config.centre else out

    def _centred(self, h: Tensor) -> Tensor:
        kinds = [h[a:b] for a, b in itertools.pairwise(self.bounds)]
        return torch.cat([part - part.mean(dim=0) if len(part) else part for part in kinds])


class _Projection(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: torch.autograd.function.FunctionCtx, h: Tensor, weight: Tensor
    ) -> Tensor:
        ctx.save_for_backward(h, weight)
        return h @ weight.T

    @staticmethod
    def backward(  # type: ignore[override]
        ctx: torch.autograd.function.FunctionCtx, grad: Tensor
    ) -> tuple[Tensor, Tensor]:
        h, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        with torch_threads(1):  # a sum over all nodes: threads would share it out, and its rounding
            by_weight = (h.T @ grad).T
        return grad @ weight, by_weight


def project(h: Tensor, weight: Tensor) -> Tensor:
    """`h @ weight.T`, (N, n) -> (N, m), whose gradients are the same bits on any thread count."""
    out: Tensor = _Projection.apply(h, weight)  # type: ignore[no-untyped-call]
    return out


class SageLayer(nn.Module):
    """`LeakyReLU(W [h || sum of w h'])`."""

    def __init__(self, d: int, slope: float) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.empty(d, d))
        self.other = nn.Parameter(torch.empty(d, d))
        self.slope = slope

    def forward(self, matrix: Adjacency, h: Tensor) -> Tensor:
        """(N, d) -> (N, d); `[own || other]` is the paper's W."""
        near = propagate(matrix, project(h, self.other))
        return F.leaky_relu(project(h, self.own) + near, self.slope)


def cosine_spread(vectors: Tensor, sample: int = 2048) -> tuple[float, float]:
    """Mean and standard deviation of the cosine between two of the rows (evenly taken ones).

    A mean near 1 with a spread near 0 is the collapse to watch for.
    """
    rows = vectors.detach()[:: max(1, len(vectors) // sample)]
    unit = F.normalize(rows, dim=1)
    off = ~torch.eye(len(unit), dtype=torch.bool)
    cosine = (unit @ unit.T)[off]
    if len(cosine) == 0:
        return 0.0, 0.0
    return float(cosine.mean()), float(cosine.std(correction=0))
