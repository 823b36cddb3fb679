"""One training: what it is to do, and its folder, which is started, resumed or refused."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cerec.checkpoint import Row, damaged, drop_checkpoint, find_checkpoint
from cerec.data.load import READERS
from cerec.errors import RunError
from cerec.files import read_json, write_json
from cerec.recommend.base import NegativeSampler
from cerec.recommend.protocol import Trainable
from cerec.runs.folder import FILES, read_facts
from cerec.settings.run import RunConfig, differences

NUMBERLESS = ("train.checkpoint_seconds",)
"""Settings that change no number: a training may be resumed with others."""


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Settings, seed, and who wants to see the progress."""

    config: RunConfig
    seed: int
    origin: dict[str, Any]
    """Data, settings and seed as they are written into the folder at the start."""
    started: float
    on_row: Callable[[Row], None] | None = None
    negatives: NegativeSampler | None = None
    model: Trainable | None = None
    """One that somebody brought, in place of the one that the settings name."""
    removed: tuple[str, ...] = ()
    """What the filters left out."""


def prepare(folder: Path, origin: dict[str, Any], *, resume: bool, force: bool) -> bool:
    """Begin in the folder, refusing to mix two trainings in one; True when it is finished."""
    if resume and (folder / "origin.json").exists():
        _refuse_other(folder, read_origin(folder), origin)
        if not (folder / "run.json").exists():
            return False
        meta = read_facts(folder)["meta"]
        if "origin" not in meta and not find_checkpoint(folder / "checkpoint"):
            raise _foreign(folder)
        ended = bool(meta.get("finished")) and "origin" in meta
        done = ended and not _others(_checked(meta["origin"], folder / "run.json"), origin)
        if done:
            drop_checkpoint(folder / "checkpoint")  # of a kill just before the end
        return done
    _refuse_files(folder)
    if (folder / "run.json").exists() and resume:
        raise _foreign(folder)
    if (folder / "run.json").exists() and not force:
        raise RunError(f"{folder}: holds a run; choose another --out, --resume or --force")
    if not force and find_checkpoint(folder / "checkpoint"):
        raise RunError(
            f"{folder}: holds an unfinished training; --resume continues, --force starts over"
        )
    drop_checkpoint(folder / "checkpoint")
    write_json(folder / "origin.json", origin)
    return False


def _foreign(folder: Path) -> RunError:
    return RunError(
        f"{folder}: holds a run that was not trained there, so nothing can be resumed; choose "
        "another --out, or --force without --resume"
    )


def _refuse_files(folder: Path) -> None:
    """Refuse a folder that is not of a training where one would harm what is there, or data."""
    if any((folder / name).exists() for name in ("run.json", "origin.json")):
        return
    for name in (*FILES, "checkpoint"):
        if (folder / name).exists():
            raise RunError(
                f"{folder}: holds {name}, which is not of a run and would be overwritten; choose "
                "another folder for --out"
            )
    if any(reader.looks_like(folder) for reader, _ in READERS.values()):
        raise RunError(f"{folder}: holds data; choose another folder for --out")


def fingerprint(origin: dict[str, Any]) -> str:
    """A word that differs where data, sampler, seed or a setting that counts do."""
    config = tomllib.loads(origin["config"])
    for name in NUMBERLESS:
        section, _, key = name.partition(".")
        config.get(section, {}).pop(key, None)
    text = json.dumps({**origin, "config": config}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_origin(folder: Path) -> dict[str, Any]:
    """What the training in a folder started from, its settings as a table."""
    path = folder / "origin.json"
    try:
        origin = read_json(path)
    except RunError:
        raise damaged(path) from None
    return _checked(origin, path)


def _refuse_other(folder: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    """Refuse to resume what started from something else, naming what differs."""
    if found := _others(there, here):
        raise RunError(
            f"{folder}: was started with another {', '.join(found)}; "
            "resume with the same, or train into another folder"
        )


def _checked(origin: Any, path: Path) -> dict[str, Any]:
    """A beginning read from a file, its settings as a table; refused where it is not sound."""
    try:
        config = tomllib.loads(origin["config"])
        return {**origin, "config": config, "seed": int(origin["seed"])}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged(path) from None


def _others(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """What differs between two trainings, of all that numbers depend on."""
    found = [n for n in ("data", "seed", "negatives") if there.get(n) != here.get(n)]
    found += differences(there["config"], tomllib.loads(here["config"]))
    return [name for name in found if name not in NUMBERLESS]
