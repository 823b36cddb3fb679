"""What `WalkAgent` learns from, against all walks there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from cerec.agent import agent as module
from cerec.agent.agent import WalkAgent
from cerec.agent.log_prob import log_prob
from cerec.agent.reward import cutoffs, list_items
from cerec.settings.agent import AgentConfig, EncoderConfig
from cerec.walk.paths import Walks

GAMMA, ENTROPY = 0.5, 0.1


class Standstill:
    """Keeps the gradients of the node table and moves nothing."""

    def __init__(self, table: torch.nn.Parameter) -> None:
        self.table, self.seen = table, []

    def step(self) -> None:
        assert self.table.grad is not None
        self.seen.append(self.table.grad.numpy().copy())

    def zero_grad(self) -> None:
        self.table.grad = None


@pytest.fixture(scope="module")
def world(make_world: Callable[..., Any]) -> Any:
    # Scores 4, 3, 5, 1, 2, 0: items 0 and 2 are known and not rational, item 1 is the list. The
    # first step by value 1 leads to item 4, from where alone the second can be rational again.
    rng = np.random.default_rng(4)
    facts = [(0, 0, 0), (2, 0, 0), (3, 0, 0), (0, 0, 1), (1, 0, 1), (4, 0, 1), (4, 0, 2), (5, 0, 2)]
    user, item = np.ones((1, 3), np.float32), rng.standard_normal((6, 3)).astype(np.float32)
    item += (np.float32([[4], [3], [5], [1], [2], [0]]) - item.sum(axis=1, keepdims=True)) / 3
    return make_world([(0, 0), (0, 2)], facts, user, item, 3, 1)


def still_agent(world: Any, pairs: int) -> tuple[WalkAgent, Standstill]:
    config = AgentConfig(
        depth=2,
        gamma=GAMMA,
        entropy=ENTROPY,
        list_length=1,
        pairs=pairs,
        starts="positives",
    )
    encoder = EncoderConfig(size=3, layers=1, centre=False)
    agent = WalkAgent(config, encoder, world.graph, world.facts, seed=0)
    made, _ = agent._begin(agent._first_table(world.context))
    for name, weight in made.layers.named_parameters():  # only the table is to be learned
        weight.data.copy_(torch.eye(3) * (1.0 if name.endswith("own") else 0.5))
        weight.requires_grad_(False)
    still = Standstill(made.table)
    agent._adam = still  # type: ignore[assignment]
    return agent, still


def update(agent: WalkAgent, world: Any, seed: int) -> None:
    rng, cutoff = np.random.default_rng(seed), cutoffs(world.context, 1)
    agent._update(world.user[:1], world.item[:1], world.context, cutoff, rng)


def all_walks(agent: WalkAgent, world: Any) -> Walks:
    """Every walk from item 0, each once: of many drawn ones; their chances add up to one."""
    n = 20_000
    user, item = np.zeros(n, np.int32), np.zeros(n, np.int32)
    drawn = agent.walk(user, item, world.context, rng=np.random.default_rng(0))
    _, at = np.unique(np.concatenate([drawn.item, drawn.attribute]), axis=1, return_index=True)
    walks = replace(
        drawn,
        user=user[at],
        item=drawn.item[:, at],
        attribute=drawn.attribute[:, at],
        log_p=drawn.log_p[:, at],
        surprise=drawn.surprise[:, at],
    )
    assert np.exp(walks.log_p.sum(axis=0)).sum() == pytest.approx(1.0, abs=1e-5)
    return walks


def returns_of(agent: WalkAgent, world: Any, walks: Walks) -> np.ndarray:
    gain = agent.rewards(walks, world.context) + ENTROPY * walks.surprise / 2
    return np.stack([gain[0] + GAMMA * gain[1], gain[1]])


def test_updates_follow_the_policy_gradient_on_average(world: Any) -> None:
    agent, still = still_agent(world, pairs=10_000)
    walks = all_walks(agent, world)
    assert 4 < len(walks.user) < 40
    chance = np.exp(walks.log_p.sum(axis=0))
    expected = chance * returns_of(agent, world, walks)
    lists = list_items(world.context, 1)
    encoder = agent._encoder
    assert encoder is not None
    log_p = log_prob(agent.sampler, encoder(), walks, lists)
    (-(log_p * torch.from_numpy(expected)).sum()).backward()
    assert encoder.table.grad is not None
    exact = encoder.table.grad.numpy().copy()
    still.zero_grad()
    for seed in range(4):
        update(agent, world, seed)
    found = np.mean(still.seen, axis=0)
    size = np.linalg.norm(exact)
    assert size > 0.05
    assert np.linalg.norm(found - exact) < 0.02 * size


def test_what_is_expected_is_taken_off_the_returns(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    advantages: list[np.ndarray] = []
    loss = module.reinforce_loss

    def kept(log_p: torch.Tensor, advantage: torch.Tensor) -> torch.Tensor:
        advantages.append(advantage.numpy())
        return loss(log_p, advantage)

    monkeypatch.setattr(module, "reinforce_loss", kept)
    agent, _ = still_agent(world, pairs=2000)
    walks = all_walks(agent, world)
    chance = np.exp(walks.log_p.sum(axis=0))
    mean = returns_of(agent, world, walks) @ chance
    assert np.abs(mean).min() > 0.3
    for seed in range(3):
        update(agent, world, seed)
    first, last = advantages[0].mean(axis=1), advantages[-1].mean(axis=1)
    np.testing.assert_allclose(first, [0.0, 0.0], atol=0.05)
    np.testing.assert_allclose(last, [0.0, 0.0], atol=0.05)
