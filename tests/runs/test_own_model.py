"""`cerec.train(data, model=...)`, the models of entry points, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cerec
from cerec.data import Dataset, Ragged, WorldConfig, make_world
from cerec.errors import CerecError, ConfigError, DataError
from worlds import QUICK


class Counted:
    """Popularity, its users and items in the opposite order of the data."""

    def __init__(self, **wrong: Any) -> None:
        self.wrong = wrong

    def fit(self, data: Dataset, history: Ragged, *, seed: int) -> None:
        self.users, self.items = list(data.users)[::-1], list(data.items)[::-1]
        self.count = np.bincount(history.indices, minlength=len(self.items))[::-1].astype(float)
        for name, value in self.wrong.items():
            setattr(self, name, value)

    def scores(self, users: np.ndarray) -> np.ndarray:
        return np.tile(self.count, (len(users), 1))


@pytest.fixture(scope="module")
def world() -> Dataset:
    return make_world(WorldConfig(users=60, items=80, interactions=1500), seed=1)


def test_a_model_of_ones_own_is_trained_saved_and_explained(world: Dataset, tmp_path: Path) -> None:
    run = cerec.train(world, model=Counted(), out=tmp_path / "run")
    counts = np.bincount(run.split.train.indices, minlength=80)
    user = world.users[3]
    listed = run.recommend(user, 5)
    assert [r.score for r in listed] == sorted((float(r.score) for r in listed), reverse=True)
    assert [r.score for r in listed] == [counts[world.items.row(r.item)] for r in listed]
    assert set(run.metrics) == {"valid", "test"}
    again = cerec.open(tmp_path / "run")
    assert [r.item for r in again.recommend(user, 5)] == [r.item for r in listed]
    assert (
        again.explain(user, listed[0].item, k=5).status != "verified"
        or again.explain(user, listed[0].item, k=5).by == "history"
    )


def test_what_is_no_model_is_refused(world: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="an object, not a class"):
        cerec.train(world, model=Counted)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="a method fit"):
        cerec.train(world, model=object())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="cannot be resumed"):
        cerec.train(world, model=Counted(), out=tmp_path / "run", resume=True)
    with pytest.raises(DataError, match="users must be the 60 users of the data; it has no"):
        cerec.train(world, model=Counted(users=["x"] * 60))
    with pytest.raises(DataError, match="a finite number for each of 60 users and 80 items"):
        cerec.train(world, model=Counted(count=np.full(80, np.nan)))


OWN = {
    "linear": None,
    "paper": QUICK,
    "mine": None,
}


@pytest.mark.parametrize("name", OWN)
def test_every_recommender_keeps_the_contract_of_a_run(name: str, world: Dataset) -> None:
    """Lists, ranks, scores and explanations agree, and the same seed gives the same again."""
    model = Counted() if name == "mine" else None
    runs = [cerec.train(world, OWN[name], seed=3, model=model) for _ in range(2)]
    run, user = runs[0], world.users[5]
    listed = run.recommend(user, 10)
    assert listed == runs[1].recommend(user, 10)
    assert [run.rank(user, line.item) for line in listed] == list(range(1, 11))
    known = {world.items[i] for i in run.known.row(5)}
    assert not known & {line.item for line in listed}
    told = run.explain(user, listed[2].item, k=10)
    assert told.rank_before == 3
    if told.rank_after is not None and told.found:
        assert told.rank_after > 10
    own = run.attributes(listed[0].item)
    assert run.what_if(user, listed[0].item, own, k=10).rank_after == 1
    with pytest.raises(CerecError, match="unknown user"):
        run.recommend("nobody at all")
