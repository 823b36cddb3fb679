"""A run folder is what was written, or one line says which file is not."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cerec
from cerec import manifest
from cerec.errors import RunError
from cerec.files import read_arrays, write_arrays
from cerec.runs.folder import FILES
from mutations import mutate
from run_folders import reseal


@pytest.fixture
def folder(small_run: cerec.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CEREC_CACHE", str(tmp_path / "cache"))
    return small_run.save(tmp_path / "run")


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_or_missing_file_is_named(folder: Path, name: str) -> None:
    sound, rng = (folder / name).read_bytes(), random.Random(name)
    for _ in range(40):
        content = mutate(sound, rng)
        (folder / name).write_bytes(content)
        if content == sound or (name == "run.json" and _same(content, sound)):
            cerec.open(folder)
            continue
        with pytest.raises(RunError, match=rf"{name}: ") as told:
            cerec.open(folder)
        assert len(str(told.value).splitlines()) == 1
    (folder / name).unlink()
    words = "is not a run folder" if name == "run.json" else f"{name}: no such file"
    with pytest.raises(RunError, match=words):
        cerec.open(folder)


def _same(content: bytes, sound: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        return bool(json.loads(content) == json.loads(sound))
    return False


@pytest.fixture(scope="module")
def other(small_run: cerec.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cerec.train(small_run.data, seed=8).save(tmp_path_factory.mktemp("other") / "run")


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_run_is_named(folder: Path, name: str, other: Path) -> None:
    if (other / name).read_bytes() == (folder / name).read_bytes():
        return
    shutil.copy(other / name, folder / name)
    words = "is not the file|bytes instead" + ("" if name != "run.json" else "|no such file")
    with pytest.raises(RunError, match=words):
        cerec.open(folder)


def test_a_folder_is_read_once_and_again_when_it_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = manifest._digest
    monkeypatch.setattr(manifest, "_digest", lambda p: (read.append(p.name), real(p))[1])
    for _ in range(3):
        cerec.open(folder)
    assert sorted(read) == sorted(set(FILES) - {"run.json"})
    content = (folder / "model.safetensors").read_bytes()
    times = (folder / "model.safetensors").stat()
    (folder / "model.safetensors").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(folder / "model.safetensors", ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(RunError, match=r"model\.safetensors: is not the file"):
        cerec.open(folder)  # though size and time are those of before


def test_a_cache_that_cannot_be_used_changes_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(exist_ok=True)
    for content in ("[1]", "{", '{"x": 1}'):
        (tmp_path / "cache" / "checked.json").write_text(content)
        assert cerec.open(folder).recommend("u01")
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("a file")
    assert cerec.open(folder).recommend("u01")


def _arrays(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        path = folder / "model.safetensors"
        arrays = {n: a.copy() for n, a in read_arrays(path).items()}
        write_arrays(path, {**arrays, name: change(arrays[name])})

    return harm


def _table(frame: pl.DataFrame) -> Callable[[Path], None]:
    return lambda folder: frame.write_parquet(folder / "users.parquet")


def _pipe(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")


STRANGE = {
    "row out of range": _arrays("model.pair", lambda a: a + 10_000_000),
    "negative row": _arrays("model.history", lambda a: a - 5),
    "starts that fall": _arrays("model.history_ptr", lambda a: a[::-1].copy()),
    "another type": _arrays("model.own", lambda a: a.astype(np.int64)),
    "another shape": _arrays("model.scale", lambda a: a[:-1]),
    "known out of range": _arrays("known.indices", lambda a: a + 1000),
    "known by fractions": _arrays("known.indices", lambda a: a.astype(np.float64)),
    "values that are not there": _arrays("model.vocabulary", lambda a: a + 1_000_000),
    "a billion users": _table(pl.DataFrame({"id": ["u"]}).select(
        pl.col("id").repeat_by(20_000_000).explode(), name=pl.lit("u"))),
    "long names": _table(pl.DataFrame({"id": ["u", "v"], "name": ["x" * 50_000_000] * 2})),
    "lists": _table(pl.DataFrame({"id": [["u"]], "name": ["x"]})),
    "a pipe": _pipe,
}  # fmt: skip


@pytest.mark.parametrize("harm", STRANGE)
def test_a_run_made_to_do_harm_is_refused_in_one_line(folder: Path, harm: str) -> None:
    STRANGE[harm](folder)
    if harm != "a pipe":
        reseal(folder)
    with pytest.raises(RunError) as told:
        cerec.open(folder).recommend("u01")
    assert len(str(told.value).splitlines()) == 1
