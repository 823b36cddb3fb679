"""The kernels' own exponential, beside the library's."""

from __future__ import annotations

import numpy as np

from cerec.sample.kernels import make_space, softmax


def test_weights_are_exponentials_to_the_last_places_of_a_float() -> None:
    scores = np.concatenate([np.linspace(-86.0, 0.0, 5001), [3.0, -500.0]]).astype(np.float32)
    n = len(scores)
    space = make_space(1, n, 1)
    space.score[:] = scores
    space.ok[:] = True
    space.ok[-2] = False  # an item of the list, though none scores higher
    assert softmax(space, n) == 0.0  # so that nothing is rounded before the exponential
    weight = np.diff(space.cum)
    exact = np.exp(scores[:-2].astype(np.float64))
    assert np.abs(space.weight[:-2] / exact - 1.0).max() < 3e-7
    assert np.abs(weight[:-2] - exact).max() < 3e-7
    assert weight[-2] == 0.0
    assert weight[-1] < 1e-30


def test_nothing_allowed_weighs_nothing() -> None:
    space = make_space(1, 5, 1)
    space.score[:] = np.arange(5, dtype=np.float32)
    space.ok[:] = False
    assert softmax(space, 5) == -np.inf
    assert space.cum.tolist() == [0.0] * 6
