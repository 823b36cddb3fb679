"""The reward `verified` asks the same question as the explainer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cerec
from cerec.data.synthetic.generate import make_world
from cerec.explain.flips import flip_test
from cerec.explain.standing import Standing
from cerec.explain.verifier import Outcome, Task, Verifier
from cerec.recommend.base import Context
from cerec.recommend.context import lists_of
from worlds import QUICK, SMALL


def test_sizes_are_those_of_the_verifier(small_run: cerec.Run) -> None:
    run, k = small_run, 5
    lists = lists_of(run.scorer, run.split.train, k)
    context = Context(
        run.split.train, run.facts, run.scorer.user, run.scorer.item, lists, run.scorer.effect
    )
    user = np.array([0, 1, 2, 3], np.int32)
    item, other = lists[user, 0], lists[user[::-1], k - 1]
    found = flip_test(run.facts, k)(context, user, item, other)
    verifier = Verifier(run.facts, run.scorer)
    for n, u in enumerate(user.tolist()):
        standing = Standing.of(run.scorer, u, run.split.train.row(u))
        locked = np.zeros(run.facts.n_values, bool)
        posed = verifier.pose(standing, Task(u, int(item[n]), k, "why", locked))
        assert not isinstance(posed, Outcome)
        answer = verifier.verify(standing, posed, int(other[n]))
        size = 0 if answer.before is None else len(answer.before)
        assert found[n] == size
    known = np.array([run.split.train.row(0)[0]], np.int32)  # not in the list: nothing to leave
    assert flip_test(run.facts, k)(context, user[:1], known, other[:1]).tolist() == [0]


def test_the_agent_learns_from_verified_flips() -> None:
    wanted = replace(QUICK, agent=replace(QUICK.agent, reward="verified", pairs=64, updates=1))
    run = cerec.train(make_world(SMALL, seed=1), wanted, seed=3)
    rewards = [row["reward"] for row in run.history if "reward" in row]
    assert rewards
    assert np.isfinite(rewards).all()


@pytest.mark.parametrize("brought", ["factors", "scores"])
def test_the_agent_of_a_wrapped_recommender_learns_from_verified_flips(brought: str) -> None:
    data = make_world(SMALL, seed=1)
    rng = np.random.default_rng(0)
    users, items = (rng.normal(size=(len(ids), 8)) for ids in (data.users, data.items))
    given: dict[str, Any] = {"user_factors": users, "item_factors": items}
    if brought == "scores":
        given = {"score": lambda user, _: np.tanh(items @ users[data.users.row(user)] / 9)}
    agent = replace(QUICK.agent, pairs=64, updates=1)
    found = {}
    for reward in ("all", "verified"):
        config = replace(QUICK, agent=replace(agent, reward=reward))
        run = cerec.explainer(data, **given, config=config)
        found[reward] = run.history[0]["reward"]
    assert found["verified"] > found["all"]  # the same first walks, and what their flips add


def test_a_wrapped_recommender_is_asked_by_its_own_scores() -> None:
    data, k = make_world(SMALL, seed=1), 5
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(len(data.users), len(data.items)))
    run = cerec.explainer(data, score=lambda user, _: scores[data.users.row(user)], config=QUICK)
    scorer, train = run.scorer, run.split.train
    lists = lists_of(scorer, train, k)
    context = Context(train, run.facts, scorer.user, scorer.item, lists, scorer.effect)
    user = np.arange(20, dtype=np.int32)
    item, other = lists[user, k - 1], lists[user[::-1], 0]
    found = flip_test(run.facts, k, scorer)(context, user, item, other)
    verifier, locked = Verifier(run.facts, scorer), np.zeros(run.facts.n_values, bool)
    for n, u in enumerate(user.tolist()):
        standing = Standing.of(scorer, u, train.row(u))
        posed = verifier.pose(standing, Task(u, int(item[n]), k, "why", locked))
        assert not isinstance(posed, Outcome)
        answer = verifier.verify(standing, posed, int(other[n]))
        assert found[n] == (0 if answer.before is None else len(answer.before))
    assert found.any()
