"""Settings of the agent and of the graph encoder it walks by."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Interval, Le

from cerec.errors import ConfigError
from cerec.settings.base import Count, NotNegative, Widths, settings

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
    reward: Literal["all", "rationality", "similarity"] = "all"
    """`rationality`: 1 for an item scored no higher than the last of the list. `similarity`: the
    cosine to the item before. `all`: both."""
    similarity: Literal["start", "encoder"] = "start"
    """Which vectors the cosine compares: those the encoder started with, a fixed yardstick, or
    those of the moment (the paper's letter), which the agent can move until it is pleased."""
    baseline: Literal["others", "mean", "value"] = "others"
    """What is subtracted from a return: the mean of the other walks from the same start, a running
    mean per step, or a value fitted to the vectors of user and item."""
    draws: Count = 4
    """Walks per start and update; `others` needs at least 2."""
    entropy: NotNegative = 0.05
    """Reward for staying undecided, per unit of entropy; keeps the walk exploring."""
    learning_rate: NotNegative = 0.01
    """Step of Adam."""
    updates: Count = 8
    """Policy updates per epoch; the graph is encoded once for each."""
    pairs: Count = 1024
    """Starts per update, drawn from all there are."""
    neighbours: Count = 16_000_000
    """Neighbours to be looked at in one update, at about the most: where attributes stand on many
    items, fewer walks start, so that an epoch stays short."""
    starts: Literal["positives", "lists", "both"] = "both"
    """Where walks start while learning: liked items (co-training walks from these), items of the
    lists (explanations start from these), or half each."""
    attribute_step: Literal["attention", "uniform"] = "attention"
    """`uniform` takes any attribute with equal chances (an ablation)."""
    item_step: Literal["attention", "uniform"] = "attention"
    """`uniform` takes any item of the attribute with equal chances (an ablation)."""

    def __post_init__(self) -> None:
        if self.baseline == "others" and self.draws < 2:
            raise ConfigError(
                f"agent.baseline = 'others' needs agent.draws of at least 2, got {self.draws}"
            )


@settings("encoder")
class EncoderConfig:
    """The graph encoder whose vectors steer the walk."""

    kind: Literal["sage", "gcn", "lightgcn", "gat"] = "sage"
    """`sage` is the paper's; `lightgcn` has no weights, its layers are all `size` wide."""
    size: Annotated[Count, Le(WIDEST)] = 64
    """Width of the node table."""
    layers: Widths = (32, 64)
    """Output width of each graph layer."""
    combine: Literal["concat", "sum"] = "concat"
    """How layer outputs become one vector; `sum` needs layers of equal width."""
    slope: Annotated[float, Interval(ge=0, lt=1)] = 0.2
    """Slope of LeakyReLU below zero, in the encoder and in the attention."""
    start: Literal["factors", "links", "random"] = "factors"
    """Where the table starts: the recommender's factors, link prediction on the graph, or noise.
    From noise, with `centre` off and `agent.similarity = "encoder"`, the vectors of all items come
    to look alike, and similarity says nothing."""
    centre: bool = True
    """Subtract the mean vector of users, of items and of other entities from theirs, so that
    cosines tell items apart."""

    def __post_init__(self) -> None:
        if not self.layers:
            raise ConfigError("encoder.layers must be one or more widths, got ()")
        if max(self.layers) > WIDEST:
            raise ConfigError(f"encoder.layers must be at most {WIDEST:,}, got {self.layers}")
        if self.combine == "sum" and self.kind != "lightgcn" and len(set(self.layers)) > 1:
            raise ConfigError(
                f"encoder.combine = 'sum' needs layers of equal width, got {self.layers}: "
                "use 'concat'"
            )

    @property
    def width(self) -> int:
        """Width of the vectors the encoder returns."""
        if self.kind == "lightgcn":
            return self.size if self.combine == "sum" else self.size * len(self.layers)
        return self.layers[-1] if self.combine == "sum" else sum(self.layers)
