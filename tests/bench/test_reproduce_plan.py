"""Experiments as files: what is asked for, what is refused, what is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cerec.errors import ConfigError
from cerec_bench.reproduce.plan import EXPERIMENTS, names, read_experiment, slug
from cerec_bench.reproduce.runner import KINDS
from cerec_bench.reproduce.store import (
    Result,
    read_result,
    read_results,
    run_table,
    write_result,
)

SETS = """
[tiny]
world = { users = 20, items = 30, interactions = 300 }
settings = { "recommender.dim" = 8 }
"""
EXPERIMENT = """
title = "Two parts"
[[part]]
kind = "recommender"
sets = ["tiny"]
seeds = 2
settings = { "recommender.dim" = 4, "train.epochs" = 3 }
[part.variants.deep]
"agent.depth" = 2
[part.variants.flat]
[[part]]
name = "table"
kind = "data"
sets = ["tiny"]
[quick]
seeds = 1
settings = { "train.epochs" = 1 }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sets.toml").write_text(SETS)
    (tmp_path / "two.toml").write_text(EXPERIMENT)
    return tmp_path


def test_cells_cross_sets_variants_and_seeds_first_seed_first(folder: Path) -> None:
    cells = read_experiment("two", folder).cells()
    assert [(c.part, c.variant, c.seed) for c in cells] == [
        ("recommender", "deep", 0),
        ("recommender", "flat", 0),
        ("table", "", 0),
        ("recommender", "deep", 1),
        ("recommender", "flat", 1),
    ]
    assert [c.file for c in cells[:3]] == [
        "recommender/tiny/deep.0.json",
        "recommender/tiny/flat.0.json",
        "table/tiny/table.0.json",
    ]


def test_settings_are_laid_over_each_other(folder: Path) -> None:
    first = read_experiment("two", folder).cells()[0]
    assert (first.config.recommender.dim, first.config.train.epochs) == (4, 3)
    assert first.config.agent.depth == 2
    quick = read_experiment("two", folder, quick=True).cells()
    assert [c.seed for c in quick] == [0, 0, 0]
    assert quick[0].config.train.epochs == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "data"', 'kin = "data"', "unknown key 'kin'"),
        ('sets = ["tiny"]\nseeds', 'sets = ["huge"]\nseeds', "unknown set 'huge'"),
        ('"agent.depth" = 2', '"agent.depht" = 2', "did you mean 'depth'"),
        ('"agent.depth" = 2', '"agent.depth" = 9', "between 1 and 5"),
        ('"agent.depth" = 2', '"depth" = 2', "section.key"),
        ("title", "titel", "unknown key 'titel'"),
    ],
)
def test_a_mistake_is_told_before_anything_runs(
    folder: Path, old: str, new: str, said: str
) -> None:
    (folder / "two.toml").write_text(EXPERIMENT.replace(old, new, 1))
    with pytest.raises(ConfigError, match=said):
        read_experiment("two", folder)


def test_unknown_experiments_and_empty_folders_are_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'two'"):
        read_experiment("tow", folder)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ConfigError, match="holds no experiments"):
        names(tmp_path / "nothing")


def test_results_of_other_settings_are_missing(folder: Path, tmp_path: Path) -> None:
    plan = read_experiment("two", folder)
    cell = plan.cells()[0]
    assert read_result(tmp_path, plan, cell) is None
    write_result(tmp_path, plan, Result(cell, {"x": 1}, {"seed": 0}))
    kept = read_result(tmp_path, plan, cell)
    assert kept is not None
    assert kept.found == {"x": 1}
    results = read_results(tmp_path, plan)
    assert (len(results.done), len(results.missing)) == (1, 4)
    (folder / "two.toml").write_text(EXPERIMENT.replace('"agent.depth" = 2', '"agent.depth" = 3'))
    changed = read_experiment("two", folder)
    assert len(read_results(tmp_path, changed).done) == 0


def test_a_default_that_is_written_out_later_leaves_results_as_they_are(
    folder: Path, tmp_path: Path
) -> None:
    plan = read_experiment("two", folder)
    cell = plan.cells()[0]
    write_result(tmp_path, plan, Result(cell, {}, {"run": run_table(cell)}))
    patience = cell.config.train.patience
    same = replace(cell, settings={**cell.settings, "train.patience": patience})
    assert read_result(tmp_path, plan, same) is not None
    other = replace(cell, settings={**cell.settings, "train.patience": patience + 1})
    assert read_result(tmp_path, plan, other) is None
    rated = replace(cell, settings={**cell.settings, "filters.min_rating": 4.0})
    write_result(tmp_path, plan, Result(rated, {}, {}))  # nobody knows what it was made with
    assert read_result(tmp_path, plan, cell) is None


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", names())
def test_every_experiment_of_the_package_reads(name: str, quick: bool) -> None:
    plan = read_experiment(name, quick=quick)
    cells = plan.cells()
    assert len({c.file for c in cells}) == len(cells)
    assert {c.kind for c in cells} <= set(KINDS)
    if quick:  # generated worlds alone
        assert all(plan.sets[c.set].world is not None for c in cells)


def test_the_experiments_are_where_people_look_for_them() -> None:
    there = Path(__file__).parents[2] / "experiments" / "paper"
    assert there.resolve() == EXPERIMENTS.resolve()


def test_slug() -> None:
    assert slug("half literal, T = 2") == "half-literal-t-2"
