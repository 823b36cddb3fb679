"""What a training keeps on disk: its checkpoint, and its history, a table of one line per epoch."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cerec.asides import discard, sweep
from cerec.errors import RunError
from cerec.files import read_arrays, replacing, write_arrays, write_json
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


Row = dict[str, float | int | str]
"""One line of the history."""


def write_history(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """History rows as CSV; a figure a row lacks, or that is no number, is left empty."""
    first = ("phase", "epoch", "seconds")
    found = dict.fromkeys(name for row in rows for name in row)
    columns = [*(n for n in first if n in found), *(n for n in found if n not in first)]
    with replacing(path) as target, target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows({k: v for k, v in row.items() if v == v} for row in rows)  # nan is not


def read_history(path: Path) -> list[dict[str, Any]]:
    """The rows of a history; numbers as numbers, empty figures left out."""
    if not path.exists():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [{k: _number(v) for k, v in row.items() if v} for row in csv.DictReader(file)]
    except (csv.Error, ValueError, TypeError) as error:
        raise RunError(f"{path}: not readable as a history ({error})") from None


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
