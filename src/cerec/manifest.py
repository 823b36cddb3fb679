"""What the files of a folder were when it was written: size and SHA-256 of each.

A folder is read in full when it is first opened. After that its files are taken for the same while
size, times and place on the disk are, so that opening a large run again reads nothing.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cerec.asides import Unwritten
from cerec.errors import RunError
from cerec.files import cache_folder, read_json, write_json

_SEAL = "seal"
_REMEMBERED = 64
"""Folders whose last check is remembered."""
MEND = "restore a copy or train again"


def sealed(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with a checksum of itself in it."""
    return {**facts, _SEAL: _seal(facts)}


def read_sealed(path: Path) -> dict[str, Any]:
    """The object written with `sealed`; refused where one byte of its content is another."""
    facts = read_json(path)
    if not isinstance(facts, dict) or _SEAL not in facts:
        raise RunError(f"{path}: damaged; {MEND}")
    if facts.pop(_SEAL) != _seal(facts):
        raise RunError(f"{path}: changed since it was written (its checksum differs); {MEND}")
    return facts


def _seal(facts: Mapping[str, Any]) -> str:
    plain = json.loads(json.dumps(facts))  # as it is when read back
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def listing(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Size and checksum of files, to be sealed and checked later."""
    return {
        name: {"bytes": (folder / name).stat().st_size, "sha256": _digest(folder / name)}
        for name in names
    }


def changed(folder: Path, name: str, expected: Any) -> str | None:
    """What is wrong with a file, read in full; None for a sound one."""
    path = folder / name
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            return f"{path}: is no file; {MEND}"
        if state.st_size != expected["bytes"]:
            return f"{path}: has {state.st_size:,} bytes instead of {expected['bytes']:,}; {MEND}"
        if _digest(path) != expected["sha256"]:
            return f"{path}: is not the file that was written (its checksum differs); {MEND}"
    except FileNotFoundError:
        return f"{path}: no such file; {MEND}"
    except (OSError, KeyError, TypeError, ValueError) as error:
        return f"{path}: cannot be checked ({error}); {MEND}"
    return None


def refuse_changed(folder: Path, files: Mapping[str, Any], *, remember: bool = False) -> bool:
    """Refuse a folder with a file that is not the listed one; whether the files were read for it.

    With `remember` a folder that was found sound before, and looks the same, is not read again.
    """
    now = _state(folder, files)
    if remember and now is not None and _remembered().get(_place(folder)) == now:
        return False
    for name, expected in files.items():
        if problem := changed(folder, name, expected):
            raise RunError(problem)
    if remember:
        _remember(_place(folder), _state(folder, files))
    return True


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _place(folder: Path) -> str:
    return str(folder.resolve())


def _state(folder: Path, files: Mapping[str, Any]) -> list[Any] | None:
    """What would differ had one of the files changed."""
    out: list[Any] = [_seal(files)]
    try:
        for name in files:
            s = (folder / name).stat()
            out.append([s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino])
    except (OSError, ValueError):
        return None
    return out


def _memory() -> Path:
    return cache_folder() / "checked.json"


def _remembered() -> dict[str, Any]:
    with suppress(RunError):
        found = read_json(_memory())
        if isinstance(found, dict):
            return found
    return {}


def _remember(place: str, state: list[Any] | None) -> None:
    known = {name: old for name, old in _remembered().items() if name != place}
    latest = dict(list(known.items())[-_REMEMBERED + 1 :])
    with suppress(Unwritten):  # a system without a cache folder checks every time
        write_json(_memory(), {**latest, place: state})
