"""Which counterfactuals do anything in a training."""

from __future__ import annotations

from dataclasses import replace

from cerec.data.facts import Facts
from cerec.recommend.swaps import can_swap
from cerec.settings.agent import AgentConfig
from cerec.settings.recommender import RecommenderConfig
from cerec.settings.train import SignalConfig


def signals_in_force(
    asked: SignalConfig, model: RecommenderConfig, agent: AgentConfig, facts: Facts
) -> SignalConfig:
    """The signals a training learns from: those asked for, without counterfactuals that do nothing.

    So a training whose counterfactuals do nothing is that without any.
    """
    idle = asked.counterfactuals == "imagined" and not imaginable(asked, model, agent, facts)
    if idle or model.model == "climf-original":
        return replace(asked, counterfactuals="none")
    return asked


def imaginable(
    asked: SignalConfig, model: RecommenderConfig, agent: AgentConfig, facts: Facts
) -> bool:
    """Whether imagined items do anything: vectors hold values, and walks find some to exchange."""
    if model.vectors == "id" or facts.n_values == 0:
        return False
    return can_swap(facts, asked.swap_steps if asked.chooser == "random" else agent.depth)
