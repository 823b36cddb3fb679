"""From a recommender to an answer: the smallest change, checked, in words."""

from typing import TYPE_CHECKING

from cerec.lazy import exports

if TYPE_CHECKING:
    from cerec.explain.explanation import Change, Comparison, Explanation, WhatIf

__all__ = ["Change", "Comparison", "Explanation", "WhatIf"]

__getattr__, __dir__ = exports(__name__, __file__)
