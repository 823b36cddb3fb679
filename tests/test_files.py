"""Nothing half-written: replacing files and folders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cerec import asides
from cerec.asides import lock_file
from cerec.errors import RunError
from cerec.files import (
    exchanged,
    read_arrays,
    read_json,
    replacing,
    write_arrays,
    write_json,
)


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "old.txt").write_text("old")
    with replacing(run, folder=True) as new:
        new.mkdir()
        (new / "new.txt").write_text("new")
    assert [p.name for p in run.iterdir()] == ["new.txt"]
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.skipif(sys.platform != "linux", reason="two renames elsewhere")
def test_a_folder_is_never_missing_while_it_is_replaced(tmp_path: Path, monkeypatch) -> None:
    run, there = tmp_path / "run", []
    run.mkdir()
    (run / "old.txt").write_text("old")
    for name in ("rename", "replace"):
        monkeypatch.setattr(Path, name, lambda *_: there.append(run.is_dir()))
    with replacing(run, folder=True) as new:
        new.mkdir()
        (new / "new.txt").write_text("new")
    assert [p.name for p in run.iterdir()] == ["new.txt"]
    assert there == []  # no rename beside the one that exchanges the two


def test_two_paths_change_places_or_stay(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    assert not exchanged(one, other)  # there is no other
    other.mkdir()
    (other / "mine").write_text("")
    done = exchanged(one, other)
    assert [p.name for p in tmp_path.rglob("mine")] == ["mine"]
    assert (one / "mine").exists() == done


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


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    """With files of 4 kB at the most, in a process of its own."""
    code = """
import pickle, resource
import numpy as np, polars as pl
import subprocess
import sys
from pathlib import Path
from cerec.asides import Unwritten
from cerec.files import replacing, write_arrays, write_json
from cerec.checkpoint import Checkpoint, write_checkpoint

def frame(rows):
    return pl.DataFrame({"a": np.random.default_rng(0).random(rows)})

def table(path, rows):
    with replacing(path) as new:
        frame(rows).write_csv(new) if path.suffix == ".csv" else frame(rows).write_parquet(new)

def joined(path, rows):
    with replacing(path) as new:
        frame(rows).lazy().sink_parquet(new)

WRITERS = {
    "a.json": lambda path, n: write_json(path, list(range(n))),
    "a.safetensors": lambda path, n: write_arrays(path, {"x": np.zeros(n)}),
    "a.csv": table,
    "a.parquet": table,
    "b.parquet": joined,
    "checkpoint": lambda path, n: write_checkpoint(path, Checkpoint({}, {"m": {"x": np.ones(n)}})),
}
for name, write in WRITERS.items():
    write(Path(name), 5)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for name, write in WRITERS.items():
    before = {p: p.stat().st_ino for p in Path().rglob("*")}
    try:
        write(Path(name), 100_000)
    except Unwritten as error:
        print(pickle.loads(pickle.dumps(error)))
    assert {p: p.stat().st_ino for p in Path().rglob("*")} == before
"""
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=tmp_path)
    names = ("a.json", "a.safetensors", "a.csv", "a.parquet", "b.parquet", "checkpoint")
    assert done.stdout.splitlines() == [f"{n}: cannot be written: File too large" for n in names]


def test_a_lock_file_keeps_others_out_and_is_removed(tmp_path: Path) -> None:
    path, busy = tmp_path / "sub" / "a.lock", RunError("busy")
    with lock_file(path, busy):
        with pytest.raises(RunError, match="busy"), lock_file(path, busy):
            pass
        assert path.exists()
    assert not path.exists()
    path.touch()  # left behind by a kill
    with lock_file(path, busy):
        pass
    assert not path.exists()


def test_a_lock_file_removed_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real, times = tmp_path / "a.lock", asides.locked, []

    def late(handle: int) -> bool:
        times.append(handle)
        if len(times) == 1:
            path.unlink()  # by the holder before us, just now
        return real(handle)

    monkeypatch.setattr(asides, "locked", late)
    with lock_file(path, RunError("busy")):
        assert path.exists()
        with pytest.raises(RunError, match="busy"), lock_file(path, RunError("busy")):
            pass
    assert len(times) == 3


def test_a_lock_file_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(RunError, match="a part of its path is a file"),
        lock_file(tmp_path / "file" / "a.lock", RunError("busy")),
    ):
        pass


def test_arrays_are_mapped_and_writing_to_them_changes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    kinds = (np.int8, np.bool_, np.float32, np.int64, np.float64, np.uint8)
    arrays = {np.dtype(kind).name: np.arange(5).astype(kind) for kind in kinds}
    arrays |= {"none": np.zeros((0, 3)), "table": np.arange(6.0).reshape(2, 3)}
    write_arrays(path, arrays)
    found = read_arrays(path)
    assert found.keys() == arrays.keys()
    for name, values in arrays.items():
        assert found[name].dtype == values.dtype
        assert np.array_equal(found[name], values)
    found["table"][0] = 9.0
    assert np.array_equal(read_arrays(path)["table"], arrays["table"])
    assert not found["table"].flags.owndata
