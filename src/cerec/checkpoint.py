"""Where a killed training goes on: arrays and counters, written aside and renamed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cerec.asides import discard, sweep
from cerec.errors import RunError
from cerec.files import read_arrays, replacing, write_arrays, write_json
from cerec.history import write_history
from cerec.manifest import changed, listing, read_sealed, sealed

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
        files = listing(new, [f"{group}.safetensors" for group in checkpoint.arrays])
        facts = {"files": files, "counters": checkpoint.counters}
        write_json(new / "counters.json", sealed(facts))
        write_history(new / "history.csv", checkpoint.counters.get("history", []))  # to look at


def find_checkpoint(folder: Path) -> bool:
    """Whether there is a checkpoint; what a kill left of writing one is mended first."""
    sweep(folder)
    return folder.is_dir()


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The checkpoint in `folder`, or None when there is none."""
    if not find_checkpoint(folder):
        return None
    path = folder / "counters.json"
    try:
        facts = read_sealed(path)
        counters, arrays = facts["counters"], {}
        for name in facts["files"]:
            path = folder / name
            if changed(folder, name, facts["files"][name]):
                raise damaged(path)
            arrays[path.stem] = read_arrays(path)
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
    discard(folder)
