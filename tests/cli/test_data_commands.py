"""`cerec data`: what people and programs get to see."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cerec.cli.data import app
from cerec.data.load import load
from cerec.data.split import split
from cerec.data.synthetic.generate import WorldConfig, demo, make_world
from cerec.errors import CerecError, DataError
from cerec.settings.data import SplitConfig

REAL = Path(os.environ.get("CEREC_DATA", "no-such-folder"))


@pytest.fixture(autouse=True)
def _aside(tmp_path, monkeypatch):
    monkeypatch.setenv("CEREC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")


def run(*arguments):
    """Exit code 0 and the output, or the error a user's mistake raised."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, CerecError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def report(*arguments):
    return json.loads(run("check", *arguments, "--json"))


def kgat(folder: Path, *, train: str, test: str) -> Path:
    """A small folder: three users, four items, one relation."""
    folder.mkdir()
    (folder / "train.txt").write_text(train)
    (folder / "test.txt").write_text(test)
    (folder / "kg_final.txt").write_text("0 0 4\n1 0 4\n2 0 5\n3 0 5\n")
    names = "\n".join(f"i{k} {k}" for k in range(4))
    (folder / "item_list.txt").write_text(f"org_id remap_id\n{names}\n")
    return folder


TRAIN, TEST = "0 0 1\n1 1 2\n2 3\n", "0 2\n1 3\n2 0\n"


def test_people_see_figures_degrees_relations_and_remarks() -> None:
    text = run("check", "demo")
    for wanted in ("600", "30,000", "items of a user", "genre", "largest relations"):
        assert wanted in text


def test_programs_get_the_same_as_json() -> None:
    found = report("demo")
    assert found["usable"] is True
    assert found["figures"]["users"] == 600
    assert found["relations"][0]["name"] == "actor"


def test_a_clean_folder_has_no_overlap(tmp_path) -> None:
    found = report(kgat(tmp_path / "clean", train=TRAIN, test=TEST))
    assert not [f for f in found["findings"] if f["kind"] == "leak"]
    assert found["figures"]["train_pairs"] == 5


def test_test_lines_appended_to_train_are_a_leak(tmp_path) -> None:
    folder = kgat(tmp_path / "leaking", train=TRAIN + TEST, test=TEST)
    leak = next(f for f in report(folder)["findings"] if f["kind"] == "leak")
    assert (leak["severity"], leak["count"], leak["share"]) == ("warning", 3, 1.0)
    assert "in both train and test" in run("check", folder)


def test_a_user_without_train_items_is_named(tmp_path) -> None:
    folder = kgat(tmp_path / "late", train="0 0 1\n1 1 2\n", test=TEST)
    found = next(f for f in report(folder)["findings"] if f["kind"] == "users_without_train")
    assert found["examples"] == ["2"]


def test_filters_may_be_tried_out() -> None:
    found = report("demo", "--set", "filters.k_core=20")
    assert found["figures"]["users"] < 600
    assert any("20-core" in note for note in found["notes"])


def test_a_filter_that_leaves_nothing_makes_the_data_unusable() -> None:
    with pytest.raises(DataError, match="cannot be used: There is no interaction"):
        run("check", "demo", "--set", "filters.k_core=1000")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "no/such/folder"], "no such folder"),
        (["check", "demo", "--set", "filters.kcore=3"], "did you mean 'k_core'"),
        (["check", "demo", "--set", "filters.k_core=few"], "whole number"),
        (["check", "demo", "--option", "train"], "name=value"),
        (["make", "--users", "5", "--out", "x"], "world.interactions"),
        (["split", "demo", "--method", "fair", "--out", "x"], "split.method must be one of"),
        (["split", "demo", "--method", "given", "--out", "x"], "came whole"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, says) -> None:
    with pytest.raises(CerecError, match=says) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("command", ["check", "make", "split"])
def test_help_has_an_example(command) -> None:
    assert "Example: cerec data" in run(command, "--help")


SMALL = ("--users", "30", "--items", "40", "--interactions", "300")


@pytest.mark.parametrize("to", ["tables", "parquet"])
def test_a_made_world_is_read_back_with_its_planted_tastes(tmp_path, to) -> None:
    folder = tmp_path / "world"
    run("make", *SMALL, "--seed", "3", "--to", to, "--out", folder)
    config = WorldConfig(users=30, items=40, interactions=300)
    assert load(folder) == make_world(config, seed=3)
    assert report(folder)["figures"]["interactions"] == 300


def test_split_writes_parts_that_are_read_back(tmp_path) -> None:
    folder = tmp_path / "parts"
    run("split", "demo", "--method", "time", "--out", folder)
    data = load(folder)
    parts = split(data, SplitConfig(carve=0), seed=9)
    whole = demo()
    assert parts.train.equals(split(whole, SplitConfig(method="time"), seed=0).train)
    assert len(data.interactions) == len(whole.interactions)
    assert report(folder)["figures"]["test_pairs"] == parts.test.size


def test_split_filters_first(tmp_path) -> None:
    folder = tmp_path / "parts"
    run("split", "demo", "--set", "filters.k_core=20", "--out", folder)
    assert len(load(folder).users) < 600


def test_an_existing_folder_is_not_overwritten(tmp_path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(DataError, match="is there already"):
        run("make", *SMALL, "--out", tmp_path)
    assert (tmp_path / "mine").read_text() == "precious"


README = {
    "ml-100k": (943, 1682, 100000, 33122, 26, 96206),  # the graph, and the columns of .item
    "ml-1m": (6039, 3171, 784196, 11555, 21, 434166),
    "amazon-beauty": (22363, 12101, 198502, 108873, 5, 1115330),
    "last-fm": (23566, 48123, 1542856, 58266, 9, 464567),
    "yelp2018-partial": (45919, 45538, 364300, 1772, 42, 869603),
    "alibaba-ifashion": (114737, 30040, 1781093, 59156, 51, 279155),
}


@pytest.mark.data
@pytest.mark.skipif(not REAL.is_dir(), reason="CEREC_DATA names no folder")
@pytest.mark.parametrize("name", README)
def test_real_data_has_its_published_figures(name) -> None:
    found = report(REAL / name)
    kinds = ("users", "items", "interactions", "entities", "relations", "triples")
    assert tuple(found["figures"][k] for k in kinds) == README[name]
    findings = {f["kind"]: f for f in found["findings"]}
    assert "leak" not in findings
    if name == "last-fm":
        assert findings["users_without_train"]["count"] == 170
    if name == "ml-100k":
        assert "91,631 triples, 24 relations, 33,030 entities" in " ".join(found["notes"])
        assert findings["inverse_relations"]["count"] == 19_039


@pytest.mark.data
@pytest.mark.skipif(not REAL.is_dir(), reason="CEREC_DATA names no folder")
def test_real_data_with_test_lines_in_train_leaks(tmp_path) -> None:
    source, folder = REAL / "last-fm", tmp_path / "last-fm"
    folder.mkdir()
    for path in source.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    with (folder / "train.txt").open("ab") as train:
        lines = (source / "test.txt").read_bytes().splitlines(keepends=True)
        train.writelines(lines[:100])
    leak = next(f for f in report(folder)["findings"] if f["kind"] == "leak")
    assert leak["count"] == sum(len(set(line.split()[1:])) for line in lines[:100])
