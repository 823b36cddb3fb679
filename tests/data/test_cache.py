from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies_data import worlds

from cerec.data import load as load_module
from cerec.data.dataset import Dataset
from cerec.data.load import load
from cerec.data.store import read_cache, write_cache
from cerec.files import cache_folder

ROWS = "user,item,rating\nann,1,5\nbob,2,3\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "interactions.csv").write_text(ROWS)
    return tmp_path / "data"


def kept() -> list[Path]:
    return sorted((cache_folder() / "data").glob("*"))


def test_a_second_load_reads_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(folder)
    monkeypatch.setitem(load_module.READERS, "tables", (load_module.tables, _never))
    second = load(folder)
    assert second == first
    assert (second.name, second.notes) == (first.name, first.notes)
    assert second.users.row("bob") == 1


def _never(*_: object, **__: object) -> Dataset:
    raise AssertionError("read again")


def test_changed_files_and_options_are_read_anew(folder: Path) -> None:
    load(folder)
    state = (folder / "interactions.csv").stat()
    (folder / "interactions.csv").write_text(ROWS.replace("bob", "cat"))
    os.utime(folder / "interactions.csv", ns=(state.st_atime_ns, state.st_mtime_ns))
    assert load(folder).users.ids == ("ann", "cat")  # same size, same time, other content
    (folder / "items.csv").write_text("item,price\n1,3\n2,9\n3,\n")
    assert len(load(folder).items) == 3
    assert load(folder, bins={"price": 2}).entities.ids == ("price:5 or more", "price:below 5")
    assert load(folder).entities.ids == ("price:3", "price:9")


@pytest.mark.parametrize("name", ["users.parquet", "graph.safetensors", "data.json"])
@pytest.mark.parametrize("at", [0, 5, -5, None])
def test_a_damaged_cache_is_passed_over_and_mended(folder: Path, name: str, at: int | None) -> None:
    data = load(folder)
    (path,) = kept()
    broken = bytearray((path / name).read_bytes())
    if at is None:
        broken = broken[: len(broken) // 2]
    else:
        broken[at] ^= 0xFF
    (path / name).write_bytes(broken)
    assert load(folder) == data
    assert load(folder) == data
    assert kept() == [path]


def test_without_cache_nothing_is_kept(folder: Path) -> None:
    load(folder, cache=False)
    assert kept() == []


def test_a_folder_that_cannot_be_written_does_not_matter(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CEREC_CACHE", str(tmp_path / "file" / "below"))
    assert load(folder) == load(folder, cache=False)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=worlds(), key=st.text(max_size=5))
def test_what_is_kept_comes_back(
    tmp_path: Path, frames: dict[str, dict[str, list[str]]], key: str
) -> None:
    data = Dataset.from_frames(**frames)
    write_cache(tmp_path / "a", key, data)
    back = read_cache(tmp_path / "a", key)
    assert back == data
    assert read_cache(tmp_path / "a", key + "x") is None
    assert back is not None
    assert back.interactions.user.flags.writeable
    assert isinstance(back.triples.head, np.ndarray)
