"""Discounting, baselines and the REINFORCE loss. T steps, B walks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Double = NDArray[np.float64]
_MEMORY = 0.9  # of running baselines
_RIDGE = 1.0


def discounted(reward: Double, gamma: float) -> Double:
    """Return-to-go G[t] = r[t] + gamma G[t + 1], along the first axis."""
    out = np.empty_like(reward)
    running = np.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        running = reward[t] + gamma * running
        out[t] = running
    return out


def others_mean(returns: Double, draws: int) -> Double:
    """Mean return of the other `draws - 1` walks from the same start; walks of one start adjoin."""
    grouped = returns.reshape(len(returns), -1, draws)
    rest = (grouped.sum(axis=2, keepdims=True) - grouped) / (draws - 1)
    return np.asarray(rest.reshape(returns.shape))


def reinforce_loss(log_p: Tensor, advantage: Tensor) -> Tensor:
    """Policy-gradient loss; gradients flow through `log_p` alone."""
    return -(log_p * advantage.detach()).sum(dim=0).mean()  # (T, B) -> ()


class RunningMean:
    """A mean of returns per step, over updates; the same for every state."""

    def __init__(self, depth: int) -> None:
        self.mean: Double = np.full(depth, np.nan)

    def predict(self, features: list[Double], returns: Double) -> Double:
        """The mean so far; before the first update that of these returns."""
        del features
        known = np.where(np.isnan(self.mean), returns.mean(axis=1), self.mean)
        return np.broadcast_to(known[:, None], returns.shape)

    def update(self, features: list[Double], returns: Double) -> None:
        """Take in the returns of one update."""
        del features
        now = returns.mean(axis=1)
        self.mean = np.where(np.isnan(self.mean), now, _MEMORY * self.mean + (1 - _MEMORY) * now)

    def state(self) -> Double:
        """As one array."""
        return self.mean

    def load_state(self, state: Double) -> None:
        """Back from `state`."""
        self.mean = np.array(state, np.float64)


class FittedValue:
    """A value per step, linear in features of the state, fitted to the returns of past updates."""

    def __init__(self, depth: int, width: int) -> None:
        self.weight: Double = np.zeros((depth, width + 1))

    def predict(self, features: list[Double], returns: Double) -> Double:
        """Values of the states, (T, B); `features[t]` is (B, width)."""
        del returns
        return np.stack([x @ w[:-1] + w[-1] for x, w in zip(features, self.weight, strict=True)])

    def update(self, features: list[Double], returns: Double) -> None:
        """Ridge regression on this update, mixed into what was known."""
        fitted = np.empty_like(self.weight)
        for t, x in enumerate(features):
            full = np.concatenate([x, np.ones((len(x), 1))], axis=1)
            gram = full.T @ full + _RIDGE * np.eye(full.shape[1])
            fitted[t] = np.linalg.solve(gram, full.T @ returns[t])
        fresh = not self.weight.any()
        self.weight = fitted if fresh else _MEMORY * self.weight + (1 - _MEMORY) * fitted

    def state(self) -> Double:
        """As one array."""
        return self.weight

    def load_state(self, state: Double) -> None:
        """Back from `state`."""
        self.weight = np.array(state, np.float64)
