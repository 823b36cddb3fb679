"""Node vectors of the collaborative knowledge graph, eq. (6) to (8) of the paper.

N nodes, D width of the node table, and the widths of the layers, {32, 64} by default.
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
    """A node table and graph layers on it; `forward()` gives the (N, width) vectors."""

    def __init__(self, graph: Ckg, config: EncoderConfig, table: Tensor) -> None:
        """`table` (N, size) is where the node table starts; see `cerec.agent.warmstart`."""
        super().__init__()
        self.config = config
        self.bounds = (0, graph.n_users, graph.n_users + graph.n_items, graph.n_nodes)
        looped = config.kind in ("gcn", "gat")
        self.adjacency = Adjacency.looped(graph) if looped else Adjacency.plain(graph)
        self.table = nn.Parameter(table.clone())
        self.layers = nn.ModuleList()
        if config.kind != "lightgcn":
            sizes = itertools.pairwise((config.size, *config.layers))
            self.layers.extend(_LAYERS[config.kind](n, m, config.slope) for n, m in sizes)

    def reset(self, generator: torch.Generator) -> None:
        """Draw the layers' weights anew, in a fixed order.

        They are orthogonal, neighbours at half weight: what the table knows passes through.
        """
        for name, weight in self.layers.named_parameters():
            gain = 0.5 if name.endswith("other") else 1.0
            nn.init.orthogonal_(weight, gain, generator=generator)

    def forward(self) -> Tensor:
        """Vectors of all nodes, layer outputs 1..L combined, (N, width)."""
        h: Tensor = self.table
        outputs: list[Tensor] = []
        for layer in self.layers:
            h = layer(self.adjacency, h)
            outputs.append(h)
        if not self.layers:
            for _ in self.config.layers:
                h = propagate(self.adjacency, h)
                outputs.append(h)
        joined = self.config.combine == "concat"
        out = torch.cat(outputs, dim=1) if joined else torch.stack(outputs).sum(dim=0)
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
    """`LeakyReLU(W [h || sum of w h'])`, projected first: the narrower vectors are aggregated."""

    def __init__(self, n: int, m: int, slope: float) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.empty(m, n))
        self.other = nn.Parameter(torch.empty(m, n))
        self.slope = slope

    def forward(self, matrix: Adjacency, h: Tensor) -> Tensor:
        """(N, n) -> (N, m); `[own || other]` is the paper's W."""
        own = project(h, self.own)
        return F.leaky_relu(own + propagate(matrix, project(h, self.other)), self.slope)


class GcnLayer(nn.Module):
    """`LeakyReLU(W sum of w h')`, the node itself among its neighbours."""

    def __init__(self, n: int, m: int, slope: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(m, n))
        self.slope = slope

    def forward(self, matrix: Adjacency, h: Tensor) -> Tensor:
        """(N, n) -> (N, m)."""
        return F.leaky_relu(propagate(matrix, project(h, self.weight)), self.slope)


class GatLayer(nn.Module):
    """Neighbours, and the node itself, weighted by one head of learned attention."""

    def __init__(self, n: int, m: int, slope: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(m, n))
        self.source = nn.Parameter(torch.empty(m, 1))
        self.target = nn.Parameter(torch.empty(m, 1))
        self.slope = slope

    def forward(self, matrix: Adjacency, h: Tensor) -> Tensor:
        """(N, n) -> (N, m)."""
        x = project(h, self.weight)  # (N, m)
        # Not x @ source: of a product with one column threads change the rounding.
        from_, to = (x * self.source.T).sum(dim=1), (x * self.target.T).sum(dim=1)  # (N,)
        counts = matrix.rows.offsets.diff()
        row = torch.repeat_interleave(torch.arange(len(counts)), counts)
        # Not to[row]: the backward of indexing adds in an order that two threads race for.
        pair = to.index_select(0, row) + from_.index_select(0, matrix.rows.indices)  # (E,)
        edge = F.leaky_relu(pair, self.slope)
        loop = F.leaky_relu(to + from_, self.slope)  # (N,)
        top = loop.detach().scatter_reduce(0, row, edge.detach(), "amax")
        edge, loop = (edge - top[row]).exp(), (loop - top).exp()
        total = loop.index_add(0, row, edge)
        near = F.embedding_bag(
            matrix.rows.indices,
            x,
            matrix.rows.offsets,
            mode="sum",
            per_sample_weights=edge,
            include_last_offset=True,
        )
        return F.leaky_relu((near + loop[:, None] * x) / total[:, None], self.slope)


_LAYERS: dict[str, type[SageLayer] | type[GcnLayer] | type[GatLayer]] = {
    "sage": SageLayer,
    "gcn": GcnLayer,
    "gat": GatLayer,
}


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
