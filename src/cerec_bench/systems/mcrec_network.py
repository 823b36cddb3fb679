"""MCRec's settings and network; the module `mcrec` tells the model.

B pairs, P meta-paths, K instances, F filters.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Interval
from torch import Tensor, nn

from cerec.settings.base import Below1, Count, Natural, NotNegative, Positive, Widths, settings
from cerec_bench.systems.weights import dense, normal


@settings("model")
class MCRecConfig:
    """Settings of MCRec; the defaults suit two CPU cores."""

    dim: Count = 64
    """Width of the learned user and item vectors."""
    node_dim: Count = 64
    """Width of the pre-trained node vectors."""
    filters: Count = 64
    """Filters of each meta-path's convolution, and width of all contexts."""
    width: Annotated[int, Interval(ge=1, le=4)] = 3
    """Nodes a filter spans, 1 to 4 (3 in the paper, 4 in the released code)."""
    relations: Natural = 3
    """Meta-paths user-item-value-item: one for each of the most frequent relations."""
    instances: Count = 3
    """Path instances kept per pair and meta-path."""
    beam: Count = 8
    """Neighbours the priority walk goes on to."""
    tower: Widths = (64, 32)
    """Hidden widths of the tower."""
    negatives: Count = 2
    """Negatives per liked item."""
    dropout: Below1 = 0.2
    """Share of the path vectors left out while learning."""
    soft_gates: bool = False
    """Gates through a softmax, as in the released code, instead of the paper's ReLU."""
    learning_rate: Positive = 2e-3
    """Step of Adam."""
    l2: NotNegative = 1e-5
    """Pull towards zero on the layers (not on the vectors)."""
    batch: Count = 1024
    """Liked items per update."""
    pretrain: Natural = 30
    """Epochs of BPR-MF for node vectors and candidates."""
    candidates: Count = 200
    """Items of each user that are re-ranked."""


AUTHORS = {
    "dim": 128,
    "node_dim": 64,
    "filters": 128,
    "width": 3,
    "instances": 5,
    "tower": (512, 256, 128, 64),
    "negatives": 4,
    "dropout": 0.5,
    "soft_gates": False,
    "learning_rate": 1e-3,
    "l2": 1e-4,
    "batch": 256,
}
"""The authors' released settings, with the paper's filter width and gates (30 epochs)."""


class MCRecNet(nn.Module):
    """Everything that is learned; node vectors come in frozen."""

    def __init__(
        self,
        n_users: int,
        n_items: int,
        n_paths: int,
        config: MCRecConfig,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        d, f = config.dim, config.filters
        self.user = normal(n_users, d, 0.1, generator)
        self.item = normal(n_items, d, 0.1, generator)
        span = config.width * config.node_dim
        self.filters = nn.ModuleList(dense(span, f, generator) for _ in range(n_paths))
        self.attend_pair = dense(2 * d, f, generator)
        self.attend_path = dense(f, f, generator)
        self.attend_out = dense(f, 1, generator)
        self.gate_user = dense(d + f, d, generator)
        self.gate_item = dense(d + f, d, generator)
        sizes = pairwise((2 * d + f, *config.tower))
        self.tower = nn.ModuleList(dense(n, m, generator) for n, m in sizes)
        self.out = dense(config.tower[-1] if config.tower else 2 * d + f, 1, generator)
        self.soft_gates, self.width, self.gates = config.soft_gates, config.width, f

    def contexts(self, nodes: Tensor, path: Tensor, keep: Tensor | None) -> Tensor:
        """c_rho, (B, P, F): max over instances; zero without any. `path` (B, P, K, 4)."""
        there = path[..., 0] >= 0
        x = nodes[path[there]]  # (M, 4, node_dim), M instances in all
        windows = x.unfold(1, self.width, 1).transpose(2, 3).flatten(2)  # (M, 5 - width, ...)
        which, h = there.nonzero()[:, 1], x.new_zeros(len(x), self.gates)
        for p, bank in enumerate(self.filters):  # every meta-path has filters of its own
            h = h.index_put((which == p,), F.relu(bank(windows[which == p])).amax(dim=1))
        if keep is not None:
            h = h * keep
        full = h.new_zeros(*path.shape[:3], h.shape[1])
        full[there] = h  # never negative, so zero stands for absence under the maximum
        return full.amax(dim=2)

    def attention(self, x: Tensor, y: Tensor, c: Tensor, there: Tensor) -> Tensor:
        """(B, P) weights over present meta-paths, adding up to 1; all zero without any."""
        pair = self.attend_pair(torch.cat([x, y], dim=1))[:, None]
        logit = F.relu(self.attend_out(F.relu(pair + self.attend_path(c))))[..., 0]
        weight = logit.masked_fill(~there, -1e9).softmax(dim=1)
        return weight * there

    def gate(self, layer: nn.Module, x: Tensor, c: Tensor) -> Tensor:
        """The vector x as the context lets it through."""
        gate: Tensor = F.relu(layer(torch.cat([x, c], dim=1)))
        return x * (gate.softmax(dim=1) if self.soft_gates else gate)

    def forward(
        self, nodes: Tensor, user: Tensor, item: Tensor, path: Tensor, keep: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Logits (B,) and attention over meta-paths (B, P)."""
        x, y = self.user[user], self.item[item]
        c = self.contexts(nodes, path, keep)
        weight = self.attention(x, y, c, (path[:, :, 0, 0] >= 0))
        context = torch.einsum("bp,bpf->bf", weight, c)
        x, y = self.gate(self.gate_user, x, context), self.gate(self.gate_item, y, context)
        z = torch.cat([x, context, y], dim=1)
        for layer in self.tower:
            z = F.relu(layer(z))
        return self.out(z)[:, 0], weight

    def layers(self) -> list[nn.Parameter]:
        """Weights of the layers, without the vectors and biases."""
        return [w for name, w in self.named_parameters() if name.endswith(".weight")]
