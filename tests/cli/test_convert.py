"""`cerec data convert`: through every format and back, and no trace of a failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cerec.cli.data import app
from cerec.cli.main import main
from cerec.data.load import load


@pytest.fixture(autouse=True)
def _aside(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEREC_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_the_demo_goes_round_all_formats(tmp_path: Path) -> None:
    source = "demo"
    for format in ("tables", "kgat", "parquet", "recbole", "tables"):
        target = tmp_path / f"{len(list(tmp_path.iterdir()))}-{format}"
        done = CliRunner().invoke(app, ["convert", source, str(target), "--to", format, "--json"])
        assert json.loads(done.stdout)["format"] == format
        source = str(target)
    assert load(source) == load("demo")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 1 x\n", "train.txt:1: expected 'user item item ...'"),
        ("", "no interactions"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "train.txt").write_text(line)
    with pytest.raises(SystemExit) as ended:
        main(["data", "convert", str(tmp_path / "in"), str(tmp_path / "out"), "--to", "kgat"])
    assert ended.value.code == 2
    told = capfd.readouterr().err
    assert said in told.replace("\n", " ")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


def test_options_reach_the_reader(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "interactions.csv").write_text("user,item\na,1\na,2\n")
    (tmp_path / "in" / "items.csv").write_text("item,price\n1,3\n2,9\n")
    out = tmp_path / "out"
    CliRunner().invoke(app, ["convert", str(tmp_path / "in"), str(out), "-o", "bins=price:2"])
    assert (out / "items.csv").read_text() == "item,name,price\n1,1,below 5\n2,2,5 or more\n"
