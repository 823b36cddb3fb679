"""Log-probabilities of drawn walks, with gradients to the node vectors."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from cerec.data.ragged import Ragged
from cerec.walk.paths import PathSampler, Walks


def log_prob(sampler: PathSampler, h: Tensor, walks: Walks, lists: Ragged) -> Tensor:
    """(T, B) log-probabilities of drawn walks, `walks.log_p` with gradients to `h` (N, d)."""
    out: Tensor = _WalkLogProb.apply(h, sampler, walks, lists)  # type: ignore[no-untyped-call]
    return out


class _WalkLogProb(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: torch.autograd.function.FunctionCtx,
        h: Tensor,
        sampler: PathSampler,
        walks: Walks,
        lists: Ragged,
    ) -> Tensor:
        ctx.save_for_backward(h)
        ctx.made = (sampler, walks, lists)  # type: ignore[attr-defined]
        return torch.from_numpy(walks.log_p).to(h.dtype)

    @staticmethod
    def backward(  # type: ignore[override]
        ctx: torch.autograd.function.FunctionCtx, grad: Tensor
    ) -> tuple[Tensor, None, None, None]:
        (h,) = ctx.saved_tensors  # type: ignore[attr-defined]
        sampler, walks, lists = ctx.made  # type: ignore[attr-defined]
        weight = np.ascontiguousarray(grad.double().numpy())
        out = sampler.gradient(h.detach().numpy(), walks, lists, weight)
        return torch.from_numpy(out), None, None, None
