"""Experiments on worlds of a few users: they run, continue, and say what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cerec.cli.main import main
from cerec.errors import ConfigError
from cerec_bench.plans.experiment import Job, read, run
from cerec_bench.plans.files import names, read_experiment, slug
from cerec_bench.plans.page import at, shown, write_page
from cerec_bench.report.charts import has_matplotlib

TINY = """
[tiny]
title = "a tiny world"
world = { users = 30, items = 40, interactions = 600 }
"""
PLAN = """
question = "How many users?"
answer = "There are {tiny|all|size/users|,} users, {tiny|few|size/share|%.0} % of them seen."
how = ["Counted."]
[[part]]
kind = "test_experiments:count"
sets = ["tiny"]
seeds = 2
columns = { "users" = "size/users|,", "share" = "size/share|.2" }
chart = { x = "agent.depth", y = "size/share" }
[part.options]
half = 2
[part.variants."all"]
"agent.depth" = 1
[part.variants."few"]
"agent.depth" = 2
[quick]
seeds = 1
[quick.options]
half = 4
"""


def count(job: Job) -> dict[str, object]:
    """What the plan above measures."""
    job.note("counting")
    share = 1 / (job.option("half", 1) * job.point.config.agent.depth) + job.seed / 10
    assert job.parts.train.size < len(job.data.interactions)
    return {"size": {"users": len(job.data.users), "share": share}, "rows": [{"n": 1}, {"n": 2}]}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "sets.toml").write_text(TINY)
    (tmp_path / "users.toml").write_text(PLAN)
    return tmp_path / "users.toml"


def cerec(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def test_an_experiment_of_ones_own(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, pages = tmp_path / "out", tmp_path / "pages"
    assert cerec("bench", "run", plan, "--out", out, "--pages", pages) == 0
    assert "wrote" in capsys.readouterr().err
    cells = sorted((out / "users").glob("*.json"))
    assert len(cells) == 4
    kept = json.loads(cells[0].read_text())
    assert {"command", "commit", "versions", "time", "seconds"} <= set(kept["about"])
    assert {"data", "run", "options", "seed", "recipe"} <= set(kept["depends"])
    text = (pages / "users.md").read_text()
    assert text.startswith("# How many users?\n\nThere are 30 users, 30 % of them seen.")
    assert ("![How many users?]" in text) == has_matplotlib()
    assert "Nothing of this plan." in text
    tables = (out / "users" / "tables.md").read_text()
    assert "| a tiny world, all | 2 | 30 ± 0 | 0.55 ± 0.07 |" in tables
    before = {path: path.stat().st_mtime_ns for path in cells}
    assert cerec("bench", "run", plan, "--out", out, "--pages", pages) == 0
    assert {path: path.stat().st_mtime_ns for path in cells} == before
    assert (pages / "users.md").read_text() == text


def test_what_is_missing_is_said(plan: Path, tmp_path: Path) -> None:
    experiment = read_experiment(str(plan))
    done = run(experiment, tmp_path / "out", deadline=0.0)
    assert (done.found, len(done.missing)) == ({}, 4)
    assert done.skipped == ("out of time, 4 cells are left",)
    text = write_page(done, tmp_path / "out", tmp_path / "out").read_text()
    assert "not measured yet" in text
    assert "Not computed: test-experiments-count, tiny: all, seed 0, 1; few, seed 0, 1." in text


def test_results_are_read_without_data_and_by_todays_settings(plan: Path, tmp_path: Path) -> None:
    done = run(read_experiment(str(plan)), tmp_path / "out")
    again = read(read_experiment(str(plan)), tmp_path / "out")
    assert [c.path for c in again.found.values()] == [c.path for c in done.found.values()]
    other = read_experiment(str(plan), quick=True)
    assert {point.part.options["half"] for point in other.points()} == {4}
    assert read(other, tmp_path / "out").found == {}


def test_every_experiment_of_the_package_is_sound() -> None:
    assert names()[:3] == ["table1", "table2", "table3"]
    for name in names():
        for quick in (False, True):
            experiment = read_experiment(name, quick=quick)
            assert experiment.question.endswith("?")
            assert experiment.points()
        assert {p.set for p in experiment.points()} <= {"small", "demo"}  # quick needs no data


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("quesion = 'x'", "unknown key 'quesion' in the file"),
        ("[[part]]\nkind = 'data'", "every .* needs 'sets'"),
        ("[[part]]\nkind = 'dada'\nsets = []", "unknown kind 'dada'"),
        ("[[part]]\nkind = 'no.such:thing'\nsets = []", "cannot be imported"),
        ("[[part]]\nkind = 'data'\nsets = ['moon']", "unknown set 'moon'"),
        (
            "[[part]]\nkind = 'data'\nsets = ['demo']\n[part.settings]\n'agent.dept' = 2",
            "did you mean 'depth'",
        ),
        ("[[part]]\nkind = 'data'\nsets = ['demo']\n[part.settings]\ndepth = 2", "section.key"),
    ],
)
def test_mistakes_in_a_file_are_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_experiment(str(tmp_path / "wrong.toml"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tabel1"], "unknown experiment 'tabel1'; did you mean 'table1'"),
        (["table2"], "ml-100k is real data: give its folder with --data, or try --quick"),
        (["table1", "--sets", "moon"], "unknown set 'moon'"),
        (["table1", "--data", "nowhere"], "nowhere: no such folder"),
    ],
)
def test_mistakes_of_a_person_are_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cerec("bench", "run", *words, "--out", tmp_path / "out") == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_numbers_by_their_way() -> None:
    found = {"a": [{"b": 1}, {"b": 2}], "c": None}
    assert (at(found, "a/0/b"), at(found, "a/-1/b"), at(found, "c"), at(found, "x/y")) == (
        1, 2, None, None,
    )  # fmt: skip
    assert [shown(0.12345, form) for form in (".2", "%.1", ",")] == ["0.12", "12.3", "0"]
    assert slug("T = 1: paper's") == "t-1-paper-s"


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_the_quick_form_of_every_experiment(name: str, tmp_path: Path) -> None:
    assert cerec("bench", "run", name, "--quick", "--out", tmp_path) == 0
    assert "Not computed:" not in (tmp_path / name / f"{name}.md").read_text()
