"""A finished recommender with its data: trained, wrapped, opened, measured."""

from typing import TYPE_CHECKING

from cerec.lazy import exports

if TYPE_CHECKING:
    from cerec.runs.evaluate import evaluate_run
    from cerec.runs.run import Recommendation, Run

__all__ = ["Recommendation", "Run", "evaluate_run"]

__getattr__, __dir__ = exports(__name__, __file__)
