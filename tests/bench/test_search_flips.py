"""The reward `verified` asks the same question as the explainer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import cerec
from cerec.data.synthetic.generate import make_world
from cerec.recommend.base import Context
from cerec.recommend.context import lists_of
from cerec_bench.search.flips import flip_test
from cerec_bench.search.standing import Standing
from cerec_bench.search.verifier import Outcome, Task, Verifier
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
