"""The experiment on a small world: runs, goes on where it stopped, writes its page."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import split
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.recommend.models import build
from cerec.recommend.negatives import DNS, Uniform
from cerec.recommend.swaps import RandomSwaps
from cerec.rng import generator
from cerec.settings.data import FilterConfig, SplitConfig
from cerec.settings.recommender import RecommenderConfig
from cerec_bench.compare.fit import FitConfig
from cerec_bench.statistics import compare

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "experiments"))
import helps
import helps_compare
import helps_models
import helps_rows
import helps_table
import helps_users


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> helps.World:
    data = make_world(WorldConfig(users=40, items=50, interactions=800), seed=1)
    parts = split(data, SplitConfig(), seed=0)
    both = Ragged.from_pairs(
        np.concatenate([parts.train.row_of(), parts.valid.row_of()]),
        np.concatenate([parts.train.indices, parts.valid.indices]),
        40,
    )
    settings = helps_rows.Set(
        FilterConfig(),
        ((0.05, 0.01), (0.05, 0.05)),
        256,
        FitConfig(epochs=2, every=2),
        FitConfig(epochs=4, every=2),
    )
    monkeypatch.setitem(helps.SETS, "small", settings)
    monkeypatch.setattr(helps, "RESULTS", tmp_path / "helps")
    return helps.World("small", data, parts, both, Facts.build(data))


def test_cells_are_tuned_run_kept_and_tabled(world: helps.World, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    methods = {
        "plain": helps_rows.Method("attributes", Uniform()),
        "ours": helps_rows.Method("attributes", DNS(2), swaps=RandomSwaps()),
    }
    for name, method in methods.items():
        helps.run_cell(world, name, method, 2, cache, float("inf"))
    helps.run_line(world, "popularity")
    path = tmp_path / "helps" / "small" / "ours.json"
    cell = json.loads(path.read_text())
    assert [t["l2"] for t in cell["trials"]][:2] == [0.01, 0.05]
    assert helps.next_trial(helps.SETS["small"], cell["trials"]) is None
    assert [r["seed"] for r in cell["runs"]] == [0, 1]
    best = max(cell["trials"], key=lambda t: t["validation"])
    assert {r["l2"] for r in cell["runs"]} == {best["l2"]}
    assert {r["patience"] for r in cell["runs"]} == {10}

    before = path.read_bytes()
    helps.run_cell(world, "ours", methods["ours"], 2, cache, float("inf"))  # nothing left to do
    assert path.read_bytes() == before

    order = ["popularity", *methods]
    helps_table.write(tmp_path / "helps", "ours", order, "# T\n<!-- answers -->")
    page = (tmp_path / "helps.md").read_text()
    assert page.startswith("# T\n| recall@20 | the default |")
    assert re.search(r"\n\| small \| 0\.\d{4} ± 0\.\d{4} \(2 cut\) \|", page)
    body = page.split("## small")[1]
    rows = [line.split("|")[1].strip() for line in body.splitlines() if line.startswith("| ")]
    assert rows == ["learns from", "popularity", "plain", "**ours**"]
    found = json.loads((tmp_path / "helps" / "small" / "comparisons.json").read_text())
    assert set(found["recall@20"]) == {"plain", "popularity"}
    assert found["recall@20"]["plain"]["seeds"] == 2

    users = tmp_path / "helps" / "small" / "users" / "plain.parquet"
    users.unlink()  # what was compared stands, and what is learned again is the same
    helps_table.write(tmp_path / "helps", "ours", order, "# T\n<!-- answers -->")
    kept = tmp_path / "helps" / "small" / "comparisons.json"
    assert json.loads(kept.read_text()) == found
    was = (tmp_path / "helps" / "small" / "plain.json").read_text()
    helps.run_cell(world, "plain", methods["plain"], 2, cache, float("inf"), again=True)
    now = (tmp_path / "helps" / "small" / "plain.json").read_text()
    assert users.exists()
    assert [without_seconds(run) for run in json.loads(now)["runs"]] == [
        without_seconds(run) for run in json.loads(was)["runs"]
    ]
    helps_table.write(tmp_path / "helps", "ours", order, "# T\n<!-- answers -->")
    assert json.loads(kept.read_text()) == found


def without_seconds(run: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in run.items() if name != "cpu_seconds"}


def test_rational_negatives_are_the_best_scored_at_or_below_the_last_of_the_list(
    world: helps.World,
) -> None:
    train, facts = world.parts.train, world.facts
    model = build(RecommenderConfig(dim=8), train, facts, seed=0)
    context = model.context(20)
    user, item = train.row_of(), train.indices
    drawn = helps_rows.Rational(candidates=30).draw(user, item, context, generator(0, "x"))
    score = context.user @ context.item.T
    above = 0
    for u, j in zip(user, drawn, strict=True):
        assert j not in train.row(u)
        above += score[u, j] > score[u, context.lists[u, 19]]
    assert above == 0
    # of thirty draws the best of the unlisted items is often there
    best = [
        max(
            score[u, n]
            for n in range(50)
            if n not in train.row(u) and score[u, n] <= score[u, context.lists[u, 19]]
        )
        for u in user
    ]
    assert np.mean(np.isclose(score[user, drawn], best)) > 0.4
    plain = DNS(30).draw(user, item, context, generator(0, "x"))
    assert np.mean(score[user, plain] > score[user, context.lists[user, 19]]) > 0.9


def test_trials_go_on_beyond_the_grid_until_the_best_l2_lies_inside() -> None:
    grid = ((0.1, 0.02), (0.1, 0.04), (0.2, 0.04))
    settings = helps_rows.Set(FilterConfig(), grid, 256, FitConfig(), FitConfig())

    def tuned(best: float) -> list[tuple[float, float]]:
        """The settings tried where validation is the better, the nearer l2 is to `best`."""
        done: list[dict[str, float]] = []
        while (trial := helps.next_trial(settings, done)) is not None:
            rate, l2 = trial
            score = -abs(np.log(l2 / best)) - 10 * (rate > 0.1)
            done.append({"learning_rate": rate, "l2": l2, "validation": score})
        return [(d["learning_rate"], d["l2"]) for d in done]

    assert tuned(0.04) == [*grid, (0.1, 0.08)]
    assert tuned(0.02) == [*grid, (0.1, 0.01)]
    assert tuned(0.01) == [*grid, (0.1, 0.01), (0.1, 0.005)]
    assert tuned(1e-9) == [*grid, (0.1, 0.01), (0.1, 0.005), (0.1, 0.0025)]  # no more than three


def test_models_of_another_setting_are_learned_anew_and_not_compared_by_what_was_kept(
    world: helps.World, tmp_path: Path
) -> None:
    plain = helps_rows.Method("attributes", Uniform())
    ours = helps_rows.Method("attributes", DNS(2))
    for name, method in (("plain", plain), ("ours", ours)):
        helps.run_cell(world, name, method, 1, tmp_path, float("inf"))
    helps_table.write(tmp_path / "helps", "ours", ["plain", "ours"], "# T\n")
    folder = tmp_path / "helps" / "small"
    assert "plain" in json.loads((folder / "comparisons.json").read_text())["recall@20"]

    path = folder / "ours.json"
    cell = json.loads(path.read_text())
    worse = min(cell["trials"], key=lambda t: t["validation"])
    worse["validation"] = 2.0  # now it is the best
    path.write_text(json.dumps(cell))
    helps.run_cell(world, "ours", ours, 1, tmp_path, float("inf"))
    now = json.loads(path.read_text())
    assert {run["l2"] for run in now["runs"]} == {helps.setting_of(path)["l2"]}
    (folder / "users" / "plain.parquet").unlink()
    helps_table.write(tmp_path / "helps", "ours", ["plain", "ours"], "# T\n")
    row = json.loads((folder / "comparisons.json").read_text())["recall@20"]["plain"]
    models = [json.loads((folder / f"{n}.json").read_text())["runs"] for n in ("ours", "plain")]
    gap = models[0][0]["recall@20"] - models[1][0]["recall@20"]
    assert row == {"difference": gap, "p": None, "seeds": 1, "p_seeds": None}


def test_trials_see_validation_and_test_is_measured_once_with_both_masked(
    world: helps.World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = world.parts
    liked = np.zeros((40, 50), np.float32)  # a perfect memory of one part, by the users' rows
    for part in (parts.train, parts.valid, parts.test):
        liked[:] = 0
        liked[part.row_of(), part.indices] = 1
        found = helps_models.validation(world, (liked, np.eye(50, dtype=np.float32)))
        assert (found > 1.9) == (part is parts.valid)

    class Memory:
        """Likes train most, then validation, then test."""

        def factors(self) -> tuple[np.ndarray, np.ndarray]:
            liked[:] = 0
            for weight, part in ((1, parts.test), (2, parts.valid), (3, parts.train)):
                liked[part.row_of(), part.indices] = weight
            return liked, np.eye(50, dtype=np.float32)

    row = {"learning_rate": 0.05, "l2": 0.01, "validation": 0.0, "epoch": 1, "patience": 10}
    monkeypatch.setattr(helps, "learn", lambda *_: (Memory(), {**row, "seed": 0}))
    settings = replace(helps.SETS["small"], trials=((0.05, 0.01),), beyond=0)
    monkeypatch.setitem(helps.SETS, "small", settings)
    plain = helps_rows.Method("id", Uniform())
    helps.run_cell(world, "plain", plain, 1, tmp_path, float("inf"))
    cell = json.loads((tmp_path / "helps" / "small" / "plain.json").read_text())
    assert cell["runs"][0]["recall@20"] == cell["runs"][0]["ndcg@20"] == 1.0


def test_one_model_of_another_setting_has_all_of_a_row_learned_anew(
    world: helps.World, tmp_path: Path
) -> None:
    plain = helps_rows.Method("attributes", Uniform())
    helps.run_cell(world, "plain", plain, 2, tmp_path, float("inf"))
    path = tmp_path / "helps" / "small" / "plain.json"
    cell = json.loads(path.read_text())
    right = cell["runs"][0]["l2"]
    cell["runs"][0]["l2"] = 7.0
    path.write_text(json.dumps(cell))
    helps.run_cell(world, "plain", plain, 2, tmp_path, 0.0)  # no time: nothing is dropped
    assert (path.parent / "users" / "plain.parquet").exists()
    helps.run_cell(world, "plain", plain, 2, tmp_path, float("inf"))
    found = json.loads(path.read_text())["runs"]
    assert [(run["seed"], run["l2"]) for run in found] == [(0, right), (1, right)]


def test_only_models_whose_epochs_were_used_up_learn_again_when_more_are_allowed(
    world: helps.World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = helps_rows.Method("attributes", Uniform())
    path = tmp_path / "helps" / "small" / "plain.json"
    helps.run_cell(world, "plain", plain, 2, tmp_path, float("inf"))
    cell = json.loads(path.read_text())
    assert [run["allowed"] for run in cell["runs"]] == [4, 4]
    cell["runs"][0] |= {"epoch": 40, "allowed": 50, "mark": 1}  # its wait of 10 was over
    cell["runs"][1] |= {"epoch": 42, "allowed": 50, "mark": 1}
    path.write_text(json.dumps(cell))
    assert helps_compare.span(cell) == (10, 50)
    assert helps_compare.span({"runs": cell["runs"][:1]}) == (10, 0)
    assert "| 41 (1 cut) |" in helps_table.table([cell], {}, [])[-1]

    for epochs, learned in ((50, []), (60, [1])):
        settings = replace(helps.SETS["small"], fit=FitConfig(epochs=epochs, every=2))
        monkeypatch.setitem(helps.SETS, "small", settings)
        helps.run_cell(world, "plain", plain, 2, tmp_path, float("inf"))
        runs = json.loads(path.read_text())["runs"]
        assert [run["seed"] for run in runs if "mark" not in run] == learned
    assert runs[1]["allowed"] == 60


def test_past_the_deadline_nothing_starts(world: helps.World, tmp_path: Path) -> None:
    helps.run_cell(world, "plain", helps_rows.Method("id", Uniform()), 1, tmp_path, 0.0)
    assert not (tmp_path / "helps").exists()


def test_p_of_a_single_model_stands_in_brackets() -> None:
    assert helps_table.shown({"p": None, "seeds": 5}) == ""
    assert helps_table.shown({"p_holm": 0.02, "seeds": 5, "tested": 5}) == "0.020"
    assert helps_table.shown({"p_holm": 2e-9, "seeds": 1, "tested": 1}) == "(2.0e-09)"
    assert helps_table.shown({"p_holm": 2e-9, "seeds": 5, "tested": 1}) == "(2.0e-09)"
    assert helps_table.shown({"p_holm": 0.0, "seeds": 5, "tested": 3}) == "< 1e-99 (3 seeds)"


def test_users_are_compared_over_the_seeds_that_both_rows_have_them_of(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ours, other = ({seed: rng.random(30) for seed in range(3)} for _ in range(2))
    del other[1]
    for name, values in (("ours", ours), ("other", other)):
        for seed, users in values.items():
            helps_users.keep(tmp_path, name, seed, dict.fromkeys(helps_models.METRICS, users))
    cells = [
        {"slug": name, "name": name, "method": {"vectors": "id"}, "runs": [
            dict.fromkeys(helps_models.METRICS, float(n)) for n in range(3)
        ]}
        for name in ("ours", "other")
    ]  # fmt: skip
    row = helps_compare.comparisons(tmp_path, cells, cells[0], {})["recall@20"]["other"]
    gap = compare(np.mean([ours[0], ours[2]], axis=0), np.mean([other[0], other[2]], axis=0))
    assert (row["tested"], row["seeds"], row["difference"]) == (2, 3, 0.0)  # this one of all models
    assert row["gap"] == pytest.approx(gap.difference)
    assert row["p"] == pytest.approx(gap.p)


def test_p_over_seeds() -> None:
    ours, others = [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]
    # Welch: means 2 and 4, variances 1 and 4; t = -2 / sqrt(5 / 3), 2.94 degrees of freedom
    assert helps_compare.over_seeds(ours, others, line=False) == pytest.approx(0.2208, abs=1e-3)
    # against a line of 3: t = -1 / sqrt(1 / 3), two degrees of freedom
    assert helps_compare.over_seeds(ours, [3.0], line=True) == pytest.approx(0.2254, abs=1e-3)
    assert helps_compare.over_seeds(ours, [3.0], line=False) is None
    assert helps_compare.over_seeds([1.0], others, line=False) is None
    assert helps_table.p_text(None) == ""


def test_walks_stand_side_by_side_by_their_length() -> None:
    one = helps_rows.ONE_STEP
    models = {
        one: [0.1, 0.3],
        f"{one}, T = 3": [0.25],
        helps_rows.LITERAL_ROW: [0.5],
        "attributes / walk, T = 5": [0.75],
        "attributes / learned walk (the paper's form)": [0.5],  # of one length: no line
    }
    cells = [
        {"name": name, "runs": [{"recall@20": value} for value in values]}
        for name, values in models.items()
    ]
    assert helps_table.lengths("small", cells) == [
        "| small | imagined, uniform walk | 0.2000 ± 0.1414 |  | 0.2500 |  |  |",
        "| small | as negatives, uniform walk | 0.5000 |  |  |  | 0.7500 |",
    ]
    assert helps_table.gain("small", cells) is None  # nothing to be ahead of
    cells.append({"name": "attributes / DNS 4", "runs": [{"recall@20": 0.1}]})
    gain = helps_table.gain("small", cells)
    assert gain is not None
    assert (gain.label, gain.x) == ("small", [1, 3])
    assert gain.y == pytest.approx([0.1, 0.15])
    assert gain.low == pytest.approx([-0.0414, 0.15], abs=1e-4)
    assert gain.high == pytest.approx([0.2414, 0.15], abs=1e-4)
