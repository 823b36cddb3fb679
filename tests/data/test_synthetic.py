"""Generated worlds: what is planted can be found again."""

from __future__ import annotations

import numpy as np
import pytest

from cerec.data.dataset import TEST, TRAIN
from cerec.data.synthetic.generate import WorldConfig, checkerboard, demo, make_world
from cerec.errors import ConfigError


def test_demo_has_the_size_it_states() -> None:
    data = demo()
    assert (len(data.users), len(data.items), len(data.interactions)) == (600, 800, 30_000)
    assert len(data.relations) == 10
    assert set(data.relations) >= {"genre", "director", "actor", "studio", "country", "decade"}


def test_same_seed_same_world_other_seed_other_world() -> None:
    config = WorldConfig(users=40, items=60, interactions=400)
    assert make_world(config, seed=1) == make_world(config, seed=1)
    assert make_world(config, seed=1) != make_world(config, seed=2)


def test_pairs_are_distinct_and_every_user_has_some() -> None:
    table = demo().interactions
    assert len(np.unique(table.user.astype(np.int64) * 800 + table.item)) == len(table)
    assert np.bincount(table.user, minlength=600).min() > 0


def test_popularity_and_activity_are_skewed() -> None:
    table = demo().interactions
    for rows in (table.item, table.user):
        counts = np.sort(np.bincount(rows))[::-1]
        assert counts[: len(counts) // 10].sum() > 0.22 * counts.sum()
        assert counts[0] > 4 * np.median(counts)


def test_every_film_has_one_to_three_genres_and_one_director() -> None:
    data = demo()
    for name, low, high in (("genre", 1, 3), ("director", 1, 1), ("actor", 1, 5), ("decade", 1, 1)):
        mask = data.triples.relation == data.relations.row(name)
        counts = np.bincount(data.triples.head[mask], minlength=len(data.items))
        assert counts.min() >= low
        assert counts.max() <= high


def test_some_facts_lie_between_attributes_and_some_people_have_two_roles() -> None:
    data = demo()
    n_items, fact = len(data.items), data.triples
    assert (fact.head >= n_items).any()
    tails = [
        set(fact.tail[fact.relation == data.relations.row(r)].tolist())
        for r in ("actor", "director")
    ]
    assert tails[0] & tails[1]


def test_ids_are_in_order_and_names_readable() -> None:
    data = demo()
    for table in (data.users, data.items, data.entities, data.relations):
        assert list(table) == sorted(table)
    assert data.entities.name(data.entities.row("genre:drama")) == "Drama"
    assert len(set(data.items.names)) == len(data.items)


def test_planted_tastes_show_in_the_interactions() -> None:
    """Users take values they like more, and values they dislike less, than others do."""
    data = demo()
    genre = data.relations.row("genre")
    has = np.zeros((len(data.items), len(data.entities)), bool)
    mask = data.triples.relation == genre
    has[data.triples.head[mask], data.triples.tail[mask] - len(data.items)] = True
    share = has[data.interactions.item]
    overall = share.mean(0)
    sums = np.zeros((len(data.users), len(data.entities)))
    np.add.at(sums, data.interactions.user, share)
    own = sums / np.bincount(data.interactions.user)[:, None]
    planted = data.planted
    assert planted is not None
    for sign, wanted in ((1, 0.85), (-1, 0.85)):
        at = (planted.relation == genre) & (planted.sign == sign)
        lift = own[planted.user[at], planted.attribute[at]] - overall[planted.attribute[at]]
        assert (sign * lift > 0).mean() > wanted


def test_no_value_is_both_liked_and_disliked() -> None:
    planted = demo().planted
    assert planted is not None
    keys = list(zip(planted.user, planted.relation, planted.attribute, strict=True))
    assert len(set(keys)) == len(keys)


def test_without_taste_the_world_still_plants_but_ignores_it() -> None:
    data = make_world(WorldConfig(users=30, items=50, interactions=300, taste=0.0), seed=0)
    assert data.planted is not None


@pytest.mark.parametrize("items", [1, 2, 5, 30])
def test_tiny_worlds(items: int) -> None:
    data = make_world(WorldConfig(users=3, items=items, interactions=3), seed=0)
    assert len(data.interactions) == 3


def test_a_full_matrix() -> None:
    data = make_world(WorldConfig(users=6, items=9, interactions=54), seed=0)
    assert len(data.interactions) == 54


def test_sizes_follow_the_options() -> None:
    config = WorldConfig(
        users=200, items=300, interactions=3_000, entities=1_500, relations=16, triples=9_000
    )
    data = make_world(config, seed=0)
    assert len(data.relations) == 16
    assert abs(len(data.entities) - 1_500) < 75
    assert abs(len(data.triples) - 9_000) < 900


@pytest.mark.parametrize(
    "wrong",
    [
        {"users": 0},
        {"relations": 3},
        {"users": 10, "items": 5, "interactions": 51},
        {"users": 10, "items": 5, "interactions": 9},
        {"taste": -1.0},
    ],
)
def test_wrong_sizes_are_refused(wrong) -> None:
    with pytest.raises(ConfigError, match="world"):
        WorldConfig(**wrong)


@pytest.mark.parametrize("wrong", [{"entities": 50}, {"triples": 100_000}])
def test_sizes_that_cannot_be_met_are_refused(wrong) -> None:
    with pytest.raises(ConfigError, match="world"):
        make_world(WorldConfig(**wrong), seed=0)


def test_checkerboard_withholds_the_diagonal() -> None:
    data = checkerboard(6)
    table = data.interactions
    pairs = list(zip(table.user.tolist(), table.item.tolist(), table.part.tolist(), strict=True))
    assert (0, 0, TEST) in pairs
    assert (0, 2, TRAIN) in pairs
    assert len(pairs) == 18
    assert all((u == i) == (p == TEST) and (u + i) % 2 == 0 for u, i, p in pairs)
    assert data.triples.tail.tolist() == [6, 7, 6, 7, 6, 7]
    assert data.planted.sign.tolist() == [1, -1, -1, 1] * 3


def test_a_checkerboard_too_small_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 4"):
        checkerboard(3)


@pytest.mark.slow
def test_a_world_of_the_shape_of_amazon_book() -> None:
    config = WorldConfig(
        users=70_679,
        items=24_915,
        interactions=847_733,
        entities=88_572,
        relations=39,
        triples=2_557_746,
    )
    data = make_world(config, seed=0)
    assert (len(data.users), len(data.items)) == (70_679, 24_915)
    assert (len(data.interactions), len(data.relations)) == (847_733, 39)
    assert abs(len(data.entities) / 88_572 - 1) < 0.01
    assert abs(len(data.triples) / 2_557_746 - 1) < 0.03
