"""Items that came after training, known by their attributes alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

import cerec
from cerec.data.restrict import restrict
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError, QuestionError, UnknownIdError
from cerec.recommend.exact import exact_ranks
from cerec.recommend.newitem import add_item
from cerec.recommend.scorer import Scorer
from cerec.settings.parsing import parse
from cerec.settings.run import RunConfig
from recommend_worlds import facts, ragged

USER = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], np.float32)
ITEM = np.array([[4.0, 0.0], [0.0, 2.0], [2.0, 4.0]], np.float32)
EFFECT = np.array([[2.0, 0.0], [0.0, 2.0], [6.0, -2.0]], np.float32)
FACTS = facts([[0], [0, 1], []], [0, 0, 1])
VALUES = np.array([1, 2])


def test_the_mean_item_with_the_mean_of_its_values_by_hand() -> None:
    scorer = Scorer(USER, ITEM, EFFECT, USER, "mean")
    grown, row = add_item(scorer, FACTS, VALUES)
    # own parts (2, 0), (-1, 1), (2, 4), mean (1, 5/3); values 1 and 2 have the mean (3, 0)
    assert row == 3
    assert grown.item[3] == pytest.approx([4.0, 5 / 3])
    assert np.array_equal(grown.item[:3], scorer.item)
    score, rank = exact_ranks(grown, row, ragged([0], [2], []))
    assert score == pytest.approx([4.0, 5 / 3, -17 / 3])
    # user 0 knows the item of score 4, the others have 0 and 2; user 1 has 0 and 2 before 5/3
    assert rank.tolist() == [1, 2, 3]


def test_equal_scores_leave_the_new_item_behind() -> None:
    scorer = Scorer(USER, ITEM[:1], EFFECT[:1], USER, "mean")
    grown, row = add_item(scorer, facts([[0]], [0]), np.array([0]))
    assert np.array_equal(grown.item[row], ITEM[0])  # the only item is the mean one
    assert exact_ranks(grown, row, ragged([], [], []))[1].tolist() == [2, 2, 2]


def test_fitted_effects_are_added_up_by_hand() -> None:
    grown, row = add_item(Scorer(USER, ITEM, EFFECT, USER, "sum"), FACTS, VALUES)
    # own parts (2, 0), (-2, 0), (2, 4), mean (2/3, 4/3); values 1 and 2 add (6, 0)
    assert grown.item[row] == pytest.approx([20 / 3, 4 / 3])
    apart, row = add_item(Scorer(USER, ITEM, EFFECT, USER.copy(), "sum"), FACTS, VALUES)
    for u in range(3):
        assert apart.scores(u) == pytest.approx(grown.scores(u))


def test_a_matrix_of_scores_gets_the_mean_score_and_the_effects() -> None:
    matrix = USER @ ITEM.T
    scorer = Scorer(USER, ITEM, EFFECT, USER, "sum", matrix=matrix)
    grown, row = add_item(scorer, FACTS, VALUES)
    by_factors, _ = add_item(Scorer(USER, ITEM, EFFECT, USER, "sum"), FACTS, VALUES)
    for u in range(3):
        assert grown.scores(u) == pytest.approx(by_factors.scores(u))
    assert grown.n_items == row + 1 == 4


def test_a_run_places_a_new_item(small_run: cerec.Run) -> None:
    run = small_run
    pairs = run.attributes(run.data.items[3])
    item = run.new_item(pairs)
    assert item.attributes == tuple(pairs)
    everybody = [item.place(user) for user in run.data.users]
    assert item.users(1000) == sorted(everybody, key=lambda placed: (placed.rank, -placed.score))
    assert item.users(3) == item.users(1000)[:3]
    for placed in everybody[:9]:
        ahead = [line for line in run.recommend(placed.user, 1000) if line.score >= placed.score]
        assert placed.rank == 1 + len(ahead)
    relation, attribute = pairs[0]
    names = run.data.relations, run.data.entities
    named = [table.name(table.row(i)) for table, i in zip(names, pairs[0], strict=True)]
    assert run.new_item([tuple(named)]).attributes == run.new_item([pairs[0]]).attributes
    with pytest.raises(UnknownIdError, match=f"unknown relation .*did you mean '{relation}'"):
        run.new_item([(relation + "x", attribute)])
    with pytest.raises(UnknownIdError, match="did you mean"):
        run.new_item([(relation, attribute + "x")])
    with pytest.raises(QuestionError, match="known by its attributes alone; give a"):
        run.new_item([])
    with pytest.raises(ConfigError, match="k must be"):
        item.users(0)


@pytest.mark.parametrize("vectors", ["attributes", "id"])
def test_attributes_of_items_left_out_tell_their_users(vectors: str) -> None:
    """AUC of those who took an item against the others: better than any item of the catalogue."""
    data = make_world(WorldConfig(users=120, items=150, interactions=4500), seed=2)
    gone = np.random.default_rng(0).random(len(data.items)) < 0.2
    settings = {"recommender": {"vectors": vectors, "dim": 16, "batch": 256}}
    few = {"epochs": 20, "agent_epochs": 0, "validate_every": 10}
    config = parse(RunConfig, {**settings, "train": few})
    run = cerec.train(restrict(data, items=~gone), config)
    whole = cerec.Run(data, run.split, run.scorer)
    rng, pairs = np.random.default_rng(0), data.interactions
    told, chance = [], []
    for row in np.flatnonzero(gone):
        took = np.isin(np.arange(len(data.users)), pairs.user[pairs.item == row])
        item = run.new_item(a for a in whole.attributes(row_id(data, row)) if known(run, a))
        told.append(auc([-item.place(user).rank for user in data.users], took))
        other = rng.integers(len(run.data.items))
        chance.append(auc(run.scorer.user @ run.scorer.item[other], took))
    assert np.mean(told) > 0.6 > np.mean(chance) + 0.05


def row_id(data: cerec.Dataset, row: int) -> str:
    return data.items[int(row)]


def known(run: cerec.Run, pair: tuple[str, str]) -> bool:
    return any(pair in run.attributes(item) for item in run.data.items)


def auc(score, positive) -> float:
    ranks, n = rankdata(score), int(positive.sum())
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(positive) - n))
