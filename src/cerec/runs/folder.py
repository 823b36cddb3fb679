"""A run as a self-contained folder: settings, tables, graph, weights, history; nothing that runs.

config.toml        the settings
run.json           versions, seed, data fingerprint, metrics, timings
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
from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.errors import RunError
from cerec.files import read_arrays, read_json

FORMAT = 1
FILES = (
    *("config.toml", "run.json", "model.safetensors", "split.safetensors", "history.csv"),
    *("graph.safetensors", "data.json"),
    *(f"{table}.parquet" for table in ("users", "items", "entities", "relations")),
)
"""What a run writes into its folder."""
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
    inside = not part.size or 0 <= part.indices.min() <= part.indices.max() < n_items
    if len(part) != n_users or part.indptr[-1] != part.size or not inside:
        raise RunError(f"{path}: does not fit the users and items; the run folder is damaged")
    return part


def read_facts(folder: Path) -> dict[str, Any]:
    """`run.json`, checked: a clear line when the folder is not a finished run."""
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
    facts = read_json(folder / "run.json")
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise RunError(f"{folder / 'run.json'}: not format {FORMAT}; train again with this version")
    tables = all(
        isinstance(facts.get(name), dict) for name in ("recommender", "metrics", "meta", "data")
    )
    sound = (
        tables
        and set(facts["recommender"]) == {"kind", "fidelity"}
        and facts["recommender"]["kind"] in ("linear", "factors", "itemitem", "scores")
        and isinstance(facts["recommender"]["fidelity"], float | int | None)
    )
    if not sound or not isinstance(facts.get("seed"), int):
        raise RunError(f"{folder / 'run.json'}: damaged; restore a copy or train again")
    return facts


def refuse_other_data(folder: Path, facts: Mapping[str, Any], data: Dataset) -> None:
    """Refuse data in a run folder that are not those of its `run.json`."""
    if facts["data"].get("fingerprint") != data.fingerprint:
        raise RunError(
            f"{folder}: its data are not those that run.json was written for (fingerprint "
            f"{data.fingerprint[:8]}, expected {str(facts['data'].get('fingerprint'))[:8]}); "
            "restore a copy of the folder, or train again"
        )


def kept_beside(folder: Path, origin: object) -> list[str]:
    """What stays in a folder when a run is saved there: all that is not of another run.

    A checkpoint stays if its training has the same `origin` as the run.
    """
    if not folder.is_dir():
        return []
    path = folder / "origin.json"
    same = path.exists() and read_json(path) == origin
    gone = {*FILES, *(() if same else ("origin.json", "checkpoint"))}
    return sorted(other.name for other in folder.iterdir() if other.name not in gone)


def refuse_target(path: Path) -> None:
    """Refuse to save a run where it would harm what is there."""
    if path.exists() and not path.is_dir():
        raise RunError(f"{path}: is a file; save to a folder")
    if Path.cwd().is_relative_to(path.resolve()):
        raise RunError(f"{path}: is the folder you stand in; save from outside of it")
    if path.is_dir() and any(path.iterdir()) and not (path / "run.json").exists():
        raise RunError(f"{path}: holds other files; save to a new folder, or to that of a run")
