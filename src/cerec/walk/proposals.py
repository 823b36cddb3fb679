"""A finished agent's candidates for explanations: nothing but node vectors is needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerec.data.ckg import Ckg
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.settings.agent import AgentConfig, EncoderConfig
from cerec.walk.beam import beam
from cerec.walk.paths import PathSampler, Proposals

_HUGEST = 1e11  # the attention of three such vectors is still a number


def refuse_diverged(vectors: NDArray[np.float32]) -> None:
    """Refuse vectors of an agent that left all bounds: kernels trust their input."""
    if vectors.size and not (vectors.max() < _HUGEST and vectors.min() > -_HUGEST):
        raise ConfigError(
            "the agent diverged, its vectors are no numbers to walk by; train again with a "
            "smaller agent.learning_rate"
        )


def path_sampler(graph: Ckg, config: AgentConfig, encoder: EncoderConfig) -> PathSampler:
    """The sampler an agent with these settings walks by."""
    return PathSampler(
        graph,
        slope=encoder.slope,
        directed=config.attention == "state",
        widest=config.widest,
    )


class BeamProposer:
    """Names the items at the ends of the policy's likeliest walks."""

    def __init__(
        self,
        vectors: NDArray[np.float32],
        graph: Ckg,
        config: AgentConfig,
        encoder: EncoderConfig,
    ) -> None:
        """`vectors` (N, width) as `WalkAgent.vectors()` gives them; the rest as it learned with."""
        if len(vectors) != graph.n_nodes:
            raise ConfigError(f"{len(vectors)} vectors do not fit a graph of {graph.n_nodes} nodes")
        refuse_diverged(vectors)
        self._vectors = np.ascontiguousarray(vectors, np.float32)
        self._depth = config.depth
        self._sampler = path_sampler(graph, config, encoder)

    def propose(
        self, user: NDArray[np.integer], item: NDArray[np.integer], excluded: Ragged, width: int
    ) -> Proposals:
        """Up to `width` candidates per pair, likeliest first, none of them in `excluded.row(b)`."""
        return beam(
            self._sampler, self._vectors, user, item, excluded, depth=self._depth, width=width
        ).proposals()
