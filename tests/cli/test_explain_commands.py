"""`cerec explain` and `cerec what-if`, from a run folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cerec.asides import lock_file
from cerec.cli.main import main
from cerec.data.facts import Facts
from cerec.data.split import split
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import RunError
from cerec.explain.explanation import Explanation
from cerec.recommend.linear.fit import Chosen, FitMaterial, build
from cerec.runs.run import Run, open_run
from cerec.runs.stored import StoredModel


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = make_world(WorldConfig(users=12, items=60, interactions=150), seed=0)
    parts = split(data, seed=0)
    material = FitMaterial(parts.train, np.ones(parts.train.size), Facts.build(data))
    weights = {r: 0.5 for r in range(len(data.relations))}
    kept = StoredModel.linear(build(material, Chosen(relations=weights)))
    return Run(data, parts, kept).save(tmp_path_factory.mktemp("run") / "run")


def cerec(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in argv])
    got = capsys.readouterr()
    return int(stop.value.code or 0), got.out, got.err


def test_one_explanation_as_json_and_as_a_card(folder, capsys) -> None:
    run = open_run(folder)
    user = run.data.users[0]
    item = run.recommend(user, 5)[0].item
    code, out, _ = cerec(
        capsys, "explain", folder, "--user", user, "--item", item, "-k", 5, "--json"
    )
    assert code == 0
    got = Explanation.from_dict(json.loads(out))
    assert (got.user, got.item, got.status) == (user, item, "verified")
    code, out, _ = cerec(
        capsys, "explain", folder, "--user", user, "--item", item, "-k", 5, "--alternatives", 1
    )
    assert code == 0
    assert "Why " in out
    assert "verified" in out


def test_why_not_with_locks(folder, capsys) -> None:
    run = open_run(folder)
    user, relation = run.data.users[1], run.data.relations[0]
    other = run.recommend(user, 12)[-1].item
    code, out, _ = cerec(
        capsys, "explain", folder, "--user", user, "--why-not", other, "-k", 5,
        "--lock", relation, "--max-changes", 9, "--by", "attributes", "--json",
    )  # fmt: skip
    assert code == 0
    got = Explanation.from_dict(json.loads(out))
    assert got.question == "why_not"
    assert all(c.relation != relation for c in got.changes)


def test_every_list_to_parquet(folder, tmp_path, capsys) -> None:
    target = tmp_path / "all.parquet"
    code, out, err = cerec(capsys, "explain", folder, "--all", "--out", target, "-k", 4)
    assert code == 0
    assert "verified" in out
    assert "48 explanations" in err
    assert len(pl.read_parquet(target)) == 48
    code, out, _ = cerec(
        capsys, "explain", folder, "--all", "--out", target, "-k", 4, "--resume", "--json"
    )
    assert code == 0
    assert json.loads(out)["pairs"] == 48


def test_what_if_changes_by_hand(folder, capsys) -> None:
    run = open_run(folder)
    user = run.data.users[0]
    item = run.recommend(user, 3)[0].item
    relation, attribute = run.attributes(item)[0]
    code, out, _ = cerec(
        capsys, "what-if", folder, "--user", user, "--item", item,
        "--remove", f"{relation}={attribute}", "--json",
    )  # fmt: skip
    assert code == 0
    got = json.loads(out)
    rest = run.attributes(item)[1:]
    assert got["score"] == run.rescore(user, item, rest)
    assert [relation, attribute] not in got["attributes"]
    code, out, _ = cerec(
        capsys, "what-if", folder, "--user", user, "--item", item,
        "--set", f"{relation}={attribute}",
    )  # fmt: skip
    assert code == 0
    assert "rank 1 ->" in " ".join(out.split())
    code, _, err = cerec(
        capsys, "what-if", folder, "--user", user, "--item", item,
        "--add", f"{relation}={attribute}",
    )  # fmt: skip
    assert code == 2
    assert "has that value already" in err


def test_mistakes_end_in_one_line(folder, tmp_path, capsys) -> None:
    user, item = open_run(folder).data.users[0], open_run(folder).data.items[0]
    for argv, words in {
        ("explain", folder, "--user", user + "x", "--item", item): f"did you mean '{user}'",
        ("explain", folder, "--user", "%%", "--item", item): f"for example, '{user}'",
        ("explain", folder, "--user", user): "give --user with --item",
        ("explain", folder, "--all"): "--all needs --out",
        ("explain", folder, "--user", user, "--item", item, "--out", "x.parquet"): "go with --all",
        ("explain", folder, "--user", user, "--item", item, "--why-not", item): "not both",
        ("explain", folder, "--user", user, "--item", item, "-k", 0): "k must be",
        ("what-if", folder, "--user", user, "--item", item, "--add", "x"): "RELATION=ATTRIBUTE",
    }.items():
        code, out, err = cerec(capsys, *argv)
        assert code == 2
        assert out == ""
        assert words in err
        assert err.count("\n") == 1


def test_a_table_that_another_command_is_writing_is_refused(folder, tmp_path, capsys) -> None:
    target = tmp_path / "all.parquet"
    with lock_file(tmp_path / "all.parquet.lock", RunError("not the first")):
        for more in ((), ("--resume",)):
            code, out, err = cerec(capsys, "explain", folder, "--all", "--out", target, *more)
            assert (code, out) == (2, "")
            assert err.splitlines()[-1].endswith(
                "all.parquet: another explain --all is writing to it; wait for it, or choose "
                "another --out"
            )
    assert not list(tmp_path.iterdir())
    assert cerec(capsys, "explain", folder, "--all", "--out", target, "-k", 2)[0] == 0


def test_a_run_folder_with_other_data_is_refused(folder, tmp_path, capsys) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(folder, mixed)
    items = pl.read_parquet(mixed / "items.parquet")
    items.with_columns(pl.col("name").reverse()).write_parquet(mixed / "items.parquet")
    code, out, err = cerec(capsys, "recommend", mixed, "--user", open_run(folder).data.users[0])
    assert (code, out) == (2, "")
    assert "items.parquet: " in err
    assert err.count("\n") == 1
