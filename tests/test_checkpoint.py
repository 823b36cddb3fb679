"""A checkpoint survives a kill at every moment of its writing."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from cerec import files
from cerec.checkpoint import (
    Checkpoint,
    drop_checkpoint,
    find_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from cerec.errors import RunError


def state(epoch: int) -> Checkpoint:
    arrays = {"model": {"x": np.full(2, epoch)}, "agent": {"y": np.full(1, epoch)}}
    return Checkpoint({"epoch": epoch, "history": []}, arrays)


def copy(path: Path, epoch: int, *, gone: str = "") -> None:
    """A checkpoint at `path`, as if written there, without the file `gone`."""
    aside = path.parent.parent / "made"
    write_checkpoint(aside, state(epoch))
    path.parent.mkdir(exist_ok=True)
    aside.rename(path)
    if gone:
        (path / gone).unlink()


def epoch_of(folder: Path) -> int | None:
    found = read_checkpoint(folder)
    if found is None:
        return None
    assert found.arrays["model"]["x"].tolist() == [found.counters["epoch"]] * 2
    return int(found.counters["epoch"])


HALF, WHOLE = "counters.json", ""
MOMENTS = {
    "nothing written": ({}, 1),
    "half written": ({"new": HALF}, 1),
    "half written, arrays missing": ({"new": "agent.safetensors"}, 1),
    "written, not renamed": ({"new": WHOLE}, 1),
    "new one in place, old one still there": ({"old": WHOLE}, 1),
    "old one half removed": ({"old": HALF}, 1),
    "first one, nothing written": ({}, None),
    "first one, half written": ({"new": HALF}, None),
    "first one, counters before the arrays": ({"new": "model.safetensors"}, None),
    "first one, written, not renamed": ({"new": WHOLE}, None),
    "between the renames": ({"old": WHOLE, "new": WHOLE}, 2),
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("then", ["read", "write", "drop"])
def test_a_kill_loses_no_checkpoint(moment: str, then: str, tmp_path: Path) -> None:
    folder, aside = tmp_path / "checkpoint", tmp_path / ".checkpoint.aside0"
    left, expected = MOMENTS[moment]
    if expected == 1:
        write_checkpoint(folder, state(1))
    aside.mkdir()
    for name in ("old", "new"):
        if name in left:
            copy(aside / name, 0 if name == "old" else 2, gone=left[name])
    if then == "read":
        assert epoch_of(folder) == expected
        assert find_checkpoint(folder) == (expected is not None)
    elif then == "write":
        write_checkpoint(folder, state(3))
        assert epoch_of(folder) == 3
    else:
        drop_checkpoint(folder)
        assert epoch_of(folder) is None
    assert {p.name for p in tmp_path.iterdir()} <= {"checkpoint"}


@pytest.mark.parametrize("at", range(1, 4))
def test_a_write_that_breaks_off_at_a_rename(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder as a kill leaves it where two renames replace it: no cleaning up afterwards."""
    folder, seen = tmp_path / "checkpoint", 0
    write_checkpoint(folder, state(1))
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        nonlocal seen
        seen += 1
        if seen >= at:
            raise SystemError("killed")
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(files, "exchanged", lambda *_: False)
        patch.setattr(Path, "rename", rename)
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        if at == 2:  # after the first rename
            patch.setattr(Path, "replace", _replace_files(folder))
        if at < 3:
            with pytest.raises(SystemError, match="killed"):
                write_checkpoint(folder, state(2))
        else:
            write_checkpoint(folder, state(2))
    assert folder.exists() == (at != 2)
    assert epoch_of(folder) == (1 if at == 1 else 2)
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint"]


def _replace_files(folder: Path) -> object:
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if target == folder:
            raise SystemError("killed")
        return real(self, target)

    return replace


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    for name in ("model.safetensors", "counters.json"):
        write_checkpoint(folder, state(1))
        content = bytearray((folder / name).read_bytes())
        content[-9] ^= 1
        (folder / name).write_bytes(content)
        with pytest.raises(RunError, match="damaged or gone"):
            read_checkpoint(folder)
