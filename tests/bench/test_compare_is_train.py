"""Rows of a comparison are what `cerec train` makes of the same data and settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cerec.data.dataset import TEST, TRAIN, VALID, Dataset, Triples
from cerec.data.split import split
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.recommend.base import Material
from cerec.runs.evaluate import subject_lists
from cerec.runs.train import train
from cerec.settings.data import FilterConfig, SplitConfig
from cerec.settings.run import RunConfig
from cerec.threads import set_threads
from cerec_bench.cells import Cells, Table
from cerec_bench.plans.contenders import Task, contender
from cerec_bench.plans.fit import FitConfig
from cerec_bench.plans.systems import Plan, Systems

SEED = 1
FIT = FitConfig(epochs=8, every=2, patience=2)
SHORT = {
    "epochs": FIT.epochs,
    "validate_every": FIT.every,
    "patience": FIT.patience,
    "agent_epochs": 0,
}
WORLD = make_world(WorldConfig(users=60, items=80, interactions=1200), seed=3)
METRICS = ("recall@20", "ndcg@20", "hr@20", "mrr@20")


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
    """No item has an attribute."""
    none = np.zeros(0, np.int32)
    return replace(data, triples=Triples(none, none, none))


def compared(name: str, data: Dataset, folder: Path, params: dict[str, object]) -> Table:
    plan = Plan(models=(name,), seeds=2, ks=(20,), fit=FIT)
    systems = Systems(data, split(data, seed=SEED), plan, Cells(folder))
    cell = systems.fit(name, "seed", params, SEED).cell
    assert cell.error == ""
    return cell.found


WORLDS = {
    "plain": WORLD,
    "newcomers": with_newcomers(WORLD),
    "no facts": without_facts(WORLD),
}


@pytest.mark.parametrize("name", WORLDS)
def test_linear_is_the_default_with_holdout(name: str, tmp_path: Path) -> None:
    data = WORLDS[name]
    config = RunConfig(model={"name": "linear", "holdout": True})
    run = train(data, config, seed=SEED)
    cell = compared("linear", data, tmp_path, {})
    assert cell["valid"] == pytest.approx(run.metrics["valid"]["ndcg@20"], rel=1e-12)
    for metric in METRICS:
        assert cell["test"][metric] == pytest.approx(run.metrics["test"][metric], rel=1e-12)


def test_lists_of_linear_are_those_of_the_run() -> None:
    parts = split(WORLD, seed=SEED)
    run = train(WORLD, RunConfig(model={"name": "linear", "holdout": True}), seed=SEED)
    material = Material(parts.train, run.facts, run.ckg, SEED)
    task = Task({}, material, FIT, lambda lists: 0.0, WORLD, parts.valid)
    lists = contender("linear").fit(task).lists
    known = parts.known_before("test")
    want = subject_lists(run.subject, known, 20)
    np.testing.assert_array_equal(lists(known, 20), want)
    some = np.array([7, 3, 50])
    np.testing.assert_array_equal(lists(known, 20, some), want[some])
    first = [line.item for line in run.recommend(WORLD.users[4], 20)]
    assert [WORLD.items[i] for i in lists(parts.train, 20)[4]] == first


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("chooser", ["random", "agent"])
def test_the_paper_s_row_is_its_training(name: str, chooser: str, tmp_path: Path) -> None:
    data, config = WORLDS[name], RunConfig.of(preset="paper")
    params: dict[str, object] = {"signals.chooser": chooser, "agent.pairs": 64}
    config = replace(
        config,
        signals=replace(config.signals, chooser=chooser),
        agent=replace(config.agent, pairs=64),
        train=replace(config.train, **SHORT),
        filters=FilterConfig(),
        split=SplitConfig(),
    )
    cell = compared("cerec-paper", data, tmp_path, params)
    run = train(data, config, seed=SEED)
    assert cell["best_epoch"] == run.meta["best_epoch"]
    assert cell["valid"] == pytest.approx(run.metrics["valid"]["ndcg@20"], rel=1e-12)
    for metric in METRICS:
        assert cell["test"][metric] == pytest.approx(run.metrics["test"][metric], rel=1e-12)
