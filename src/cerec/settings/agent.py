"""Settings of the agent and of the graph encoder it walks by."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Interval, Le

from cerec.settings.base import Count, NotNegative, settings

WIDEST = 100_000  # far more than a vector can use, and memory cannot hold


@settings("agent")
class AgentConfig:
    """The walking agent, its reward and how it learns."""

    depth: Annotated[int, Interval(ge=1, le=5)] = 1
    """Steps T of a walk, 1 to 5; the last item is the counterfactual item."""
    gamma: Annotated[float, Interval(ge=0, le=1)] = 0.9
    """Discount of later rewards."""
    list_length: Count = 20
    """Items K in a user's list Q_u, which the walk keeps off."""
    widest: Annotated[float, Interval(gt=0, le=1)] = 0.5
    """Walks skip attributes on more than this share of all items, which tell few items apart; 1:
    none is skipped (the paper)."""
    attention: Literal["state", "paper"] = "state"
    """What a hop is chosen by: `paper`, the attention of eq. 9 and 11; `state`, also how much
    what it reaches is like the item the walk stands on."""
    similarity: Literal["start", "encoder"] = "start"
    """Which vectors the cosine of the reward compares: those the encoder started with, or those of
    the moment (the paper), which the agent can change to raise its own reward."""
    credit: Literal["to_go", "step"] = "to_go"
    """What a step learns from: the discounted sum of its reward and all later ones, or its own
    reward, discounted, over T (the paper)."""
    draws: Annotated[int, Ge(2)] = 8
    """Walks per start and update; the mean return of the others is what each is compared with."""
    entropy: NotNegative = 0.2
    """Reward for staying undecided, whatever the number of choices: it is paid in full for equal
    chances in both hops, in half for one of them."""
    learning_rate: NotNegative = 0.005
    """Step of Adam."""
    updates: Count = 16
    """Policy updates per epoch; the graph is encoded once for each."""
    pairs: Count = 1024
    """Starts per update, drawn from all there are."""
    neighbours: Count = 16_000_000
    """Neighbours to be looked at in one update, at about the most: where attributes stand on many
    items, fewer walks start, so that an epoch stays short."""
    starts: Literal["positives", "lists", "both"] = "both"
    """Where walks start while learning: liked items (co-training walks from these), items of the
    lists (explanations start from these), or half each."""


@settings("encoder")
class EncoderConfig:
    """The graph encoder (GraphSAGE) whose vectors steer the walk."""

    size: Annotated[Count, Le(WIDEST)] = 64
    """Width of the node table, of every layer and of their sum."""
    layers: Count = 2
    """Graph layers."""
    slope: Annotated[float, Interval(ge=0, lt=1)] = 0.2
    """Slope of LeakyReLU below zero, in the encoder and in the attention."""
    start: Literal["factors", "random"] = "factors"
    """Where the table starts: the recommender's factors, or noise. From noise, with `centre` off
    and `agent.similarity = "encoder"`, the vectors of all items come to look alike."""
    centre: bool = True
    """Subtract the mean vector of users, of items and of other entities from theirs, so that
    cosines tell items apart."""
