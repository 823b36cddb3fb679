"""Counterfactual explanations for recommender systems: verified, smallest, on a CPU.

import cerec
data = cerec.load("demo")
run = cerec.train(data, seed=0)
print(run.explain(data.users[0], run.recommend(data.users[0])[0].item))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from cerec.data.dataset import Dataset
    from cerec.data.load import load
    from cerec.errors import CerecError
    from cerec.explain.explanation import Change, Explanation, WhatIf
    from cerec.runs.run import Recommendation, Run
    from cerec.runs.run import open_run as open
    from cerec.runs.train import train
    from cerec.runs.wrap import explainer
    from cerec.settings.run import RunConfig

_HOMES = {
    "CerecError": "cerec.errors",
    "Change": "cerec.explain.explanation",
    "Dataset": "cerec.data.dataset",
    "Explanation": "cerec.explain.explanation",
    "Recommendation": "cerec.runs.run",
    "Run": "cerec.runs.run",
    "RunConfig": "cerec.settings.run",
    "WhatIf": "cerec.explain.explanation",
    "explainer": "cerec.runs.wrap",
    "load": "cerec.data.load",
    "open": "cerec.runs.run:open_run",
    "train": "cerec.runs.train",
}

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
    "explainer",
    "load",
    "open",
    "train",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that `import cerec` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'cerec' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _HOMES[name].partition(":")
    value = getattr(import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
