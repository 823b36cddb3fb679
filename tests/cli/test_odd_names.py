"""Ids and names are text, whatever stands in them; so is what a person typed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import cerec
from cerec.cli import main as cli
from cerec.data.dataset import Dataset
from cerec.data.ids import IdTable
from cerec.data.synthetic.generate import make_world
from cerec.settings.run import RunConfig
from worlds import SMALL

FILM, PERSON = "Seven [uncut] [/b] :star:", "us[/i]er  05"


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(argv)
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run of a world where every film has one odd name, and the first user an odd id."""
    return _trained(tmp_path_factory.mktemp("odd") / "run", FILM)


def _trained(folder: Path, film: str) -> tuple[Path, str]:
    plain = make_world(SMALL, seed=1)
    data = Dataset(
        name="[red]odd",
        users=IdTable("user", [PERSON, *plain.users.ids[1:]]),
        items=IdTable("item", plain.items.ids, dict.fromkeys(plain.items.ids, film)),
        entities=plain.entities,
        relations=plain.relations,
        interactions=plain.interactions,
        triples=plain.triples,
    )
    config = RunConfig(model={"name": "linear", "holdout": True})
    first = cerec.train(data, config, out=folder).recommend(PERSON, 1)[0]
    return folder, first.item


def test_odd_names_are_shown_as_they_are(
    trained: tuple[Path, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    folder, item = trained
    run_data = cerec.open(folder)
    relation, attribute = run_data.attributes(item)[0]
    value = f"{relation}={attribute}"
    who = ("--user", PERSON)
    for argv in (
        ("recommend", str(folder), *who),
        ("recommend", str(folder), "--history", item),
        ("what-if", str(folder), *who, "--item", item, "--remove", value),
        ("explain", str(folder), *who, "--item", item),
    ):
        code, out, _ = run(capsys, *argv)
        assert code == 0, argv
        assert FILM in out, argv
    assert PERSON in run(capsys, "recommend", str(folder), "--new-item", value, "-k", "99")[1]
    assert f"for {PERSON}" in run(capsys, "recommend", str(folder), *who)[1]
    assert "[red]odd" in run(capsys, "evaluate", str(folder), "-k", "5")[1]


def test_names_do_not_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    folder, item = _trained(tmp_path / "run", "Se\x1b[31mven\x9b2J\x7f\x00")
    relation, attribute = cerec.open(folder).attributes(item)[0]
    about = (str(folder), "--user", PERSON)
    for argv in (
        ("recommend", *about),
        ("what-if", *about, "--item", item, "--remove", f"{relation}={attribute}"),
        ("explain", *about, "--item", item),
        ("explain", *about, "--item", "no\x1b[31mne"),
    ):
        _, out, err = run(capsys, *argv)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", out + err), argv
        assert "Se[31mven2J" in out or "unknown item" in err, argv
        assert len({len(line) for line in out.splitlines() if line.startswith("│")}) <= 1


def test_blanks_of_an_id_are_kept_in_messages(
    trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "recommend", str(trained[0]), "--user", "us[/i]er 05")
    assert code == 2
    assert err == "cerec: unknown user 'us[/i]er 05'; did you mean 'us[/i]er  05'?\n"


@pytest.mark.parametrize(
    ("words", "got"),
    [
        ("recommend RUN --user u -k 3.5", "got '3.5'"),
        ("recommend RUN --user -kind -k 5 -kabc", "got 'abc'"),
        ("recommend RUN --user u --k=1e3", "got '1e3'"),
        ("train demo --out run --seed -1", "got '-1'"),
        ("train --out data-run", "Missing argument"),
    ],
)
def test_a_value_that_is_no_number_is_named(
    words: str, got: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, *words.split())
    assert code == 2
    assert err.count("\n") == 1
    assert got in err
    assert err.count("got ") == got.count("got ")


def test_options_that_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("recommend", "RUN", "--user", "u", "--history", "i")
    assert "leave --user or --history out" in run(capsys, *argv)[2]


def test_all_lists_tell_a_program_what_was_written(
    trained: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "top.CSV"
    argv = ("recommend", str(trained[0]), "--all", "-k", "3", "--out", str(path), "--json")
    code, out, _ = run(capsys, *argv)
    assert code == 0
    assert json.loads(out) == {"out": str(path), "users": 60, "lines": 180}
    assert path.read_text().count("\n") == 181
