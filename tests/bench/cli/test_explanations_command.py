"""`cerec bench explanations` from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cerec.cli.main import main


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["bench", "explanations", *argv])
    said = capsys.readouterr()
    return int(stop.value.code or 0), said.out, said.err


QUICK = (
    "--methods", "rdexp-own,cerec-free", "--truth", "planted", "--seeds", "1", "--pairs", "40",
    "--draws", "3", "--agent-epochs", "0", "--set", "train.epochs=1",
)  # fmt: skip


@pytest.mark.slow
def test_demo_from_data_to_tables_and_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "found"
    code, said, told = call(capsys, "demo", *QUICK, "--out", str(out))
    assert code == 0, told
    assert "agreement with planted" in said
    assert "CERec" in said
    for name in ("table.md", "table.csv", "table.tex", "demo.json"):
        assert (out / name).exists()
    cells = {p: p.stat().st_mtime_ns for p in (out / "demo").iterdir()}
    code, said, told = call(capsys, "demo", *QUICK, "--out", str(out), "--json")
    assert code == 0, told
    plain = json.loads(said)
    assert plain["demo"]["about"]["pairs"] == 40
    assert {line["name"] for line in plain["demo"]["lines"]} == {"rdexp-own", "cerec-free"}
    assert {p: p.stat().st_mtime_ns for p in (out / "demo").iterdir()} == cells
    code, _, _ = call(capsys, str(out / "runs" / "demo"), *QUICK[:-2], "--out", str(out))
    assert code == 0


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["demo", "--methods", "cerek"], "unknown explanation method 'cerek'; did you mean"),
        (["demo", "--truth", "oracle"], "unknown truth 'oracle'"),
        (["demo", "--seeds", "0"], "seeds must be at least 1"),
        (["demo", "--pairs", "-3"], "--pairs must be at least 0"),
        (["demo", "--methods", ","], "names with commas between"),
        (["demo", "--reference", "none"], "--reference must be one of the methods"),
        (["no/such/folder"], "no/such/folder"),
        ([], "Missing argument"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, told = call(capsys, *argv, "--out", str(tmp_path / "out"))
    assert code == 2
    assert words in told
    assert len(told.strip().splitlines()) == 1


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    code, said, _ = call(capsys, "--help")
    assert code == 0
    assert "Example: cerec bench explanations demo" in " ".join(said.split())
