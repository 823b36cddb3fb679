from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.errors import ConfigError
from cerec.recommend.asking import drawn
from cerec.recommend.base import Context
from cerec.recommend.negatives import DNS, Uniform, Walk
from cerec.recommend.topk import top_k_all
from recommend_worlds import facts, ragged, random_world


def context(seed: int = 0, k: int = 3) -> Context:
    known, world = random_world(seed)
    rng = np.random.default_rng(seed)
    user = rng.standard_normal((len(known), 4)).astype(np.float32)
    item = rng.standard_normal((20, 4)).astype(np.float32)
    return Context(known, world, user, item, top_k_all(user, item, known, k))


SAMPLERS = [
    Uniform(),
    DNS(3),
    Walk(steps=1, list_length=3),
    Walk(steps=2, list_length=3),
]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: type(s).__name__)
@given(seed=st.integers(0, 50))
@settings(max_examples=15, deadline=None)
def test_a_known_item_is_never_a_negative(sampler, seed: int) -> None:
    at = context(seed)
    user, item = at.known.row_of(), at.known.indices
    drawn = sampler.draw(user, item, at, np.random.default_rng(seed))
    assert drawn.dtype == np.int32
    assert ((drawn >= 0) & (drawn < 20)).all()
    assert not any(j in at.known.row(u) for u, j in zip(user, drawn, strict=True))
    again = sampler.draw(user, item, at, np.random.default_rng(seed))
    assert np.array_equal(drawn, again)


def test_uniform_is_uniform_over_unknown_items() -> None:
    at = context()
    user = np.zeros(30_000, np.int32)
    count = np.bincount(Uniform().draw(user, user, at, np.random.default_rng(0)), minlength=20)
    free = np.setdiff1d(np.arange(20), at.known.row(0))
    assert count[at.known.row(0)].sum() == 0
    assert count[free] == pytest.approx(np.full(15, 2000), rel=0.12)


def test_one_dns_candidate_is_a_uniform_draw() -> None:
    at = context()
    user = np.arange(12, dtype=np.int32)
    first = DNS(1).draw(user, user, at, np.random.default_rng(5))
    assert np.array_equal(first, Uniform().draw(user, user, at, np.random.default_rng(5)))


def test_dns_picks_the_maximum_of_m_uniform_ranks() -> None:
    # with 15 unknown items, P(best of 4 has rank r or worse) = ((16 - r) / 15)^4
    at = context()
    user = np.zeros(20_000, np.int32)
    drawn = DNS(4).draw(user, user, at, np.random.default_rng(0))
    order = top_k_all(at.user, at.item, at.known, 15)[0]
    share = np.bincount(drawn, minlength=20)[order] / len(drawn)
    tail = [((15 - r) / 15) ** 4 for r in range(16)]
    assert share == pytest.approx(-np.diff(tail), abs=0.015)


def test_a_user_who_knows_everything_has_no_negative() -> None:
    world = facts([[0], [0]], [0])
    vectors = np.zeros((2, 1), np.float32)
    none = np.empty((2, 0), np.int32)
    at = Context(ragged([0, 1], [0]), world, vectors, vectors, none)
    user = np.array([0, 1], np.int32)
    for sampler in (Uniform(), DNS(2), Walk(list_length=0)):
        assert list(sampler.draw(user, user * 0, at, np.random.default_rng(0))) == [-1, 1]


def test_a_walk_goes_to_a_neighbour_outside_the_list() -> None:
    # item 0 shares value 0 with 1, 2, 3; 1 is known, 2 is in the list: only 3 is left
    world = facts([[0], [0], [0], [0], [1]], [0, 0])
    vectors = np.zeros((1, 1), np.float32)
    at = Context(
        ragged([0, 1]), world, vectors, np.zeros((5, 1), np.float32), np.array([[2]], np.int32)
    )
    user = np.zeros(50, np.int32)
    assert set(Walk(list_length=1).draw(user, user, at, np.random.default_rng(0))) == {3}


def test_an_own_sampler_that_gives_what_a_user_knows_is_refused() -> None:
    at = context()
    user = np.zeros(3, np.int32)
    known = at.known.row(0)[0]

    class Known:
        list_length = 0

        def draw(self, user, item, context, rng):
            return np.array([-1, -1, known], np.int32)

    words = f"Known.draw gave item row {known} as a negative of user row 0, who has it in train"
    with pytest.raises(ConfigError, match=words):
        drawn(Known(), user, user, at, np.random.default_rng(0))


def test_senseless_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="got 0"):
        DNS(0)
    with pytest.raises(ConfigError, match="got 0"):
        Walk(steps=0)
