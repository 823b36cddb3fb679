"""Systems compared: equal trials, validation decides, test once, a stopped plan continues."""

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
from cerec_bench.cells import Cells, Table
from cerec_bench.plans.contenders import CONTENDERS, Fitted, Task, contender
from cerec_bench.plans.fit import FitConfig
from cerec_bench.plans.systems import Fit, Plan, Systems
from cerec_bench.plans.tuning import SPACES, Setting, plain, read_space, tries

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


def found(fits: list[Fit]) -> list[Table]:
    """What the cells hold, without time and memory."""
    return [fit.cell.found for fit in fits]


def test_every_contender_has_a_search_space() -> None:
    assert {path.stem for path in SPACES.glob("*.toml")} == set(CONTENDERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTENDERS)
def test_every_contender_fits_settings_of_its_space(
    name: str, world: tuple[Dataset, Split], tmp_path: Path
) -> None:
    space = read_space(SPACES, name)
    systems = Systems(*world, plan(models=(name,), trials=1), Cells(tmp_path))
    params = {s.name: s.choices[0] if s.choices else s.low for s in space}
    fit = systems.fit(name, "seed", plain(params), 0)
    assert fit.cell.error == ""
    assert 0 <= fit.valid <= 1
    assert 0 < fit.cell.found["test"]["recall@10"] <= 1
    assert fit.cell.about["seconds"] > 0
    assert fit.cell.about["peak_mb"] > 10


def test_a_changed_default_is_another_cell(
    world: tuple[Dataset, Split], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systems = Systems(*world, plan(models=("bpr",), trials=1, seeds=1), Cells(tmp_path))
    (before,) = systems.run()
    assert systems.run() == [before]
    other = dataclasses.make_dataclass("Other", [("dim", int, dataclasses.field(default=99))])
    for changed in ({"configs": (other,)}, {"fixed": {"dim": 7}}, {"recipe": 99}):
        entry = dataclasses.replace(contender("bpr"), **changed)
        with monkeypatch.context() as patch:
            patch.setattr("cerec_bench.plans.systems.contender", lambda name, e=entry: e)
            if changed != {"fixed": {"dim": 7}}:
                patch.setattr(Systems, "_compute", lambda *a: {"valid": 0.0})
            assert systems.run()[0].cell.path != before.cell.path


def test_fits_of_a_plan(world: tuple[Dataset, Split], tmp_path: Path) -> None:
    told = []
    cells = Cells(tmp_path, on_cell=lambda name, known: told.append((name, known)))
    systems = Systems(*world, plan(), cells)
    fits = systems.run()
    assert systems.size == len(fits) == len(told)
    assert [(f.model, f.kind, f.seed) for f in fits] == [
        ("popularity", "seed", 0),  # nothing to tune, nothing random
        *[("bpr", "trial", 0)] * 3,
        ("bpr", "seed", 0),
        ("bpr", "seed", 1),
    ]
    trials = [f for f in fits if f.kind == "trial"]
    assert trials[0].params == {}
    assert all("test" not in f.cell.found for f in trials)
    best = max(trials, key=lambda f: f.valid)
    assert fits[-1].params == fits[-2].params == best.params
    assert fits[-2].valid == best.valid  # the same fit
    assert Systems(*world, plan(), cells).run() == fits
    assert all(known for _, known in told[len(fits) :])


def test_a_stopped_plan_continues_to_the_same_numbers(
    world: tuple[Dataset, Split], tmp_path: Path
) -> None:
    whole = Systems(*world, plan(), Cells(tmp_path / "whole")).run()
    told: list[bool] = []

    def stop(_: str, known: bool) -> None:
        told.append(known)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Systems(*world, plan(), Cells(tmp_path / "stopped", on_cell=stop)).run()
    resumed = Systems(*world, plan(), Cells(tmp_path / "stopped", on_cell=stop)).run()
    assert told == [False] * 3 + [True] * 3 + [False] * 3
    assert found(whole) == found(resumed)


def test_test_does_not_reach_tuning(world: tuple[Dataset, Split], tmp_path: Path) -> None:
    data, parts = world
    user, item = parts.test.row_of(), parts.test.indices
    shuffled = Ragged.from_pairs(user, (item + 7) % 50, 40)
    other = dataclasses.replace(parts, test=shuffled)
    one = Systems(data, parts, plan(), Cells(tmp_path)).run()
    two = Systems(data, other, plan(), Cells(tmp_path)).run()
    assert [f.valid for f in one] == [f.valid for f in two]
    assert [f.params for f in one] == [f.params for f in two]
    assert one[-1].cell.found["test"] != two[-1].cell.found["test"]


def test_test_figures_mask_train_and_validation(
    world: tuple[Dataset, Split], tmp_path: Path
) -> None:
    data, parts = world
    ((cell),) = (
        f.cell for f in Systems(data, parts, plan(models=("popularity",)), Cells(tmp_path)).run()
    )
    known = parts.known_before("test")
    assert known.size == parts.train.size + parts.valid.size
    lists = lists_of(popularity(parts.train, 50), known, 10)
    values = per_user(lists, parts.test, (5, 10))
    expected = mean(values)
    test = cell.found["test"]
    assert {k: test[k] for k in expected} == pytest.approx(expected)
    for name, column in values.items():
        np.testing.assert_array_equal(cell.arrays[name], column)
    assert 0 < test["coverage@10"] <= 1


def test_more_models_and_seeds_compute_only_what_is_new(
    world: tuple[Dataset, Split], tmp_path: Path
) -> None:
    told: list[bool] = []
    cells = Cells(tmp_path, on_cell=lambda _, known: told.append(known))
    Systems(*world, plan(models=("bpr",), seeds=1, trials=1), cells).run()
    told.clear()
    Systems(*world, plan(models=("popularity", "bpr"), trials=1), cells).run()
    assert told == [False, True, False]


@pytest.mark.parametrize("name", ["bpr", "neumf", "ease", "linear"])
def test_validation_may_ask_some_users(
    name: str, world: tuple[Dataset, Split], tmp_path: Path
) -> None:
    data, parts = world
    systems = Systems(data, parts, plan(models=(name,), valid_users=7), Cells(tmp_path))
    assert len(systems._judges) == 7
    material = Material(parts.train, systems._facts, systems._graph, 0)
    fitted = contender(name).fit(Task({}, material, FIT, systems._validate, data, parts.valid))
    every = fitted.lists(parts.train, 20)
    assert np.array_equal(fitted.lists(parts.train, 20, systems._judges), every[systems._judges])
    values = per_user(every, parts.valid, (20,), ("ndcg",))["ndcg@20"]
    assert systems._validate(fitted.lists) == pytest.approx(values[systems._judges].mean())


def test_test_may_ask_some_users(world: tuple[Dataset, Split], tmp_path: Path) -> None:
    def values(n: int) -> np.ndarray:
        asked = plan(models=("itemknn",), trials=1, test_users=n)
        (fit,) = Systems(*world, asked, Cells(tmp_path)).run()
        column = fit.cell.arrays["recall@10"]
        assert fit.cell.found["test"]["recall@10"] == pytest.approx(column.mean())
        return column

    every, some = values(0), values(7)
    assert (len(every), len(some)) == (40, 7)
    assert set(some) <= set(every)
    assert np.array_equal(values(99), every)


def test_a_refusal_is_kept_and_told(
    world: tuple[Dataset, Split], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(task: Task) -> Fitted:
        raise ConfigError("too many items")

    changed = dataclasses.replace(contender("ease"), fit=refuse)
    monkeypatch.setattr("cerec_bench.plans.systems.contender", lambda name: changed)
    (fit,) = Systems(*world, plan(models=("ease",), trials=1), Cells(tmp_path)).run()
    assert fit.cell.error == "too many items"
    assert fit.valid is None


def test_a_small_catalogue_has_short_lists(world: tuple[Dataset, Split], tmp_path: Path) -> None:
    (fit,) = Systems(*world, plan(models=("popularity",), ks=(20, 80)), Cells(tmp_path)).run()
    assert fit.cell.found["test"]["recall@80"] == pytest.approx(1.0)


def test_plans_are_checked(world: tuple[Dataset, Split], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'kgat'"):
        plan(models=("kgatt",))
    with pytest.raises(ConfigError, match="seeds must be at least 1"):
        plan(seeds=0)
    with pytest.raises(ConfigError, match=r"popularity\.toml: no such file"):
        Systems(*world, plan(search=tmp_path), Cells(tmp_path))
    data, parts = world
    empty = Ragged.from_pairs(np.zeros(0, int), np.zeros(0, int), 40)
    with pytest.raises(ConfigError, match="valid part is empty"):
        Systems(data, dataclasses.replace(parts, valid=empty), plan(), Cells(tmp_path))
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


def test_trials_start_with_the_defaults_and_do_not_depend_on_their_number() -> None:
    space = (
        Setting("x", low=-1.0, high=1.0),
        Setting("rate", low=1e-4, high=1e-1, log=True),
        Setting("n", low=1, high=8, log=True),
        Setting("layers", ((8, 4), (16,))),
    )
    few, many = tries(space, 3, seed=0), tries(space, 200, seed=0)
    assert few == many[:3]
    assert few[0] == {}
    assert tries(space, 3, seed=1) != few
    assert tries(space, 0, seed=0) == []
    drawn = many[1:]
    assert all(-1 <= p["x"] <= 1 and p["layers"] in ([8, 4], [16]) for p in drawn)
    assert {p["n"] for p in drawn} == set(range(1, 9))
    assert 0.35 < np.mean([p["rate"] < 10**-2.5 for p in drawn]) < 0.65
