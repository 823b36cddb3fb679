"""What a flip asks of the effects of an item's values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cerec_bench.search.kernels import Goal


def make_goal(
    *,
    score: float,
    own: NDArray[np.float64],
    mean: bool,
    cutoff: float,
    tie_flips: bool,
    largest: float,
    bits: int,
) -> Goal:
    """The goal of lowering an item with the effects `own` to the cut-off.

    Effects are multiples of `2**-bits`, none larger than `largest`.
    """
    total = float(own.sum())
    pooled = total / max(len(own), 1) if mean else total
    shift = 0.0
    if mean:
        # every set that flips in floating point has a true mean below this (ADR 0005)
        slack = math.ldexp(abs(cutoff) + abs(score) + abs(pooled) + largest, -48)
        highest = min(max(cutoff - score + pooled + slack, -2 * largest), 2 * largest)
        shift = math.ldexp(math.ceil(math.ldexp(highest, bits)) + 1, -bits)
    return Goal(score, total, len(own), mean, pooled, cutoff, tie_flips, shift)
