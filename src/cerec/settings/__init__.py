"""All settings of a run."""

from typing import TYPE_CHECKING

from cerec.lazy import exports

if TYPE_CHECKING:
    from cerec.settings.agent import AgentConfig, EncoderConfig
    from cerec.settings.base import settings
    from cerec.settings.data import FilterConfig, SplitConfig
    from cerec.settings.linear import LinearConfig
    from cerec.settings.recommender import RecommenderConfig
    from cerec.settings.run import RunConfig
    from cerec.settings.train import SignalConfig, TrainConfig

__all__ = [
    "AgentConfig",
    "EncoderConfig",
    "FilterConfig",
    "LinearConfig",
    "RecommenderConfig",
    "RunConfig",
    "SignalConfig",
    "SplitConfig",
    "TrainConfig",
    "settings",
]

__getattr__, __dir__ = exports(__name__, __file__)
