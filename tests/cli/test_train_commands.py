"""train, recommend, evaluate: as a person types them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cerec
from cerec.agent import loop
from cerec.checkpoint import Checkpoint, write_checkpoint
from cerec.cli import main as cli
from cerec.data.ids import IdTable
from cerec.data.synthetic.generate import make_world
from cerec.data.writer import write
from cerec.errors import ConfigError
from cerec.files import write_json
from cerec.runs import cotrain
from cerec.runs import evaluate as measure
from cerec.settings.base import parse
from cerec.settings.run import PRESETS, RunConfig, to_table, to_toml
from cerec.settings.train import TrainConfig
from worlds import QUICK, SMALL


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(argv)
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write(make_world(SMALL, seed=1), folder / "tables", "tables")
    (folder / "quick.toml").write_text(to_toml(QUICK))
    return folder


@pytest.fixture(scope="module")
def trained(world: Path) -> Path:
    measured = RunConfig(model={"name": "linear", "holdout": True})
    cerec.train(cerec.load(world / "tables"), measured, out=world / "run")
    return world / "run"


def test_the_default_is_the_linear_recommender(world: Path, tmp_path: Path, capsys) -> None:
    argv = ["train", str(world / "tables"), "--out"]
    code, out, err = run(capsys, *argv, str(tmp_path / "run"))
    assert code == 0, err
    assert "recall@20" in out
    assert "looks at validation" in err
    assert "fitted once more, on all interactions" in err
    code, _, err = run(capsys, "evaluate", str(tmp_path / "run"))
    assert code == 2
    assert err.count("\n") == 1
    assert "cerec train --holdout keeps the measured recommender" in err
    assert "finished before" in run(capsys, *argv, str(tmp_path / "run"), "--resume")[2]
    code, _, err = run(capsys, *argv, str(tmp_path / "kept"), "--holdout")
    assert code == 0, err
    assert "fitted once more" not in err
    assert run(capsys, "evaluate", str(tmp_path / "kept"))[0] == 0
    one, two = (cerec.open(tmp_path / name) for name in ("run", "kept"))
    assert one.metrics == two.metrics
    assert (one.model.kind, one.config.linear.holdout, two.config.linear.holdout) == (
        "linear",
        False,
        True,
    )
    assert one.known.size > two.known.size == two.split.train.size


def test_train_from_files(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = [str(world / "tables"), "--out", str(tmp_path / "run")]
    settings = ["--config", str(world / "quick.toml"), "--set", "train.epochs=3"]
    code, out, _ = run(capsys, "train", *argv, *settings)
    assert code == 0
    assert "recall@20" in out
    opened = cerec.open(tmp_path / "run")
    assert opened.config.train.epochs == 3
    assert [r["epoch"] for r in opened.history if r["phase"] == "recommender"] == [1, 2, 3]


def test_the_number_that_decides_is_shown(world: Path, tmp_path: Path, capsys) -> None:
    argv = [str(world / "tables"), "--out", str(tmp_path / "run")]
    sets = ["--set", "train.metric=ndcg@10", "--set", "train.agent_epochs=0"]
    code, _, err = run(capsys, "train", *argv, "--config", str(world / "quick.toml"), *sets)
    assert code == 0
    history = cerec.open(tmp_path / "run").history
    for row in (row for row in history if "ndcg@10" in row):
        assert f"ndcg@10 {float(row['ndcg@10']):.4f}" in err


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_trained_and_kept(name: str, world: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "some.toml").write_text("[signals]\ndns_candidates = 4\n[train]\nepochs = 4\n")
    argv = [str(world / "tables"), "--out", str(tmp_path / "run"), "--preset", name]
    few = ["train.warmup=1", "train.agent_every=1", "train.agent_epochs=1", "agent.updates=1"]
    few += [f"filters.{key}=0" for key in ("k_core", "min_entity", "min_relation")]
    sets = [word for text in few for word in ("--set", text)]
    over = {"train.epochs", *(text.partition("=")[0] for text in few)}
    code, _, err = run(capsys, "train", *argv, "--config", str(tmp_path / "some.toml"), *sets)
    assert code == 0, err
    opened = cerec.open(tmp_path / "run")
    for section, values in PRESETS[name].items():
        for key, value in values.items():
            if f"{section}.{key}" not in over:
                assert to_table(opened.config)[section][key] == value
    assert opened.config.train.epochs == 4
    learned = [r for r in opened.history if r["phase"] == "recommender" and "reward" in r]
    assert [r["epoch"] for r in learned] == [2, 3, 4]  # the agent takes turns from the warm-up on


def test_a_file_goes_over_the_preset(tmp_path: Path, capsys) -> None:
    path = tmp_path / "full.toml"
    path.write_text(run(capsys, "settings")[1])
    assert RunConfig.of(file=path, preset="paper") == RunConfig().resolved()
    path.write_text(run(capsys, "settings", "--preset", "paper")[1])
    assert RunConfig.of(file=path) == parse(RunConfig, PRESETS["paper"])
    assert 'model = "climf"' in run(capsys, "settings", "recommender", "--preset", "paper")[1]
    assert "did you mean paper?" in run(capsys, "settings", "--preset", "papers")[2]


def test_a_file_may_say_a_part(tmp_path: Path, capsys) -> None:
    path = tmp_path / "d.toml"
    path.write_text("[split]\ntrain = 0.8\n")
    assert RunConfig.of({"split": {"test": 0.0}}, file=path).split.train == 0.8
    code, _, err = run(capsys, "train", "demo", "--out", "no-run", "--config", str(path))
    assert code == 2
    assert err.startswith(f"cerec: {path}, line 2: split.train, split.valid and split.test must")


def test_mistakes_are_one_line(
    world: Path, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = str(tmp_path / "new")
    cases = [
        (["train", str(world / "tables"), "--out", str(trained)], "holds a run"),
        (["train", "demo", "--out", new, "--set", "train.epoch=3"], "did you mean 'epochs'"),
        (["train", "demo", "--out", new, "--preset", "papers"], "did you mean paper?"),
        (["train", str(tmp_path / "none"), "--out", new], "none"),
        (
            ["train", "demo", "--out", new, "--model", "bpr", "--set", "model.dim=8"],
            "model.dim is un",
        ),
        (["train", "demo", "--out", new, "--model", "bpr", "--holdout"], "model.holdout is un"),
        (["train", "demo", "--out", new, "--model", "liner"], "did you mean linear"),
        (["train", "demo", "--out", new, "--set", "model.dail=0"], "did you mean 'dial'"),
        (["recommend", str(trained), "--user", "u01x"], "did you mean 'u01'"),
        (["train", "demo", "--out", new, "--set", "recommender.l2=nan"], "must be a finite number"),
        (["train", "demo", "--out", new, "--set", "agent.learning_rate=inf"], "finite number"),
        (["train", "demo", "--out", new, "--set", "train.metric=ndcg@020"], "ndcg@K, got"),
        (["train", "demo", "--out", new, "--set", "recommender.dim=1000000000"], "at most 100,000"),
        (["train", "demo", "--out", new, "--set", "encoder.size=1000000000"], "at most 100,000"),
        (["recommend", str(trained)], "give --user ID"),
        (["recommend", str(trained), "--user", "u01", "--out", new], "--out goes with --all"),
        (["recommend", str(trained), "--user", "u01", "--all", "--out", new], "leave --user"),
        (["settings", "agents"], "did you mean 'agent'?"),
        (["settings", "nosuch"], "known: filters, split"),
        (["recommend", str(trained), "--history", " ,"], "--history takes item ids"),
        (["recommend", str(trained), "--new-item", "genre"], "expected RELATION=ATTRIBUTE"),
        (["recommend", str(trained), "--new-item", "gnre=Drama"], "did you mean 'genre'"),
        (["recommend", str(trained), "--new-item", "genre=Drma"], "did you mean 'Drama'"),
        (
            ["recommend", str(trained), "--new-item", "a=b", "--history", "m01"],
            "leave --history out",
        ),
        (["recommend", str(trained), "--user", "u01", "-k", "0"], "k must be a whole number"),
        (["evaluate", str(trained), "--part", "train"], "--part must be test or valid"),
        (["evaluate", str(trained), "--k", "ten"], "--k takes whole numbers"),
        (["evaluate", str(tmp_path / "none")], "no such folder"),
    ]
    for argv, expected in cases:
        code, _, err = run(capsys, *argv)
        assert code == 2
        assert err.count("\n") == 1
        assert expected in err
    assert not Path(new).exists()


def test_recommend_json_and_everyone(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "recommend", str(trained), "--user", "u01", "-k", "3", "--json")
    assert code == 0
    lines = json.loads(out)
    assert [line["rank"] for line in lines] == [1, 2, 3]
    assert set(lines[0]) == {"item", "name", "score", "rank"}
    code, _, _ = run(
        capsys, "recommend", str(trained), "--all", "--out", str(tmp_path / "t.parquet")
    )
    assert code == 0
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert table.columns == ["user", "item", "name", "score", "rank"]
    mine = table.filter(pl.col("user") == "u01").drop("user")
    assert mine.rows(named=True)[:3] == lines
    assert table["user"].unique(maintain_order=True).to_list() == list(
        cerec.open(trained).data.users
    )


@pytest.mark.parametrize(
    ("seen", "told"),
    [([0.1, 0.3, 0.2, 0.4], True), ([0.1, 0.4, 0.2, 0.3], False), ([np.nan] * 4, False)],
)
def test_a_training_that_ends_while_validation_rises_says_so(
    seen: list[float],
    told: bool,
    world: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    looks = iter(seen)
    metric = QUICK.train.metric
    monkeypatch.setattr(cotrain, "validation_figures", lambda *_: {metric: next(looks)})
    argv = ["train", str(world / "tables"), "--out", str(tmp_path / "run")]
    argv += ["--config", str(world / "quick.toml"), "--set", "train.agent_epochs=0"]
    argv += ["--set", "train.epochs=4", "--set", "train.validate_every=1"]
    argv += ["--set", "train.warmup=1"]
    code, _, err = run(capsys, *argv)
    assert code == 0, err
    words = f"{metric} of validation still rose; more epochs may help: --set train.epochs=8 --force"
    assert (words in err) == told
    assert (words in run(capsys, *argv[:4], "--resume")[2]) == told  # finished before


def test_an_unfinished_training_is_kept_and_gone_on_with(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    argv = ["train", str(world / "tables"), "--out", str(tmp_path / "run")]
    config = ["--config", str(world / "quick.toml"), "--seed", "3"]
    code, *_ = run(capsys, *argv[:3], str(tmp_path / "whole"), *config)
    assert code == 0

    def look(*_: object) -> dict[str, float]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cotrain, "validation_figures", look)
        code, _, err = run(capsys, *argv, *config, "--set", "train.checkpoint_seconds=0")
    assert code == 130
    assert "--resume" in err
    (tmp_path / "run" / "run.json").unlink()  # as after a kill
    code, _, err = run(capsys, *argv, *config)
    assert code == 2
    assert "holds an unfinished training" in err
    code, _, err = run(capsys, *argv, "--resume", "--set", "train.epochs=7")
    assert code == 2
    assert "started with another train.epochs;" in err  # and nothing else
    # settings and seed of the beginning, but for what changes no number
    code, _, err = run(capsys, *argv, "--resume", "--set", "train.checkpoint_seconds=9")
    assert code == 0, err
    assert "saved" in err
    assert "nothing to resume" not in err
    assert "finished before" in run(capsys, *argv, "--resume")[2]
    assert cerec.open(tmp_path / "run").metrics == cerec.open(tmp_path / "whole").metrics


@pytest.mark.parametrize("after", [True, False])
def test_an_interrupt_outside_the_epochs_is_told(
    after: bool, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    argv = ["train", str(world / "tables"), "--out", str(tmp_path / "run")]
    argv += ["--config", str(world / "quick.toml"), "--set", "train.agent_epochs=0"]
    where = "final_figures" if after else "_model"  # before the first one there is no checkpoint
    monkeypatch.setattr(cotrain, where, lambda *_, **__: signal.raise_signal(signal.SIGINT))
    code, _, err = run(capsys, *argv)
    assert code == 130
    rest = "; go on with the same command and --resume" if after else ""
    assert err.splitlines()[-1] == f"cerec: stopped{rest}"


@pytest.mark.parametrize(
    ("stop_at", "words"),
    [(1, "not yet validated"), (2, "of the warm-up"), (4, "the best so far")],
)
def test_what_an_interrupt_leaves_is_named(
    stop_at: int, words: str, world: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    argv = ["train", str(world / "tables"), "--out", str(tmp_path / "run")]
    argv += ["--config", str(world / "quick.toml")]
    argv += ["--set", "train.warmup=2", "--set", "train.validate_every=2"]
    argv += ["--set", "train.epochs=6"]
    finish = loop.Trainer._finish

    def finished(self, row, started) -> None:
        finish(self, row, started)
        if row["epoch"] == stop_at:
            self._stop.asked = True

    monkeypatch.setattr(loop.Trainer, "_finish", finished)
    code, _, err = run(capsys, *argv)
    assert code == 130
    assert words in " ".join(err.split("stopped;")[-1].split())


def test_what_stopped_before_its_first_checkpoint_is_not_said_to_go_on(
    world: Path, tmp_path: Path, monkeypatch, capsys, caplog
) -> None:
    argv = ["train", str(world / "tables"), "--out", str(tmp_path / "run")]

    def look(*_: object) -> dict[str, float]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cotrain, "validation_figures", look)
        code, _, err = run(capsys, *argv, "--config", str(world / "quick.toml"))
    assert code == 130
    assert "--resume" not in err
    assert "--force starts over" in err
    code, *_ = run(capsys, *argv, "--resume")
    assert code == 0
    assert "nothing to resume there; starting over" in caplog.text


def test_the_reward_is_shown_while_recommender_and_agent_learn_in_turn(
    world: Path, tmp_path: Path, capsys
) -> None:
    argv = ["train", str(world / "tables"), "--out", str(tmp_path / "run"), "--preset", "paper"]
    argv += ["--set", "filters.k_core=0", "--set", "filters.min_relation=0"]
    argv += ["--set", "filters.min_entity=0", "--set", "train.validate_every=2"]
    argv += ["--set", "train.epochs=5", "--set", "train.agent_epochs=1"]
    code, _, err = run(capsys, *argv, "--set", "agent.updates=1")
    assert code == 0
    lines = [line for line in err.splitlines() if line.startswith("recommender epoch")]
    assert [re.sub(r"[0-9]+[.][0-9]+", "x", line) for line in lines] == [
        f"recommender epoch {n} of 5: loss x  reward x  recall@20 x  ndcg@20 x" for n in (2, 4, 5)
    ]


def test_settings_are_a_file_to_start_from(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "settings")
    assert code == 0
    assert parse(RunConfig, tomllib.loads(out)) == RunConfig().resolved()
    assert (
        "# Steps T of a walk, 1 to 5; the last item is the counterfactual item.\ndepth = 1" in out
    )
    code, out, _ = run(capsys, "settings", "kgat")
    assert code == 0
    assert parse(RunConfig, tomllib.loads(out)).system[0] == "kgat"


def test_recommend_for_somebody_new(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "recommend", str(trained), "--history", "m01, m02", "-k", "4", "--json"
    )
    assert code == 0
    assert {"m01", "m02"}.isdisjoint(line["item"] for line in json.loads(out))


@pytest.mark.parametrize(
    "argv",
    [
        ("recommend", "--all", "--out", "users.parquet"),
        ("evaluate", "--per-user", "history.csv"),
        ("explain", "--all", "--out", "items.parquet"),
    ],
)
def test_the_files_of_a_run_are_not_written_over(
    argv: tuple[str, ...], trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *options, name = argv
    before = (trained / name).read_bytes()
    code, _, err = run(capsys, command, str(trained), *options, str(trained / name))
    assert code == 2
    assert err.strip() == (
        f"cerec: {trained / name}: is part of the run in that folder; choose another {options[-1]}"
    )
    assert (trained / name).read_bytes() == before


def test_who_knows_every_item_is_told_so(tmp_path: Path, capsys) -> None:
    (tmp_path / "interactions.csv").write_text(
        "user,item\n" + "".join(f"all,i{n}\n" for n in range(6)) + "one,i0\ntwo,i1\ntwo,i2\n"
    )
    (tmp_path / "items.csv").write_text(
        "item,genre\n" + "".join(f"i{n},{'ab'[n % 2]}\n" for n in range(6))
    )
    whole = {"train": 1.0, "valid": 0.0, "test": 0.0}
    config = parse(RunConfig, {"split": whole})
    cerec.train(cerec.load(tmp_path), config, out=tmp_path / "run")
    code, out, err = run(capsys, "recommend", str(tmp_path / "run"), "--user", "all")
    assert (code, out) == (0, "")
    assert err.strip() == "all knows every item; nothing is left to recommend"
    every = ["--all", "--out", str(tmp_path / "lists.csv"), "-k", "2"]
    _, _, err = run(capsys, "recommend", str(tmp_path / "run"), *every)
    said = " ".join(err.split())
    assert "wrote 4 lines for 2 users to" in said
    assert said.endswith("; none for 1, who know every item")


def test_going_on_and_beginning_anew_are_two_things(trained: Path, capsys) -> None:
    code, _, err = run(capsys, "train", "demo", "--out", str(trained), "--resume", "--force")
    assert code == 2
    assert err.strip() == "cerec: --resume continues, --force starts over; give one of the two"


def test_users_for_a_new_item(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = cerec.open(trained)
    pairs = opened.attributes("m05")[:2]
    argv = [word for pair in pairs for word in ("--new-item", "=".join(pair))]
    code, out, _ = run(capsys, "recommend", str(trained), *argv, "-k", "4", "--json")
    assert code == 0
    assert json.loads(out) == [asdict(line) for line in opened.new_item(pairs).users(4)]
    code, out, _ = run(capsys, "recommend", str(trained), *argv, "--user", "u01", "--json")
    assert json.loads(out) == [asdict(opened.new_item(pairs).place("u01"))]
    code, out, _ = run(capsys, "recommend", str(trained), *argv, "--user", "u01")
    assert "u01" in out


def test_values_of_the_same_relation_are_suggested(trained: Path, capsys) -> None:
    opened = cerec.open(trained)
    pairs = {pair for item in opened.data.items for pair in opened.attributes(item)}
    ids = {attribute for relation, attribute in pairs if relation == "genre"}
    names = {opened.data.entities.name(opened.data.entities.row(a)) for a in ids}
    for word in ("Nope", "amarinth", "Drma"):
        code, _, err = run(capsys, "recommend", str(trained), "--new-item", f"genre={word}")
        assert code == 2
        assert err.startswith(f"cerec: unknown value of genre '{word}'; ")
        assert set(re.findall(r"'([^']+)'", err)[1:]) <= names | ids


def test_ids_with_commas_are_given_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = make_world(SMALL, seed=1)
    mine = replace(data, items=IdTable("item", ["m01,m02", *data.items.ids[1:]]))
    cerec.train(mine, out=tmp_path / "run")
    argv = ["recommend", str(tmp_path / "run"), "--json"]
    ways = (["m01,m02", "m03"], ["m03", "m01,m02"], ["m03,m04"])
    one, same, other = (
        run(capsys, *argv, *(word for text in way for word in ("--history", text)))[1]
        for way in ways
    )
    assert one == same
    known = {line["item"] for line in json.loads(one)}
    assert known.isdisjoint({"m01,m02", "m03"})
    assert one != other


def test_lists_longer_than_any_memory(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "evaluate", str(trained), "--k", f"80,{10**20}", "--json")
    assert code == 0, err
    means = json.loads(out)
    assert means[f"ndcg@{10**20}"] == means["ndcg@80"]
    assert means[f"precision@{10**20}"] == pytest.approx(means["precision@80"] * 80 / 10**20)


def test_too_little_memory_is_one_line(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise MemoryError("Unable to allocate 447. GiB")

    monkeypatch.setattr(measure, "subject_lists", full)
    code, _, err = run(capsys, "evaluate", str(trained))
    assert (code, err) == (2, "cerec: not enough memory: Unable to allocate 447. GiB\n")


def test_evaluate_equals_what_training_said(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    users = tmp_path / "users.parquet"
    argv = ["evaluate", str(trained), "--k", "10,20", "--per-user", str(users), "--json"]
    code, out, _ = run(capsys, *argv)
    assert code == 0
    means = json.loads(out)
    test = cerec.open(trained).metrics["test"]
    assert means["recall@20"] == pytest.approx(test["recall@20"])
    assert means["users"] == test["users"]
    table = pl.read_parquet(users)
    assert table["ndcg@10"].drop_nans().mean() == pytest.approx(means["ndcg@10"])
    plain = tmp_path / "users.csv"
    assert run(capsys, "evaluate", str(trained), "--k", "10,20", "--per-user", str(plain))[0] == 0
    assert pl.read_csv(plain).columns == table.columns
    code, _, err = run(capsys, "evaluate", str(trained), "--per-user", str(tmp_path / "users.txt"))
    assert code == 2
    assert "must end in .parquet or .csv" in err


@pytest.mark.slow
def test_a_killed_training_resumes_to_the_same_numbers(world: Path, tmp_path: Path) -> None:
    sets = ["--preset", "paper", "--set", "train.epochs=60", "--set", "train.patience=60"]
    sets += [
        w for k in ("k_core", "min_entity", "min_relation") for w in ("--set", f"filters.{k}=0")
    ]
    often = ["--set", "train.checkpoint_seconds=0"]
    argv = [sys.executable, "-m", "cerec.cli.main", "train", str(world / "tables"), *sets, *often]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run([*argv, "--out", str(whole)], check=True, capture_output=True)
    for _ in range(3):
        process = subprocess.Popen(
            [*argv, "--out", str(broken), "--resume"], stderr=subprocess.DEVNULL
        )
        started = time.monotonic()
        while not (broken / "checkpoint").is_dir() and time.monotonic() - started < 60:
            time.sleep(0.05)
        time.sleep(0.7)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run([*argv, "--out", str(broken), "--resume"], check=True, capture_output=True)
    one, two = cerec.open(whole), cerec.open(broken)
    assert one.metrics == two.metrics
    assert len(one.history) == len(two.history)
    assert (one.model.arrays["item"] == two.model.arrays["item"]).all()
    assert one.vectors is not None
    assert two.vectors is not None
    assert (one.vectors == two.vectors).all()


def test_a_folder_given_for_a_file_stays(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    folder = tmp_path / "a.parquet"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    monkeypatch.chdir(folder)
    cases = [
        ["report", str(trained), "--out"],
        ["recommend", str(trained), "--all", "--out"],
        ["evaluate", str(trained), "--per-user"],
        ["explain", str(trained), "--all", "--out"],
    ]
    for argv in cases:
        for name in (str(folder), "."):
            code, _, err = run(capsys, *argv, name)
            assert (code, err) == (2, f"cerec: {name}: is a folder; give the name of a file\n")
    assert [p.name for p in tmp_path.rglob("*")] == ["a.parquet", "mine.txt"]


@pytest.mark.parametrize("text", ["{}", "[1]", "{", '{"config": "[", "seed": 0}', "gone"])
@pytest.mark.parametrize("name", ["origin.json", "checkpoint/counters.json"])
def test_a_damaged_beginning_is_told(
    name: str, text: str, world: Path, tmp_path: Path, capsys
) -> None:
    few = TrainConfig(epochs=1, agent_epochs=0, checkpoint_seconds=0)
    config = RunConfig(model={"name": "cotrained"}, train=few)
    data, folder = cerec.load(world / "tables"), tmp_path / "run"
    origin = {"data": data.fingerprint, "config": to_toml(config), "seed": 0}
    write_json(folder / "origin.json", origin)
    write_checkpoint(folder / "checkpoint", Checkpoint({}, {}))  # no counters in it
    if text == "gone":
        (folder / "checkpoint" / "counters.json").unlink()
        name = "checkpoint/counters.json"
    elif text != "{}" or name == "origin.json":
        (folder / name).write_text(text)
    code, _, err = run(capsys, "train", str(world / "tables"), "--out", str(folder), "--resume")
    assert code == 2
    assert err.count("\n") == 1
    assert f"{folder / name}: damaged or gone" in err
    assert "--force" in err


def test_an_empty_out_is_refused(
    world: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    data = str(world / "tables")
    cases = [
        ["train", data, "--out"],
        ["demo", "--out"],
        ["report", str(trained), "--out"],
        ["recommend", str(trained), "--all", "--out"],
        ["evaluate", str(trained), "--per-user"],
        ["explain", str(trained), "--all", "--out"],
        ["bench", "compare", data, "--out"],
        ["bench", "explanations", data, "--out"],
        ["bench", "run", "all", "--quick", "--out"],
        ["data", "make", "--out"],
        ["data", "split", data, "--out"],
    ]
    for argv in cases:
        code, _, err = run(capsys, *argv, "")
        assert code == 2
        assert err.count("\n") == 1
        assert "is empty; give a name" in err
    with pytest.raises(ConfigError, match="out must be the name of a folder, got ''"):
        cerec.train(cerec.load(data), out="")
    assert not list(tmp_path.iterdir())
