"""Where a killed training goes on: arrays and counters, written aside and renamed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cerec.errors import RunError
from cerec.files import read_arrays, read_json, replacing, write_arrays, write_json
from cerec.training.history import write_history

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """All that the loop needs to go on as if never stopped."""

    counters: dict[str, Any]
    arrays: dict[str, Arrays]
    """Named groups of arrays: the model, the best model so far, the agent."""


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint in `folder`."""
    with replacing(folder, folder=True) as new:
        new.mkdir()
        for group, arrays in checkpoint.arrays.items():
            write_arrays(new / f"{group}.safetensors", arrays)
        write_json(
            new / "counters.json",
            {"groups": list(checkpoint.arrays), "counters": checkpoint.counters},
        )
        write_history(new / "history.csv", checkpoint.counters.get("history", []))  # to look at


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The checkpoint in `folder`, or None when there is none."""
    if not folder.is_dir():
        return None
    facts: Mapping[str, Any] = read_json(folder / "counters.json")
    try:
        groups, counters = facts["groups"], facts["counters"]
    except (KeyError, TypeError):
        raise RunError(f"{folder}: not a checkpoint; train again without --resume") from None
    return Checkpoint(counters, {g: read_arrays(folder / f"{g}.safetensors") for g in groups})


def drop_checkpoint(folder: Path) -> None:
    """Remove the checkpoint, if there is one."""
    shutil.rmtree(folder, ignore_errors=True)
