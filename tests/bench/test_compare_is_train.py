"""The row `cerec` of a comparison is what `cerec train` makes of the same data and settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cerec.data.dataset import TEST, TRAIN, VALID, Dataset, Triples
from cerec.data.split import split
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.runs.run import Run
from cerec.runs.train import train
from cerec.settings.run import RunConfig
from cerec.settings.train import TrainConfig
from cerec.threads import set_threads
from cerec_bench.compare.contenders import contender
from cerec_bench.compare.fit import FitConfig
from cerec_bench.compare.grid import Grid, Plan

SEED = 1
FIT = FitConfig(epochs=8, every=2, patience=2)
TRAINING = TrainConfig(
    epochs=FIT.epochs, validate_every=FIT.every, patience=FIT.patience, agent_epochs=0
)
WORLD = make_world(WorldConfig(users=60, items=80, interactions=1200), seed=3)


@pytest.fixture(scope="module", autouse=True)
def _threads() -> None:
    set_threads()


def with_newcomers(data: Dataset) -> Dataset:
    """The data in parts, with nothing in the train part for every fifth user."""
    pairs = data.interactions
    part = np.random.default_rng(0).choice([TRAIN, VALID, TEST], len(pairs), p=[0.6, 0.2, 0.2])
    part[(pairs.user % 5 == 0) & (part == TRAIN)] = VALID
    return replace(data, interactions=replace(pairs, part=part.astype(np.int8)))


def without_facts(data: Dataset) -> Dataset:
    """No item has an attribute, so that imagined items do nothing."""
    none = np.zeros(0, np.int32)
    return replace(data, triples=Triples(none, none, none))


def compared(data: Dataset, folder: Path, params: dict[str, object]) -> tuple[float, dict, int]:
    plan = Plan(models=("cerec",), seeds=2, ks=(20,), fit=FIT)
    cell = Grid(data, split(data, seed=SEED), plan, folder)._cell("cerec", "seed", params, SEED)
    assert cell.error == ""
    assert cell.valid is not None
    return cell.valid, cell.test, cell.best_epoch


def trained(data: Dataset, config: RunConfig) -> Run:
    return train(data, replace(config, train=TRAINING), seed=SEED)


WORLDS = {
    "plain": WORLD,
    "newcomers": with_newcomers(WORLD),
    "no facts": without_facts(WORLD),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("chooser", ["random", "agent", "verified"])
def test_the_row_is_the_training(name: str, chooser: str, tmp_path: Path) -> None:
    data, config = WORLDS[name], RunConfig()
    params: dict[str, object] = {}
    if chooser != "random":
        reward = "verified" if chooser == "verified" and name != "no facts" else "all"
        params = {"signals.chooser": "agent", "agent.reward": reward, "agent.pairs": 64}
        config = replace(
            config,
            signals=replace(config.signals, chooser="agent"),
            agent=replace(config.agent, reward=reward, pairs=64),
        )
    valid, test, best = compared(data, tmp_path, params)
    run = trained(data, config)
    assert best == run.meta["best_epoch"]
    assert valid == pytest.approx(run.metrics["valid"]["ndcg@20"], rel=1e-12)
    for metric in ("recall@20", "ndcg@20", "hr@20", "mrr@20"):
        assert test[metric] == pytest.approx(run.metrics["test"][metric], rel=1e-12)


def test_cells_of_the_earlier_recipe_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(models=("cerec",), seeds=1, ks=(20,), fit=replace(FIT, epochs=1))
    grid = Grid(WORLD, split(WORLD, seed=SEED), plan, tmp_path)
    (now,) = grid.run()
    earlier = replace(contender("cerec"), recipe=1)
    monkeypatch.setattr("cerec_bench.compare.grid.contender", lambda name: earlier)
    assert grid.run()[0].key != now.key
