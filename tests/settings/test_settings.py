"""Settings: read, checked, written back."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Literal, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cerec.errors import ConfigError
from cerec.settings.base import Widths, parse, settings
from cerec.settings.recommender import RecommenderConfig
from cerec.settings.run import (
    RunConfig,
    apply_sets,
    read_tables,
    read_toml,
    to_table,
    to_toml,
)
from cerec.settings.train import SignalConfig, TrainConfig


@settings("sampler")
class Inner:
    hops: int = 2
    rate: float = 0.1
    kind: Literal["sage", "gcn"] = "sage"
    sizes: Widths = (32, 64)
    name: str | None = None
    on: bool = True


@settings("")
class Outer:
    sampler: Inner = field(default_factory=Inner)


def refused(table: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(Outer, table)


def test_settings_made_by_hand_are_held_to_what_a_file_may_say() -> None:
    for field_, value in (("checkpoint_seconds", float("nan")), ("epochs", "yes")):
        with pytest.raises(ConfigError, match=rf"train\.{field_} must be"):
            TrainConfig(**{field_: value})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"recommender\.l2 must be a finite number, got inf"):
        RecommenderConfig(l2=float("inf"))
    with pytest.raises(ConfigError, match=r"recommender\.l2 must be a number, got 1000"):
        RecommenderConfig(l2=10**400)
    with pytest.raises(ConfigError, match=r"recommender\.l2 must be a number, got 1000"):
        parse(RunConfig, {"recommender": {"l2": 10**400}})
    with pytest.raises(ConfigError, match=r"train must be of TrainConfig, got {'epochs': 3}"):
        RunConfig(train={"epochs": 3})  # type: ignore[arg-type]


def test_values_are_taken() -> None:
    config = parse(Outer, {"sampler": {"hops": 3, "rate": 1, "kind": "gcn", "sizes": [8]}})
    assert config.sampler == Inner(hops=3, rate=1.0, kind="gcn", sizes=(8,))


def test_unknown_key_names_the_near_match() -> None:
    refused({"sampler": {"hop": 3}}, r"unknown key 'hop' in \[sampler\]; did you mean 'hops'\?")
    refused({"smapler": {}}, "did you mean 'sampler'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[train]\nepochs = 5\n[recommender]\nlerning_rate = 1\n", "line 4: unknown key"),
        ("[train]\nepochs = 'five'\n", "line 2: train.epochs must be a whole number"),
        ("[split]\ntrain = 0.8\nvalid = 'x'\n", "line 3: split.valid must be a number"),
        ("[agnet]\n", "line 1: unknown key 'agnet'"),
        ("\nagent = 3\n", r"line 2: \[agent\] must be a table"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(ConfigError, match=rf"run\.toml, {message}"):
        RunConfig.of(file=tmp_path / "run.toml")


def test_the_mark_some_editors_begin_a_file_with_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[train]\nepochs = 5\n", encoding="utf-8-sig")
    assert read_tables(path) == {"train": {"epochs": 5}}
    path.write_text("[trian]\n", encoding="utf-8-sig")
    with pytest.raises(ConfigError, match=r"run\.toml, line 1: unknown key 'trian'"):
        RunConfig.of(file=path)


def test_rules_across_settings_are_checked_once_merged(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[train]\nwarmup = 1\nepochs = 0\n[split]\ntrain = 0.8\n")

    def merged(*sets: str) -> RunConfig:
        return RunConfig.of(apply_sets({}, sets), file=path)

    with pytest.raises(ConfigError, match=r"run\.toml, line 3: train.epochs must be at least 1"):
        merged("split.test=0.0")
    with pytest.raises(ConfigError, match=r"run\.toml, line 5: split.train, split.valid and"):
        merged("train.epochs=9")
    with pytest.raises(ConfigError, match=r"^train.epochs must be at least 1, got -1"):
        merged("train.epochs=-1", "split.test=0.0")
    assert merged("split.test=0.0", "train.epochs=9").split.train == 0.8


def test_wrong_types_are_told() -> None:
    refused({"sampler": {"hops": "three"}}, "sampler.hops must be a whole number, got 'three'")
    refused({"sampler": {"hops": True}}, "sampler.hops must be a whole number, got True")
    refused({"sampler": {"on": 1}}, "sampler.on must be true or false, got 1")
    refused(
        {"sampler": {"kind": "sgae"}}, "must be one of sage, gcn, got 'sgae'; did you mean 'sage'"
    )
    refused({"sampler": {"sizes": 3}}, "sampler.sizes must be a list, got 3")
    refused({"sampler": 3}, r"\[sampler\] must be a table, got 3")


def choices() -> list[tuple[type, str, str]]:
    """(dataclass, section, field) of every setting of a run that is one of a few words."""
    sections = get_type_hints(RunConfig)
    out = []
    for section, cls in sections.items():
        if section != "model":  # an open table
            hints = get_type_hints(cls)
            out += [(cls, section, n) for n, h in hints.items() if get_origin(h) is Literal]
    return out


@pytest.mark.parametrize(("cls", "section", "name"), choices(), ids=str)
def test_a_word_that_is_no_choice_is_refused_from_python_too(
    cls: type, section: str, name: str
) -> None:
    with pytest.raises(ConfigError, match=rf"{section}\.{name} must be one of .*, got 'unifrom'"):
        cls(**{name: "unifrom"})


def test_a_misspelt_choice_names_the_near_match() -> None:
    assert len(choices()) > 8
    with pytest.raises(ConfigError, match=r"^signals\.negatives .* did you mean 'uniform'\?$"):
        SignalConfig(negatives="unifrom")  # type: ignore[arg-type]


def test_set_takes_toml_and_bare_words() -> None:
    table = apply_sets({"sampler": {"hops": 1}}, ["sampler.hops=4", "sampler.kind=gcn"])
    assert table == {"sampler": {"hops": 4, "kind": "gcn"}}
    with pytest.raises(ConfigError, match=r"--set takes section\.key=value, got 'hops=4'"):
        apply_sets({}, ["hops=4"])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        read_toml(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("a = = 1")
    with pytest.raises(ConfigError, match=r"bad\.toml: not valid TOML"):
        read_toml(tmp_path / "bad.toml")


@given(
    st.builds(
        Inner,
        hops=st.integers(-5, 5),
        rate=st.floats(allow_nan=False, allow_infinity=False),
        kind=st.sampled_from(["sage", "gcn"]),
        sizes=st.lists(st.integers(1, 99)).map(tuple),
        name=st.none()
        | st.text(st.characters(min_codepoint=32, exclude_characters="\x7f"), min_size=1),
        on=st.booleans(),
    )
)
def test_toml_round_trip(inner: Inner) -> None:
    import tomllib

    outer = Outer(sampler=inner)
    assert parse(Outer, tomllib.loads(to_toml(outer))) == outer
    assert parse(Outer, to_table(outer)) == outer


def test_settings_from_python_as_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[train]\nepochs = 7\n[split]\ntrain = 0.8\n", encoding="utf-8")
    made = RunConfig.of({"split": {"test": 0.0}}, preset="paper", file=file)
    assert made.model == {"name": "cotrained"}
    assert (made.train.epochs, made.split.train, made.split.test) == (7, 0.8, 0.0)
    assert RunConfig.of() == RunConfig().resolved()
    with pytest.raises(ConfigError, match=f"{file}, line 4: split.train, split.valid"):
        RunConfig.of(file=str(file))
    with pytest.raises(ConfigError, match="did you mean paper"):
        RunConfig.of(preset="papr")
    with pytest.raises(ConfigError, match=r"\[train\] must be a table, got 5"):
        RunConfig.of({"train": 5})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="did you mean 'epochs'"):
        RunConfig.of({"train": {"epoch": 5}})
