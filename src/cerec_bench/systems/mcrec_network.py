"""MCRec's settings and network; the module `mcrec` tells the model.

B pairs, P meta-paths, K instances, F filters.
"""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cerec.errors import ConfigError
from cerec.settings.base import Widths, settings
from cerec_bench.systems.weights import dense, normal


@settings("model")
class MCRecConfig:
    """Settings of MCRec; the defaults suit two CPU cores."""

    dim: int = 32
    """Width of the learned user and item vectors."""
    node_dim: int = 32
    """Width of the pre-trained node vectors."""
    filters: int = 32
    """Filters of the convolution, and width of all contexts."""
    width: int = 3
    """Nodes a filter spans, 1 to 4 (3 in the paper, 4 in the released code)."""
    relations: int = 3
    """Meta-paths user-item-value-item: one for each of the most frequent relations."""
    instances: int = 3
    """Path instances kept per pair and meta-path."""
    beam: int = 8
    """Neighbours the priority walk goes on to."""
    tower: Widths = (64, 32)
    """Hidden widths of the tower."""
    negatives: int = 2
    """Negatives per liked item."""
    dropout: float = 0.2
    """Share of the path vectors left out while learning."""
    soft_gates: bool = False
    """Gates through a softmax, as in the released code, instead of the paper's ReLU."""
    learning_rate: float = 2e-3
    """Step of Adam."""
    l2: float = 1e-5
    """Pull towards zero on the layers (not on the vectors)."""
    batch: int = 1024
    """Liked items per update."""
    pretrain: int = 30
    """Epochs of BPR-MF for node vectors and candidates."""
    candidates: int = 200
    """Items of each user that are re-ranked."""

    def __post_init__(self) -> None:
        least = ("dim", "node_dim", "filters", "instances", "beam", "negatives", "batch")
        for name in (*least, "candidates"):
            if getattr(self, name) < 1:
                raise ConfigError(f"model.{name} must be at least 1, got {getattr(self, name)}")
        if not 1 <= self.width <= 4 or not 0 <= self.dropout < 1:
            raise ConfigError(
                "model.width must be in 1..4 and .dropout in [0, 1), got "
                f"{self.width} and {self.dropout}"
            )
        if not self.learning_rate > 0 or min(self.l2, self.relations, self.pretrain) < 0:
            raise ConfigError(
                "model.learning_rate must be above 0 and .l2, .relations, .pretrain not below, "
                f"got {self.learning_rate}, {self.l2}, {self.relations} and {self.pretrain}"
            )


AUTHORS = MCRecConfig(
    dim=128,
    node_dim=64,
    filters=128,
    instances=5,
    tower=(512, 256, 128, 64),
    negatives=4,
    dropout=0.5,
    learning_rate=1e-3,
    l2=1e-4,
    batch=256,
)
"""The authors' released settings, with the paper's filter width and gates (30 epochs)."""


class MCRecNet(nn.Module):
    """Everything that is learned; node vectors come in frozen."""

    def __init__(
        self, n_users: int, n_items: int, config: MCRecConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        d, f = config.dim, config.filters
        self.user = normal(n_users, d, 0.1, generator)
        self.item = normal(n_items, d, 0.1, generator)
        self.filter = dense(config.width * config.node_dim, f, generator)
        self.attend_pair = dense(2 * d, f, generator)
        self.attend_path = dense(f, f, generator)
        self.attend_out = dense(f, 1, generator)
        self.gate_user = dense(d + f, d, generator)
        self.gate_item = dense(d + f, d, generator)
        sizes = pairwise((2 * d + f, *config.tower))
        self.tower = nn.ModuleList(dense(n, m, generator) for n, m in sizes)
        self.out = dense(config.tower[-1] if config.tower else 2 * d + f, 1, generator)
        self.soft_gates, self.width = config.soft_gates, config.width

    def contexts(self, nodes: Tensor, path: Tensor, keep: Tensor | None) -> Tensor:
        """c_rho, (B, P, F): max over instances; zero without any. `path` (B, P, K, 4)."""
        there = path[..., 0] >= 0
        x = nodes[path[there]]  # (M, 4, node_dim), M instances in all
        windows = x.unfold(1, self.width, 1).transpose(2, 3).flatten(2)  # (M, 5 - width, ...)
        h = F.relu(self.filter(windows)).amax(dim=1)  # (M, F)
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
