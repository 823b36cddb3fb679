"""Torch modules and their optimiser as named arrays, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cerec.errors import RunError

State = dict[str, NDArray[np.float32]]


def array(tensor: Tensor) -> NDArray[np.float32]:
    """A copy of a tensor, as float32."""
    out: NDArray[np.float32] = tensor.detach().to(torch.float32).numpy().copy()
    return out


def adam(module: nn.Module, rate: float) -> torch.optim.Adam:
    """Adam over all of a module's weights, its state made at once, so that it can be taken over."""
    optimiser = torch.optim.Adam(module.parameters(), lr=rate, fused=True)
    for weight in module.parameters():
        optimiser.state[weight] = {
            "step": torch.zeros((), dtype=torch.float32),
            "exp_avg": torch.zeros_like(weight),
            "exp_avg_sq": torch.zeros_like(weight),
        }
    return optimiser


def pack(module: nn.Module, optimiser: torch.optim.Adam | None = None, prefix: str = "") -> State:
    """All weights by name and, beside each, Adam's step and moments."""
    out: State = {}
    for name, weight in module.named_parameters():
        out[prefix + name] = array(weight)
        if optimiser is not None:
            for part, value in optimiser.state[weight].items():
                out[f"{prefix}{name}/{part}"] = array(value)
    return out


def unpack(
    state: Mapping[str, NDArray[np.float32]],
    module: nn.Module,
    optimiser: torch.optim.Adam | None = None,
    prefix: str = "",
) -> None:
    """Take over what `pack` gave for a module of the same shape."""
    with torch.no_grad():
        for name, weight in module.named_parameters():
            weight.copy_(fetch(state, prefix + name, tuple(weight.shape)))
            if optimiser is not None:
                for part, value in optimiser.state[weight].items():
                    value.copy_(fetch(state, f"{prefix}{name}/{part}", tuple(value.shape)))


def fetch(
    state: Mapping[str, NDArray[np.float32]], name: str, shape: tuple[int, ...] | None = None
) -> Tensor:
    """One array of a state; a missing one or another shape is told."""
    found = state.get(name)
    if found is None or (shape is not None and found.shape != shape):
        got = "nothing" if found is None else f"shape {found.shape}"
        expected = "an array" if shape is None else f"shape {shape}"
        raise RunError(
            f"recommender state {name!r}: expected {expected}, got {got}; "
            "was it saved with other data or another configuration?"
        )
    return torch.from_numpy(np.array(found))


def normal(n: int, d: int, scale: float, generator: torch.Generator) -> nn.Parameter:
    """An (n, d) table of Gaussian numbers."""
    return nn.Parameter(torch.randn(n, d, generator=generator) * scale)


def dense(n: int, m: int, generator: torch.Generator) -> nn.Linear:
    """A layer from n to m numbers, Glorot-uniform, without the global generator."""
    layer = nn.utils.skip_init(nn.Linear, n, m)
    bound = math.sqrt(6.0 / (n + m))
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.zero_()
    return layer


def rows(index: NDArray[np.integer]) -> Tensor:
    """Row numbers as torch wants them."""
    return torch.from_numpy(index.astype(np.int64))
