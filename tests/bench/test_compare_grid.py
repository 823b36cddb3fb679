"""The grid: equal trials, validation decides, test once, and a stopped grid goes on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split, split
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError
from cerec.metrics import mean, per_user
from cerec.recommend.base import Material
from cerec.recommend.context import lists_of
from cerec.recommend.popularity import popularity
from cerec.threads import set_threads
from cerec_bench.compare.contenders import CONTENDERS, Fitted, Task, contender
from cerec_bench.compare.cost import Meter
from cerec_bench.compare.fit import FitConfig
from cerec_bench.compare.grid import Cell, Grid, Plan, read_per_user
from cerec_bench.compare.space import SPACES, Search, Setting, plain, read_space

FIT = FitConfig(epochs=2, every=1, patience=2)


@pytest.fixture(scope="module", autouse=True)
def _threads() -> None:
    set_threads()


@pytest.fixture(scope="module")
def world() -> tuple[Dataset, Split]:
    data = make_world(WorldConfig(users=40, items=50, interactions=600), seed=3)
    return data, split(data, seed=0)


def plan(**changes: object) -> Plan:
    return Plan(
        **{
            "models": ("popularity", "bpr"),
            "seeds": 2,
            "trials": 3,
            "ks": (5, 10),
            "fit": FIT,
            "search": SPACES,
            **changes,
        }
    )


def same(a: Cell, b: Cell) -> bool:
    """Equal but for time and memory."""
    free = {"seconds": 0, "cpu_seconds": 0, "peak_mb": 0}
    return dataclasses.replace(a, **free) == dataclasses.replace(b, **free)


def test_every_contender_has_a_search_space() -> None:
    assert {path.stem for path in SPACES.glob("*.toml")} == set(CONTENDERS)


@pytest.mark.parametrize("name", CONTENDERS)
def test_every_contender_fits_settings_of_its_space(
    name: str, world: tuple[Dataset, Split], tmp_path: Path
) -> None:
    space = read_space(SPACES, name)
    grid = Grid(*world, plan(models=(name,), trials=1), tmp_path)
    params = {s.name: s.choices[0] if s.choices else s.low for s in space}
    cell = grid._cell(name, "seed", plain(params), 0)
    assert cell.error == ""
    assert 0 <= cell.valid <= 1
    assert 0 < cell.test["recall@10"] <= 1
    assert cell.seconds > 0
    assert cell.peak_mb > 10


def test_a_changed_default_is_another_cell(
    world: tuple[Dataset, Split], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = Grid(*world, plan(models=("bpr",), trials=1, seeds=1), tmp_path)
    (before,) = grid.run()
    assert grid.run() == [before]
    other = dataclasses.make_dataclass("Other", [("dim", int, dataclasses.field(default=99))])
    changed = dataclasses.replace(contender("bpr"), configs=(other,))
    monkeypatch.setattr("cerec_bench.compare.grid.contender", lambda name: changed)
    assert grid.run()[0].key != before.key
    fixed = dataclasses.replace(contender("bpr"), fixed={"dim": 7})
    monkeypatch.setattr("cerec_bench.compare.grid.contender", lambda name: fixed)
    assert grid.run()[0].key != before.key


def test_cells_of_a_grid(world: tuple[Dataset, Split], tmp_path: Path) -> None:
    told = []
    grid = Grid(*world, plan(), tmp_path, lambda cell, known: told.append((cell, known)))
    cells = grid.run()
    assert grid.size == len(cells) == len(told)
    assert [(c.model, c.kind, c.seed) for c in cells] == [
        ("popularity", "seed", 0),  # nothing to tune, nothing random
        *[("bpr", "trial", 0)] * 3,
        ("bpr", "seed", 0),
        ("bpr", "seed", 1),
    ]
    trials = [c for c in cells if c.kind == "trial"]
    assert trials[0].params == {}
    assert all(c.test == {} for c in trials)
    best = max(trials, key=lambda c: c.valid)
    assert cells[-1].params == cells[-2].params == best.params
    assert cells[-2].valid == best.valid  # the same fit, told apart only by what is measured
    again = Grid(*world, plan(), tmp_path, lambda cell, known: told.append((cell, known))).run()
    assert again == cells
    assert all(known for _, known in told[len(cells) :])


def test_a_stopped_grid_goes_on_to_the_same_numbers(
    world: tuple[Dataset, Split], tmp_path: Path
) -> None:
    whole = Grid(*world, plan(), tmp_path / "whole").run()
    count = 0

    def stop(cell: Cell, known: bool) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Grid(*world, plan(), tmp_path / "stopped", stop).run()
    known_before = []
    resumed = Grid(
        *world, plan(), tmp_path / "stopped", lambda cell, known: known_before.append(known)
    ).run()
    assert known_before == [True] * 3 + [False] * 3
    assert all(map(same, whole, resumed))


def test_test_does_not_reach_tuning(world: tuple[Dataset, Split], tmp_path: Path) -> None:
    data, parts = world
    user, item = parts.test.row_of(), parts.test.indices
    shuffled = Ragged.from_pairs(user, (item + 7) % 50, 40)
    other = dataclasses.replace(parts, test=shuffled)
    one = Grid(data, parts, plan(), tmp_path / "one").run()
    two = Grid(data, other, plan(), tmp_path / "two").run()
    assert [c.valid for c in one] == [c.valid for c in two]
    assert [c.params for c in one] == [c.params for c in two]
    assert one[-1].test != two[-1].test


def test_test_figures_mask_train_and_validation(
    world: tuple[Dataset, Split], tmp_path: Path
) -> None:
    data, parts = world
    grid = Grid(data, parts, plan(models=("popularity",)), tmp_path)
    (cell,) = grid.run()
    known = parts.known_before("test")
    assert known.size == parts.train.size + parts.valid.size
    lists = lists_of(popularity(parts.train, 50), known, 10)
    values = per_user(lists, parts.test, (5, 10))
    expected = mean(values)
    assert {k: cell.test[k] for k in expected} == pytest.approx(expected)
    stored = read_per_user(grid.per_user_path(cell.key))
    for name, column in values.items():
        np.testing.assert_array_equal(stored[name], column)
    assert 0 < cell.test["coverage@10"] <= 1


def test_more_models_and_seeds_compute_only_what_is_new(
    world: tuple[Dataset, Split], tmp_path: Path
) -> None:
    Grid(*world, plan(models=("bpr",), seeds=1, trials=1), tmp_path).run()
    told = []
    Grid(
        *world,
        plan(models=("popularity", "bpr"), trials=1),
        tmp_path,
        lambda cell, known: told.append(known),
    ).run()
    assert told == [False, True, False]


@pytest.mark.parametrize("name", ["bpr", "neumf", "ease", "linear"])
def test_validation_may_ask_some_users(
    name: str, world: tuple[Dataset, Split], tmp_path: Path
) -> None:
    data, parts = world
    grid = Grid(data, parts, plan(models=(name,), valid_users=7), tmp_path)
    assert len(grid._judges) == 7
    material = Material(parts.train, grid._facts, grid._graph, 0)
    fitted = contender(name).fit(Task({}, material, FIT, grid._validate, data, parts.valid))
    every = fitted.lists(parts.train, 20)
    assert np.array_equal(fitted.lists(parts.train, 20, grid._judges), every[grid._judges])
    values = per_user(every, parts.valid, (20,), ("ndcg",))["ndcg@20"]
    assert grid._validate(fitted.lists) == pytest.approx(values[grid._judges].mean())


def test_a_refusal_is_kept_and_told(
    world: tuple[Dataset, Split], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(task: Task) -> Fitted:
        raise ConfigError("too many items")

    changed = dataclasses.replace(contender("ease"), fit=refuse)
    monkeypatch.setattr("cerec_bench.compare.grid.contender", lambda name: changed)
    (cell,) = Grid(*world, plan(models=("ease",), trials=1), tmp_path).run()
    assert cell.error == "too many items"
    assert cell.valid is None


def test_a_small_catalogue_has_short_lists(world: tuple[Dataset, Split], tmp_path: Path) -> None:
    (cell,) = Grid(*world, plan(models=("popularity",), ks=(20, 80)), tmp_path).run()
    assert cell.test["recall@80"] == pytest.approx(1.0)


def test_plans_are_checked(world: tuple[Dataset, Split], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'kgat'"):
        plan(models=("kgatt",))
    with pytest.raises(ConfigError, match="seeds must be at least 1"):
        plan(seeds=0)
    with pytest.raises(ConfigError, match=r"popularity\.toml: no such file"):
        Grid(*world, plan(search=tmp_path), tmp_path)
    data, parts = world
    empty = Ragged.from_pairs(np.zeros(0, int), np.zeros(0, int), 40)
    with pytest.raises(ConfigError, match="valid part is empty"):
        Grid(data, dataclasses.replace(parts, valid=empty), plan(), tmp_path)
    material = Material(parts.train, Facts.build(data), Ckg.build(data, parts.train), 0)
    with pytest.raises(ConfigError, match="unknown setting 'dimm'"):
        contender("bpr").fit(Task({"dimm": 3}, material, FIT, lambda lists: 0.0, data, parts.valid))


@pytest.mark.parametrize(
    "text",
    [
        "[dim]\nlow = 3\nhigh = 2",
        "[dim]\nlow = 0.0\nhigh = 2.0\nlog = true",
        "[dim]\nchoices = []",
        "[dim]\nchoice = [1]",
        "dim = 3",
        "[dim",
    ],
)
def test_wrong_search_spaces_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "bpr.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"bpr\.toml"):
        read_space(tmp_path, "bpr")


def test_the_search_finds_what_is_good_and_repeats_itself() -> None:
    space = (
        Setting("x", low=-1.0, high=1.0),
        Setting("n", low=1, high=8, log=True),
        Setting("layers", ((8, 4), (16,))),
    )
    runs = []
    for _ in range(2):
        search, tried = Search(space, seed=0), []
        for _ in range(25):
            trial, params = search.ask()
            score = None if params["x"] > 0.9 else -((params["x"] - 0.3) ** 2)
            search.tell(trial, score)
            tried.append(params)
        runs.append(tried)
    assert runs[0] == runs[1]
    assert all(isinstance(p["n"], int) and p["layers"] in ((8, 4), (16,)) for p in runs[0])
    assert min(abs(p["x"] - 0.3) for p in runs[0]) < 0.1
    assert plain(runs[0][0])["layers"] in ([8, 4], [16])


def test_the_meter_sees_memory_and_time() -> None:
    with Meter() as small:
        pass
    with Meter() as large:
        np.ones(40 << 20, np.uint8).sum()
    assert large.seconds > 0
    assert large.peak_mb >= small.peak_mb
