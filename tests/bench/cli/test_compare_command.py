"""`cerec bench compare` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cerec.cli import main as cli


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(argv)
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_a_comparison_prints_and_writes_its_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = [
        "bench",
        "compare",
        "demo",
        "--models",
        "popularity,bpr",
        "--seeds",
        "1",
        "--budget",
        "1",
    ]
    argv += ["--epochs", "2", "--every", "1", "--out", str(tmp_path)]
    code, out, err = run(capsys, *argv)
    assert code == 0
    assert "Popularity" in out
    assert "Recall@20" in out
    assert "table.tex" in err.replace("\n", "")
    code, out, _ = run(capsys, *argv, "--json")  # from the kept cells
    assert code == 0
    told = json.loads(out)
    assert told["about"]["reference"] == "popularity"
    assert [line["name"] for line in told["lines"]] == ["popularity", "bpr"]
    assert told == json.loads((tmp_path / "demo.json").read_text())


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--models", "kgatt"], "did you mean 'kgat'"),
        (["--models", "bpr", "--k", "ten"], "--k takes whole numbers"),
        (["--models", "bpr", "--reference", "cerec"], "--reference must be one of the models"),
        (["--models", "bpr", "--search", "nowhere"], "bpr.toml: no such file"),
    ],
)
def test_mistakes_are_one_line(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, err = run(capsys, "bench", "compare", "demo", "--out", str(tmp_path), *argv)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1
