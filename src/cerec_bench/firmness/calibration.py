"""Is an answer that is said to hold with 90 % still right in 90 of 100 cases?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from cerec.explain.holds import LAW, Law, Spread, held

LEAST = 400  # answers of a bin


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers that are said to hold about equally well."""

    answers: int
    said: float
    """Mean probability."""
    observed: float
    """Share that held."""


def bins(said: NDArray[np.float64], held: NDArray[np.bool_], most: int = 20) -> list[Bin]:
    """Up to `most` bins of equal counts, each of 400 answers or more."""
    n = max(1, min(most, len(said) // LEAST))
    order = np.argsort(said, kind="stable")
    return [
        Bin(len(part), float(said[part].mean()), float(held[part].mean()))
        for part in np.array_split(order, n)
    ]


def worst(found: Sequence[Bin]) -> float:
    """The largest distance between what was said and what was seen."""
    return max(abs(b.said - b.observed) for b in found)


def fit(sets: Sequence[tuple[Spread, NDArray[np.bool_]]]) -> Law:
    """The law of greatest likelihood, each set counting alike."""

    def loss(theta: NDArray[np.float64]) -> float:
        law = Law(theta[0], theta[1], abs(theta[2]), abs(theta[3]))
        total = 0.0
        for spread, outcome in sets:
            p = np.clip(held(spread, law), 1e-4, 1.0 - 1e-4)
            total -= float(np.where(outcome, np.log(p), np.log1p(-p)).mean())
        return total

    best = minimize(loss, np.array(LAW), method="Nelder-Mead", options={"xatol": 1e-3}).x
    return Law(*(round(float(x), 3) for x in (best[0], best[1], abs(best[2]), abs(best[3]))))
