"""The experiments on worlds of a few users: they run, go on, and say what is missing."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cerec.cli.main import main
from cerec_bench.reproduce.jobs import Job
from cerec_bench.reproduce.plan import EXPERIMENTS, read_experiment
from cerec_bench.reproduce.store import Result, run_table
from cerec_bench.reproduce.worlds import Library

WORLD = "world = { users = 40, items = 60, interactions = 1000 }"


@pytest.fixture
def experiments(tmp_path: Path) -> Path:
    """The package's experiments, with a smaller small world."""
    folder = tmp_path / "experiments"
    shutil.copytree(EXPERIMENTS, folder)
    text = (folder / "sets.toml").read_text()
    begin = text.index("[small]")
    (folder / "sets.toml").write_text(text[:begin] + f'[small]\ntitle = "tiny"\n{WORLD}\n')
    return folder


def cerec(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def test_data_is_described_kept_and_rendered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert cerec("bench", "reproduce", "table1", "--quick", "--out", out) == 0
    assert "table1: 2 cells computed" in capsys.readouterr().err
    path = out / "data" / "data" / "small" / "data.0.json"
    kept = json.loads(path.read_text())
    assert kept["found"]["came"]["users"] == 150
    assert {"command", "commit", "versions", "seed", "data", "time"} <= set(kept["about"])
    assert "| a small world | 150 | 200 | 5,000 |" in (out / "data.md").read_text()
    assert (out / "data.tex").exists()
    before = path.read_bytes()
    assert cerec("bench", "reproduce", "table1", "--quick", "--out", out) == 0
    assert "table1: 0 cells computed" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_a_cell_made_with_another_default_is_named_and_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cerec("bench", "reproduce", "table1", "--quick", "--out", tmp_path) == 0
    path = tmp_path / "data" / "data" / "small" / "data.0.json"
    fresh = json.loads(path.read_text())
    assert set(fresh["about"]["run"]) == {"filters", "split"}
    assert "earlier defaults" not in (tmp_path / "data.md").read_text()
    fresh["about"]["run"]["filters"]["min_entity"] = 77
    path.write_text(json.dumps(fresh))
    assert cerec("bench", "reproduce", "table1", "--quick", "--render-only", "--out", tmp_path) == 0
    assert (
        "- `filters.min_entity` 77 → 0: data, small: seed 0" in (tmp_path / "data.md").read_text()
    )
    capsys.readouterr()
    assert cerec("bench", "reproduce", "table1", "--quick", "--out", tmp_path) == 0
    assert "table1: 1 cells computed" in capsys.readouterr().err
    assert json.loads(path.read_text())["about"]["run"]["filters"]["min_entity"] != 77


def test_a_training_begun_with_another_default_is_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []

    def trained(data: object, config: object, *, out: Path, **rest: object) -> SimpleNamespace:
        folders.append(out)
        return SimpleNamespace(meta={"finished": True})

    monkeypatch.setattr("cerec_bench.reproduce.jobs.train", trained)
    experiment = read_experiment("depth", quick=True)
    library = Library(dict(experiment.sets), None)
    cell = experiment.cells()[0]
    job = Job(cell, library, tmp_path, tmp_path, print)
    job.trained(agent=False, keep=True)
    job.trained(agent=False, keep=True)
    now = replace(cell.config, signals=replace(cell.config.signals, dns_candidates=5))
    monkeypatch.setattr("cerec_bench.reproduce.plan.run_config", lambda settings: now)
    job.trained(agent=False, keep=True)
    assert folders[0] == folders[1] != folders[2]


def test_a_result_tells_which_settings_were_others() -> None:
    cell = read_experiment("depth", quick=True).cells()[0]
    about = {"run": run_table(cell)}
    assert Result(cell, {}, about).changed == {}
    assert Result(cell, {}, {}).changed == {}  # made by another command
    about["run"]["signals"]["dns_candidates"] = 1
    about["run"]["recommender"]["gone"] = True
    del about["run"]["agent"]["depth"]
    assert Result(cell, {}, about).changed == {
        "recommender.gone": (True, None),
        "signals.dns_candidates": (1, cell.config.signals.dns_candidates),
        "agent.depth": (None, 1),
    }
    about["run"]["agent"] = "a word"  # the section was a setting once
    assert ("agent.gamma") in Result(cell, {}, about).changed


def test_a_page_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cerec("bench", "reproduce", "depth", "--quick", "--render-only", "--out", tmp_path) == 0
    assert "10 cells are missing" in capsys.readouterr().err
    page = (tmp_path / "depth.md").read_text()
    assert "## What is missing" in page
    assert "literal, small: T = 1, seed 0; T = 2, seed 0" in page
    assert "`cerec bench reproduce depth` does" in (tmp_path / "about.md").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tabel1"], "did you mean 'table1'"),
        (["table1"], "give its folder with --data, or try --quick"),
        (["table1", "--data", "nowhere"], "nowhere: no such folder"),
        (["table1", "--quick", "--sets", "big"], "unknown set 'big'"),
        (["table1", "--quick", "--out", "pyproject.toml"], "is a file"),
        (["all", "--quick", "--experiments", "."], "holds no experiments"),
    ],
)
def test_mistakes_end_in_one_line(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text("x = 1")
    if "--experiments" in words:
        Path("pyproject.toml").unlink()
    assert cerec("bench", "reproduce", *words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_sets_that_are_not_there_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    out = tmp_path / "out"
    assert cerec("bench", "reproduce", "table1", "--data", tmp_path / "data", "--out", out) == 0
    assert "no folder last-fm" in " ".join(capsys.readouterr().err.split())
    assert (out / "data" / "data" / "demo" / "data.0.json").exists()
    assert "data, last-fm: seed 0" in (out / "data.md").read_text()


@pytest.mark.slow
def test_all_of_it_on_a_tiny_world(
    experiments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["bench", "reproduce", "all", "--quick", "--out", out, "--experiments", experiments]
    assert cerec(*words) == 0
    assert "missing" not in capsys.readouterr().err
    pages = sorted(path.name for path in out.glob("*.md"))
    assert {"data.md", "depth.md", "agent.md", "ablations.md", "cases.md"} <= set(pages)
    assert not (out / ".work" / "depth").exists()
    texts = {name: (out / name).read_text() for name in pages}
    assert cerec(*words, "--render-only") == 0
    assert {name: (out / name).read_text() for name in pages} == texts
    capsys.readouterr()
    assert cerec(*words) == 0
    said = capsys.readouterr().err
    assert said.count(" 0 cells computed") == said.count("cells computed")
