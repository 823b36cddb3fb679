"""The kernels' own exponential, beside the library's."""

from __future__ import annotations

import numpy as np
import pytest

from cerec.walk.kernels import SUMMED, make_space
from cerec.walk.softmax import pick, softmax


def test_weights_are_exponentials_to_the_last_places_of_a_float() -> None:
    scores = np.concatenate([np.linspace(-86.0, 0.0, 5001), [3.0, -500.0]]).astype(np.float32)
    n = len(scores)
    space = make_space(1, n, 1)
    space.score[:] = scores
    space.ok[:] = True
    space.ok[-2] = False  # an item of the list, though none scores higher
    top, total = softmax(space, n)
    assert top == 0.0  # so that nothing is rounded before the exponential
    weight, exact = space.weight[:n], np.exp(scores[:-2].astype(np.float64))
    assert np.abs(weight[:-2] / exact - 1.0).max() < 3e-7
    assert weight[-2] == 0.0
    assert weight[-1] < 1e-30
    assert total == pytest.approx(exact.sum(), rel=1e-7)
    blocks = np.add.reduceat(weight.astype(np.float64), np.arange(0, n, SUMMED))
    assert space.sums == pytest.approx(blocks, rel=1e-12)


def test_nothing_allowed_weighs_nothing() -> None:
    space = make_space(1, 5, 1)
    space.score[:] = np.arange(5, dtype=np.float32)
    space.ok[:] = False
    assert softmax(space, 5) == (-np.inf, 0.0)


def test_a_draw_falls_in_shares_as_wide_as_the_weights() -> None:
    # three blocks of weights; neighbour 70 is kept off, neighbour 130 stood on
    n, skip = 150, 130
    space = make_space(1, n, 1)
    space.score[:] = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    space.ok[:] = True
    space.ok[70] = False
    _, total = softmax(space, n)
    rest = total - space.weight[skip]
    weight = space.weight[:n].astype(np.float64)
    weight[skip] = 0.0
    edges = np.concatenate([[0.0], np.cumsum(weight)]) / weight.sum()
    for j in np.flatnonzero(weight):
        middle = (edges[j] + edges[j + 1]) / 2
        assert pick(space, n, skip, middle * rest) == j
    assert pick(space, n, skip, rest * (1.0 + 1e-9)) == n - 1
