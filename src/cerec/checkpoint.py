"""Where a killed training goes on: arrays and counters, written aside and renamed.

Where the system cannot exchange two folders, one is replaced in two renames. A kill between them
leaves no checkpoint, but the old and the new one whole in the folder aside, `.checkpoint.XXXXXXXX`;
the next look puts the new one in place.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cerec.errors import RunError
from cerec.files import read_arrays, read_json, replacing, write_arrays, write_json
from cerec.history import write_history

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """All that the loop needs to go on as if never stopped."""

    counters: dict[str, Any]
    arrays: dict[str, Arrays]
    """Named groups of arrays: the model, the best model so far, the agent."""


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint in `folder`."""
    find_checkpoint(folder)
    with replacing(folder, folder=True) as new:
        new.mkdir()
        for group, arrays in checkpoint.arrays.items():
            write_arrays(new / f"{group}.safetensors", arrays)
        write_json(
            new / "counters.json",
            {"groups": list(checkpoint.arrays), "counters": checkpoint.counters},
        )
        write_history(new / "history.csv", checkpoint.counters.get("history", []))  # to look at


def find_checkpoint(folder: Path) -> bool:
    """Whether there is a checkpoint; one that a kill left aside is put in place first."""
    if not folder.is_dir():
        copies = [copy for aside in _asides(folder) for copy in aside.iterdir() if _whole(copy)]
        if copies:
            max(copies, key=_age).rename(folder)
    for aside in _asides(folder):
        shutil.rmtree(aside, ignore_errors=True)
    return folder.is_dir()


def _asides(folder: Path) -> list[Path]:
    """What kills left behind while `folder` was being replaced."""
    return [p for p in folder.parent.glob(f".{folder.name}.????????") if p.is_dir()]


def _whole(copy: Path) -> bool:
    """Whether every file of a checkpoint is there; each was renamed into place when complete."""
    try:
        groups = read_json(copy / "counters.json")["groups"]
        return all((copy / f"{group}.safetensors").is_file() for group in groups)
    except (RunError, KeyError, TypeError):
        return False


def _age(copy: Path) -> tuple[int, bool]:
    """Larger for the later of two copies."""
    return (copy / "counters.json").stat().st_mtime_ns, copy.name == "new"


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The checkpoint in `folder`, or None when there is none."""
    if not find_checkpoint(folder):
        return None
    path = folder / "counters.json"
    try:
        facts: Mapping[str, Any] = read_json(path)
        groups, counters = facts["groups"], facts["counters"]
        arrays = {}
        for group in groups:
            path = folder / f"{group}.safetensors"
            arrays[group] = read_arrays(path)
    except (RunError, KeyError, TypeError):
        raise damaged(path) from None
    return Checkpoint(counters, arrays)


def damaged(path: Path) -> RunError:
    """What to say of a file without which a training cannot go on."""
    return RunError(
        f"{path}: damaged or gone, so nothing can be resumed; "
        "train with --force, without --resume, to start over"
    )


def drop_checkpoint(folder: Path) -> None:
    """Remove the checkpoint, if there is one, and what kills left of others."""
    for path in (*_asides(folder), folder):
        shutil.rmtree(path, ignore_errors=True)
