from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.errors import ConfigError
from cerec.recommend.asking import drawn
from cerec.recommend.base import Context
from cerec.recommend.negatives import DNS, Mixture, Uniform, Walk
from cerec.recommend.swaps import RandomSwaps
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
    Mixture([(1, Uniform()), (2, Walk(list_length=3))]),
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


def test_mixture_keeps_its_shares() -> None:
    at = context()

    class Always:
        list_length = 7

        def __init__(self, item: int) -> None:
            self.item = item

        def draw(self, user, item, context, rng):
            return np.full(len(user), self.item, np.int32)

    mixed = Mixture([(3, Always(1)), (1, Always(2))])
    found = mixed.draw(
        np.zeros(8000, np.int32), np.zeros(8000, np.int32), at, np.random.default_rng(0)
    )
    assert mixed.list_length == 7
    assert (found == 1).mean() == pytest.approx(0.75, abs=0.02)


def test_an_own_sampler_that_gives_what_a_user_knows_is_refused() -> None:
    at = context()
    user = np.zeros(3, np.int32)
    known = at.known.row(0)[0]

    class Known:
        list_length = 0

        def draw(self, user, item, context, rng):
            return np.array([-1, -1, known], np.int32)

    words = f"Known.draw gave item row {known} as a negative of user row 0, who has it in train"
    for sampler in (Known(), Mixture([(1, Known())])):
        with pytest.raises(ConfigError, match=words):
            drawn(sampler, user, user, at, np.random.default_rng(0))


def test_senseless_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="got 0"):
        DNS(0)
    with pytest.raises(ConfigError, match="got 0"):
        Walk(steps=0)
    with pytest.raises(ConfigError, match="weights"):
        Mixture([(-1, Uniform())])


@given(seed=st.integers(0, 50))
@settings(max_examples=15, deadline=None)
def test_swaps_keep_the_relation_and_change_the_item(seed: int) -> None:
    at = context(seed)
    user, item = at.known.row_of(), at.known.indices
    lost, gained = RandomSwaps().draw(user, item, at, np.random.default_rng(seed))
    world = at.facts
    for i, a, b in zip(item, lost, gained, strict=True):
        assert (a < 0) == (b < 0)
        if a >= 0:
            assert a in world.of_item.row(i)
            assert b not in world.of_item.row(i)
            assert world.relation[a] == world.relation[b]


def test_the_only_possible_swap_is_found() -> None:
    # 0 and 1 share value 0 (relation 0) and differ in relation 1: 1 -> 2; item 2 stands alone
    world = facts([[0, 1], [0, 2], [3]], [0, 1, 1, 1])
    vectors = np.zeros((3, 1), np.float32)
    at = Context(ragged([0], [1], [2]), world, vectors, vectors, np.empty((3, 0), np.int32))
    rows = np.arange(3, dtype=np.int32)
    lost, gained = RandomSwaps().draw(rows, rows, at, np.random.default_rng(0))
    assert list(lost) == [1, 2, -1]
    assert list(gained) == [2, 1, -1]


def test_every_possible_swap_and_no_other_is_drawn() -> None:
    rows = [[0, 3, 4], [0, 1, 4, 5], [1, 2, 3, 5, 6], [2, 4, 6], [0, 6]]
    world = facts(rows, [0, 0, 0, 1, 1, 1, 1])
    vectors = np.zeros((5, 1), np.float32)
    at = Context(ragged([0]), world, vectors[:1], vectors, np.empty((1, 0), np.int32))
    possible = {
        (i, a, b)
        for i, mine in enumerate(rows)
        for theirs in rows
        if set(mine) & set(theirs)
        for a in set(mine) - set(theirs)
        for b in set(theirs) - set(mine)
        if world.relation[a] == world.relation[b]
    }
    item = np.tile(np.arange(5, dtype=np.int32), 4000)  # neighbours in the batch differ
    lost, gained = RandomSwaps().draw(np.zeros_like(item), item, at, np.random.default_rng(0))
    found = lost >= 0
    drawn = zip(item[found], lost[found], gained[found], strict=True)
    assert {(int(i), int(a), int(b)) for i, a, b in drawn} == possible
    assert found.mean() > 0.99


def test_a_longer_walk_takes_values_of_items_farther_away() -> None:
    # 0 and 1 share value 0, 1 and 2 share value 1; values 2, 3, 4 are those of relation 1
    world = facts([[0, 2], [0, 1, 3], [1, 4]], [0, 0, 1, 1, 1])
    vectors = np.zeros((3, 1), np.float32)
    at = Context(ragged([0]), world, vectors[:1], vectors, np.empty((1, 0), np.int32))
    rows = np.zeros(300, np.int32)
    near = RandomSwaps(1).draw(rows, rows, at, np.random.default_rng(0))
    far = RandomSwaps(2).draw(rows, rows, at, np.random.default_rng(0))
    assert set(zip(*map(list, near), strict=True)) == {(2, 3)}  # 1 has all that 0 has of relation 0
    some = far[0] >= 0  # the others came back to 0 each time
    assert some.mean() > 0.9
    assert set(zip(far[0][some], far[1][some], strict=True)) == {(0, 1), (2, 4)}
