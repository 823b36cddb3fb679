"""Compared systems as runs: train, save, open, recommend, explain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError
from cerec.runs.run import open_run
from cerec.runs.train import train
from cerec.settings.base import parse
from cerec.settings.run import RunConfig, to_toml
from cerec.threads import set_threads
from cerec_bench.systems.registry import SYSTEMS

SMALL = {
    "neumf": {"dim": 4, "layers": [8, 4]},
    "kgat": {"dim": 8, "layers": [4], "pretrain": 2},
    "kgpolicy": {"dim": 8, "hidden": 4, "pretrain": 2},
    "kgqr": {"dim": 8, "hidden": 8, "episodes": 16, "updates": 3, "length": 3, "pretrain": 1},
    "mcrec": {"dim": 4, "node_dim": 8, "filters": 4, "pretrain": 2, "candidates": 30},
    "neuacf": {"dim": 4, "hidden": 8, "relations": 2},
    "cadsi": {"dim": 8, "walks": 2, "hops": 1, "sampled": 8},
}


def test_all_systems_can_be_runs() -> None:
    assert set(SMALL) == set(SYSTEMS)
    for name, entry in SYSTEMS.items():
        got = parse(RunConfig, {"model": {"name": name}})
        assert got.system == (name, entry.config())
        assert RunConfig().system is None


LONG = {"kgpolicy", "kgqr", "mcrec", "neuacf"}  # whose kernels take seconds to compile


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in SMALL]
)
def test_a_run_of_a_compared_system(name: str, tmp_path: Path) -> None:
    set_threads()
    data = make_world(WorldConfig(users=40, items=60, interactions=700), seed=3)
    config = parse(
        RunConfig,
        {
            "model": {"name": name, **SMALL[name]},
            "train": {"epochs": 2, "validate_every": 1, "agent_epochs": 1},
        },
    ).resolved()
    run = train(data, config, out=tmp_path / "run")
    again = open_run(tmp_path / "run")
    assert again.config == config
    assert to_toml(again.config) == to_toml(config)
    user = data.users[0]
    listed = run.recommend(user, 5)
    assert listed == again.recommend(user, 5)
    assert 0 <= run.metrics["test"]["recall@20"] <= 1
    assert run.model.fidelity is not None  # effects were fitted to its scores
    told = again.explain(user, listed[0].item, k=5)
    assert told.status in ("canonical", "fitted", "not_found")  # no system is asked by its values
    assert np.isfinite(told.score_before)


def test_a_run_has_one_model() -> None:
    with pytest.raises(ConfigError, match="unknown key 'dim'"):
        RunConfig.of({"model": {"dim": 8}})
    with pytest.raises(ConfigError, match="unknown model 'kgatt'; did you mean 'kgat'"):
        RunConfig.of({"model": {"name": "kgatt"}})
    with pytest.raises(ConfigError, match=r"'layer' in \[model\]; did you mean 'layers'"):
        RunConfig.of({"model": {"name": "kgat", "layer": [3]}})


def test_a_mistake_in_the_table_of_a_model_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('[model]\nname = "kgat"\nlayer = [8]\n')
    with pytest.raises(ConfigError, match=r"run.toml, line 3: unknown key 'layer' in \[model\]"):
        RunConfig.of(file=tmp_path / "run.toml")


def test_a_model_is_named_on_the_command_line(tmp_path: Path) -> None:
    assert RunConfig.of({"model": {"dim": 8}}, model="kgat").system[1].dim == 8
    ours = RunConfig.of(model="lightgcn")
    assert (ours.model["name"], ours.recommender.model) == ("cotrained", "lightgcn")
    assert RunConfig.of(model="linear").linear is not None
    with pytest.raises(ConfigError, match="unknown model 'nobody'"):
        RunConfig.of(model="nobody")
    (tmp_path / "run.toml").write_text('[model]\nname = "kgat"\ndim = 8\n')
    assert RunConfig.of(file=tmp_path / "run.toml", model="kgat").system[1].dim == 8
    assert RunConfig.of(file=tmp_path / "run.toml", model="bpr").recommender.model == "bpr"
