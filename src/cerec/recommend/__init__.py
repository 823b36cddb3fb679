"""Recommenders: the protocol, ours, adapters for others, and how lists are ranked."""

from typing import TYPE_CHECKING

from cerec.lazy import exports

if TYPE_CHECKING:
    from cerec.recommend.base import Context, Material, NegativeSampler
    from cerec.recommend.negatives import DNS, Uniform, Walk
    from cerec.recommend.protocol import Contributions, Recommender, Trainable
    from cerec.recommend.subject import Subject

__all__ = [
    "DNS",
    "Context",
    "Contributions",
    "Material",
    "NegativeSampler",
    "Recommender",
    "Subject",
    "Trainable",
    "Uniform",
    "Walk",
]

__getattr__, __dir__ = exports(__name__, __file__)
