"""Counterfactual explanations for recommender systems: verified, smallest, on a CPU.

import cerec
data = cerec.load("demo")
run = cerec.train(data, seed=0)
print(run.explain(data.users[0], run.recommend(data.users[0])[0].item))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cerec.lazy import exports

__version__ = "0.1.0"

if TYPE_CHECKING:
    from cerec import adapters
    from cerec.data.dataset import Dataset
    from cerec.data.load import load
    from cerec.errors import CerecError
    from cerec.explain.explanation import Change, Explanation, WhatIf
    from cerec.runs.run import Recommendation, Run
    from cerec.runs.run import open_run as open
    from cerec.runs.train import train
    from cerec.runs.wrap import explainer
    from cerec.settings.run import RunConfig

__all__ = [
    "CerecError",
    "Change",
    "Dataset",
    "Explanation",
    "Recommendation",
    "Run",
    "RunConfig",
    "WhatIf",
    "__version__",
    "adapters",
    "explainer",
    "load",
    "open",
    "train",
]

__getattr__, __dir__ = exports(__name__, __file__)
