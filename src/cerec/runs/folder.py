"""A run as a self-contained folder: settings, tables, graph, weights, history; nothing that runs.

config.toml        the settings
run.json           versions, seed, metrics, timings, a checksum of every file and of itself
model.safetensors  the recommender, what users know, the agent's vectors
split.safetensors  train, validation and test parts
graph.safetensors, data.json, users/items/entities/relations.parquet   the data
history.csv        one line per epoch
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cerec import __version__
from cerec.asides import is_aside, sweep
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.errors import RunError
from cerec.files import read_arrays, read_json
from cerec.manifest import MEND, read_sealed
from cerec.runs.forms import rises_to, within

FORMAT = 2
FILES = (
    *("config.toml", "run.json", "model.safetensors", "split.safetensors", "history.csv"),
    *("graph.safetensors", "data.json"),
    *(f"{table}.parquet" for table in ("users", "items", "entities", "relations")),
)
"""What a run writes into its folder."""
LISTED = tuple(name for name in FILES if name != "run.json")
"""What `run.json` has a checksum of."""
_PARTS = ("train", "valid", "test")


def versions() -> dict[str, str]:
    """What this run was made with."""
    found = {"cerec": __version__, "python": platform.python_version()}
    for name in ("torch", "numpy", "numba", "polars"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def split_arrays(split: Split) -> dict[str, NDArray[Any]]:
    """The parts of a split as named arrays."""
    parts = {name: getattr(split, name) for name in _PARTS}
    return {f"{n}.{a}": getattr(r, a) for n, r in parts.items() for a in ("indptr", "indices")}


def read_split(path: Path, n_users: int, n_items: int) -> Split:
    """The split written from `split_arrays`, of that many users and items."""
    arrays = read_arrays(path)
    return Split(*(read_part(path, arrays, name, n_users, n_items) for name in _PARTS))


def read_part(
    path: Path, arrays: Mapping[str, NDArray[Any]], name: str, n_users: int, n_items: int
) -> Ragged:
    """User -> items, of that many; two arrays of a file."""
    try:
        part = Ragged(arrays[f"{name}.indptr"], arrays[f"{name}.indices"])
    except KeyError as missing:
        raise RunError(f"{path}: holds no {missing}; the run folder is damaged") from None
    kinds = [(a.dtype.kind, a.ndim) == ("i", 1) for a in (part.indptr, part.indices)]
    sound = all(kinds) and len(part) == n_users and rises_to(part.indptr, part.size)
    if not (sound and within(part.indices, n_items)):
        raise RunError(f"{path}: {name} does not fit the users and items; {MEND}")
    return part


def read_facts(folder: Path) -> dict[str, Any]:
    """`run.json`, checked: a clear line when the folder is not a finished run."""
    sweep(folder)  # the second of two renames is made up for, where a kill came between
    if folder.is_file():
        raise RunError(f"{folder}: is a file; give the folder of a run")
    if not folder.is_dir():
        raise RunError(
            f"{folder}: no such folder; make a run with: cerec train DATA --out {folder}"
        )
    if not (folder / "run.json").exists():
        hint = "is not a run folder; make one with: cerec train DATA --out RUN"
        if (folder / "checkpoint").is_dir() or (folder / "origin.json").exists():
            hint = (
                f"is an unfinished training; resume with: cerec train DATA --out {folder} --resume"
            )
        raise RunError(f"{folder} {hint}")
    raw = read_json(folder / "run.json")
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise RunError(f"{folder / 'run.json'}: not format {FORMAT}; train again with this version")
    facts = read_sealed(folder / "run.json")
    tables = all(
        isinstance(facts.get(name), dict)
        for name in ("recommender", "metrics", "meta", "data", "files")
    )
    sound = (
        tables
        and set(facts["files"]) == set(LISTED)
        and set(facts["recommender"]) == {"kind", "fidelity"}
        and facts["recommender"]["kind"] in ("linear", "factors", "itemitem", "scores")
        and isinstance(facts["recommender"]["fidelity"], float | int | None)
    )
    if not sound or not isinstance(facts.get("seed"), int):
        raise RunError(f"{folder / 'run.json'}: damaged; {MEND}")
    return facts


def kept_beside(folder: Path, origin: object) -> list[str]:
    """What stays in a folder when a run is saved there: all that is not of another run.

    A checkpoint stays if its training has the same `origin` as the run.
    """
    if not folder.is_dir():
        return []
    path = folder / "origin.json"
    same = path.exists() and read_json(path) == origin
    gone = {*FILES, *(() if same else ("origin.json", "checkpoint"))}
    names = (other.name for other in folder.iterdir())
    return sorted(name for name in names if name not in gone and not is_aside(name))


def refuse_target(path: Path) -> None:
    """Refuse to save a run where it would harm what is there."""
    if path.exists() and not path.is_dir():
        raise RunError(f"{path}: is a file; save to a folder")
    if Path.cwd().is_relative_to(path.resolve()):
        raise RunError(f"{path}: is the folder you stand in; save from outside of it")
    if path.is_dir() and any(path.iterdir()) and not (path / "run.json").exists():
        raise RunError(f"{path}: holds other files; save to a new folder, or to that of a run")
