"""`cerec audit` and `cerec diff`: pages, figures, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cerec
from cerec.asides import lock_file
from cerec.cli.app import app
from cerec.errors import ConfigError, QuestionError


@pytest.fixture(scope="module")
def folder(small_run: cerec.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run.save(tmp_path_factory.mktemp("audit") / "run")


def test_a_page_with_its_figures(folder: Path, small_run: cerec.Run, tmp_path: Path) -> None:
    asked = ["audit", str(folder), "-k", "5", "--out", str(tmp_path / "a")]
    assert CliRunner().invoke(app, asked).exit_code == 0
    figures = json.loads((tmp_path / "a" / "audit.json").read_text())
    assert figures == json.loads(json.dumps(small_run.audit(5).to_dict()))
    assert (tmp_path / "a" / "audit.md").read_text().startswith("# What the lists of world")
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["audit.json", "audit.md"]


def test_a_trial_and_a_diff(folder: Path, tmp_path: Path) -> None:
    out = ["-k", "5", "--out", str(tmp_path)]
    assert (
        CliRunner().invoke(app, ["audit", str(folder), "--attribute", "genre", *out]).exit_code == 0
    )
    assert CliRunner().invoke(app, ["diff", str(folder), str(folder), *out]).exit_code == 0
    names = {"trial-genre.md", "trial-genre.json", "diff.md", "diff.json"}
    assert {p.name for p in tmp_path.iterdir()} == names


def test_two_audits_do_not_write_to_one_folder(folder: Path, tmp_path: Path) -> None:
    with lock_file(tmp_path / ".audit.lock", ConfigError("held")):
        found = CliRunner().invoke(app, ["audit", str(folder), "--out", str(tmp_path)])
    assert "another command writes there" in str(found.exception)
    found = CliRunner().invoke(app, ["audit", str(folder), "--out", str(folder)])
    assert "is a run" in str(found.exception)


def test_lists_that_hold_everything_are_refused(small_run: cerec.Run) -> None:
    with pytest.raises(QuestionError, match="ask for shorter ones"):
        small_run.audit(1000)
