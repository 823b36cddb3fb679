"""KGAT's settings and network, with its gradients written out; the module `kgat` tells the model.

N nodes, d width of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from cerec.recommend.base import Rows, Vectors
from cerec.settings.base import Below1, Count, Natural, NotNegative, Positive, Widths, settings
from cerec_bench.systems import kgat_kernels as kernels
from cerec_bench.systems.kgat_graph import Edges, Product, Propagation
from cerec_bench.systems.weights import dense, glorot


@settings("model")
class KGATConfig:
    """Settings of KGAT; the defaults suit two CPU cores."""

    dim: Count = 64
    """Width of the node table and of the relation vectors."""
    layers: Widths = (32, 16)
    """Width after each propagation; none is BPR-MF."""
    learning_rate: Positive = 0.003
    """Step of both Adams."""
    batch: Count = 8192
    """Pairs per update; each update is a pass over the graph."""
    kg_batch: Count = 16384
    """Edges per update of the graph part."""
    l2: NotNegative = 1e-4
    """Pull towards zero on the propagated vectors."""
    kg_l2: NotNegative = 1e-5
    """Pull towards zero in the graph part."""
    dropout: Below1 = 0.1
    """Share of each layer's output left out while learning."""
    pretrain: Natural = 30
    """Epochs of BPR-MF whose vectors it starts from; 0 starts from noise."""


AUTHORS = {
    "dim": 64,
    "layers": (64, 32, 16),
    "learning_rate": 1e-4,
    "batch": 1024,
    "kg_batch": 2048,
    "l2": 1e-5,
    "kg_l2": 1e-5,
    "dropout": 0.1,
}
"""The authors' released defaults (up to 1,000 epochs); it starts from BPR-MF vectors of a file."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What a layer's gradient needs of its forward pass."""

    product: Product
    e: Vectors
    near: Vectors
    mixed: tuple[Vectors, ...]
    """e + near and e * near."""
    made: tuple[Vectors, ...]
    """What the two linear maps made of them."""
    length: Vectors
    unit: Vectors
    """Lengths and directions of the result."""


@dataclass(frozen=True, slots=True, eq=False)
class Propagated:
    """Vectors of users and items, and how they came about."""

    every: Vectors
    steps: list[Step]
    drop: float
    seed: int


class KGATNet(nn.Module):
    """Node table, propagation layers, relation vectors and projections."""

    def __init__(self, edges: Edges, config: KGATConfig, generator: torch.Generator) -> None:
        super().__init__()
        n_relations = len(edges.relations)
        sizes = list(pairwise((config.dim, *config.layers)))
        self._widths = (config.dim, *config.layers)
        self._scratch: dict[str, Tensor] = {}
        self.node = glorot(edges.n_nodes, config.dim, generator=generator)
        self.sums = nn.ModuleList(dense(n, m, generator) for n, m in sizes)
        self.products = nn.ModuleList(dense(n, m, generator) for n, m in sizes)
        self.relation = glorot(n_relations, config.dim, generator=generator)
        self.project = glorot(n_relations, config.dim, config.dim, generator=generator)

    @torch.no_grad()
    def propagate(self, matrix: Propagation, drop: float = 0.0, seed: int = 0) -> Propagated:
        """(users + items, dim + layers) vectors; outputs are normalised, what goes on is not."""
        widths = self._widths
        every = np.empty((matrix.n_ranked, sum(widths)), np.float32)
        every[:, : widths[0]] = self.node.numpy()[: matrix.n_ranked]
        e, steps, at = self.node.numpy(), [], widths[0]
        for n, (by_sum, by_product) in enumerate(zip(self.sums, self.products, strict=True)):
            product = matrix.ranked if n + 1 == len(self.sums) else matrix.whole
            near = product.forward(torch.from_numpy(e)).numpy()
            mixed = kernels.mix(e, near)
            made = tuple(
                layer(torch.from_numpy(x)).numpy()
                for layer, x in zip((by_sum, by_product), mixed, strict=True)
            )
            out = kernels.activate(*made, drop, seed + n)
            unit = every[:, at : at + widths[n + 1]]
            steps.append(Step(product, e, near, mixed, made, kernels.normalise(out, unit), unit))
            e, at = out, at + widths[n + 1]
        return Propagated(every, steps, drop, seed)

    @torch.no_grad()
    def push_back(self, made: Propagated, grad: Vectors) -> None:
        """Set the gradients of the weights, given that by the propagated vectors.

        Written out: by autograd a pass takes about twice as long. Uses up what `propagate` kept.
        """
        d = self.node.shape[1]
        at, d_out = made.every.shape[1], None
        for n in range(len(made.steps) - 1, -1, -1):
            step, by_sum, by_product = made.steps[n], self.sums[n], self.products[n]
            width = step.unit.shape[1]
            d_out = np.zeros_like(step.made[0]) if d_out is None else d_out
            kernels.unnormalise(step.unit, step.length, grad[:, at - width : at], d_out)
            kernels.deactivate(*step.made, d_out, made.drop, made.seed + n)
            d_mixed = []
            for layer, x, d_x in zip((by_sum, by_product), step.mixed, step.made, strict=True):
                weight, bias = layer.parameters()
                d_y = torch.from_numpy(d_x)
                weight.grad, bias.grad = d_y.T @ torch.from_numpy(x), d_y.sum(0)
                d_mixed.append((d_y @ weight).numpy())
            kernels.unmix(step.e, step.near, *d_mixed)
            d_out = step.product.backward(torch.from_numpy(d_mixed[1])).numpy()
            d_out[: len(step.near)] += d_mixed[0]
            at -= width
        d_node = np.zeros_like(self.node.numpy()) if d_out is None else d_out
        d_node[: len(grad)] += grad[:, :d]
        self.node.grad = torch.from_numpy(d_node)

    @torch.no_grad()
    def embed(self, head: Rows, kind: Rows, tail: Rows, wrong: Rows, l2: float) -> float:
        """Set the gradients of TransR's mean loss over edges sorted by relation; the loss.

        With z = W_r (e_h - e_t) + e_r the energy is |z|^2, and its gradients are written out: by
        autograd this part takes several times longer.
        """
        n, node = len(head), self.node.numpy()
        apart, z, d_apart = (self._kept(name, 2 * n) for name in ("apart", "z", "d_apart"))
        kernels.differences(node, head, tail, wrong, apart.numpy())
        kinds, starts = np.unique(kind, return_index=True)
        ends = [*(2 * starts).tolist(), 2 * n]
        spans = list(zip(kinds.tolist(), pairwise(ends), strict=True))
        for r, (a, b) in spans:
            torch.addmm(self.relation[r], apart[a:b], self.project[r], out=z[a:b])
        loss = kernels.energies(z.numpy())
        d_project, d_relation = torch.zeros_like(self.project), torch.zeros_like(self.relation)
        for r, (a, b) in spans:
            torch.mm(apart[a:b].T, z[a:b], out=d_project[r])
            d_relation[r] = z[a:b].sum(0) + l2 / n * ((b - a) // 2) * self.relation[r]
            torch.mm(z[a:b], self.project[r].T, out=d_apart[a:b])
        d_node = self._kept("d_node", len(node)).zero_()
        kernels.push_edges(node, head, tail, wrong, d_apart.numpy(), l2 / max(n, 1), d_node.numpy())
        self.node.grad = d_node
        self.project.grad, self.relation.grad = d_project, d_relation
        return float(loss)

    def _kept(self, name: str, n: int) -> Tensor:
        """(n, dim) memory used again by every batch: fresh pages cost more than the sums."""
        if len(self._scratch.get(name, ())) < n:
            self._scratch[name] = torch.empty(n, len(self.node[0]))
        return self._scratch[name][:n]
