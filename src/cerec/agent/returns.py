"""Discounting, the baseline and the REINFORCE loss. T steps, B walks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Double = NDArray[np.float64]


def discounted(reward: Double, gamma: float) -> Double:
    """Return-to-go G[t] = r[t] + gamma G[t + 1], along the first axis."""
    out = np.empty_like(reward)
    running = np.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        running = reward[t] + gamma * running
        out[t] = running
    return out


def per_step(reward: Double, gamma: float) -> Double:
    """gamma^t r[t] / T: what the paper's section VI weighs the gradient of step t by."""
    steps = len(reward)
    return gamma ** np.arange(steps)[:, None] * reward / steps


def others_mean(returns: Double, draws: int) -> Double:
    """Mean return of the other `draws - 1` walks from the same start; walks of one start adjoin."""
    grouped = returns.reshape(len(returns), -1, draws)
    rest = (grouped.sum(axis=2, keepdims=True) - grouped) / (draws - 1)
    return np.asarray(rest.reshape(returns.shape))


def reinforce_loss(log_p: Tensor, advantage: Tensor) -> Tensor:
    """Policy-gradient loss; gradients flow through `log_p` alone."""
    return -(log_p * advantage.detach()).sum(dim=0).mean()  # (T, B) -> ()
