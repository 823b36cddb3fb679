"""Nothing half-written: replacing files and folders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cerec.errors import RunError
from cerec.files import read_arrays, read_json, replacing, write_arrays, write_json


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "old.txt").write_text("old")
    with replacing(run, folder=True) as new:
        new.mkdir()
        (new / "new.txt").write_text("new")
    assert [p.name for p in run.iterdir()] == ["new.txt"]
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_failure_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})

    def fail() -> None:
        with replacing(path) as new:
            new.write_text("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert read_json(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_arrays_round_trip_and_damage_is_told(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    write_arrays(path, {"x": np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::2]})
    assert read_arrays(path)["x"].tolist() == [[0.0, 2.0], [3.0, 5.0]]
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(RunError, match=r"m\.safetensors: damaged"):
        read_arrays(path)
    with pytest.raises(RunError, match="no such file"):
        read_arrays(tmp_path / "none.safetensors")


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path, monkeypatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("mine")
    (tmp_path / "link").symlink_to(site)
    monkeypatch.chdir(site)
    for path in (site, tmp_path / "link", Path()):
        with pytest.raises(RunError, match="is a folder; give the name of a file"):
            write_json(path, {})
    assert (tmp_path / "link" / "index.html").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "site"]
