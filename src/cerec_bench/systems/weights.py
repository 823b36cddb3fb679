"""Torch modules and their optimiser as named arrays, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

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


def adam(weights: Iterable[nn.Parameter], rate: float) -> torch.optim.Adam:
    """Adam over the weights, its state made at once, so that one can be taken over."""
    optimiser = torch.optim.Adam(weights, lr=rate, fused=True)
    for group in optimiser.param_groups:
        for weight in group["params"]:
            optimiser.state[weight] = {
                "step": torch.zeros((), dtype=torch.float32),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }
    return optimiser


def pack(module: nn.Module, **optimisers: torch.optim.Adam) -> State:
    """All weights by name and, beside each, the step and moments of every Adam that moves it."""
    return {name: array(value) for name, value in _named(module, optimisers)}


def unpack(
    state: Mapping[str, NDArray[np.float32]], module: nn.Module, **optimisers: torch.optim.Adam
) -> None:
    """Take over what `pack` gave for a module of the same shape."""
    with torch.no_grad():
        for name, value in _named(module, optimisers):
            value.copy_(fetch(state, name, tuple(value.shape)))


def _named(
    module: nn.Module, optimisers: Mapping[str, torch.optim.Adam]
) -> Iterator[tuple[str, Tensor]]:
    for name, weight in module.named_parameters():
        yield name, weight
        for label, optimiser in optimisers.items():
            if weight in optimiser.state:
                for part, value in optimiser.state[weight].items():
                    yield f"{name}/{label}/{part}", value


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
    with torch.no_grad():
        layer.weight.copy_(glorot(m, n, generator=generator))
        layer.bias.zero_()
    return layer


def glorot(*shape: int, generator: torch.Generator) -> nn.Parameter:
    """Uniform numbers within sqrt(6 / (rows + columns)), for one matrix or a stack of them."""
    bound = math.sqrt(6.0 / (shape[-1] + shape[-2]))
    return nn.Parameter((torch.rand(*shape, generator=generator) * 2 - 1) * bound)


def rows(index: NDArray[np.integer]) -> Tensor:
    """Row numbers as torch wants them."""
    return torch.from_numpy(index.astype(np.int64))
