"""Writing aside and renaming into place: a kill leaves the old file or the new one, never half."""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from cerec.asides import Unwritten, aside_of
from cerec.errors import CerecError, RunError


def _reason(error: Exception) -> str | None:
    """Why the system did not write, in its words; None when that is not what happened."""
    if isinstance(error, Unwritten):
        return str(error.args[1])
    of_rust = re.search(r"([^:]+) \(os error \d+\)", str(error))  # polars and safetensors
    if of_rust:
        return of_rust[1].strip()
    return error.strerror or str(error) if isinstance(error, OSError) else None


def refuse_folder(path: Path) -> None:
    """Refuse a folder where a file is to be written."""
    if path.is_dir():
        raise RunError(f"{path}: is a folder; give the name of a file")


@contextmanager
def replacing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """A path beside `path` to write a file to; it takes the place of `path` at the end.

    With `folder` it is a folder that is written, and replaced; otherwise a folder is refused.
    When the block fails, `path` is as it was and nothing is left behind. What a killed writer of
    `path` left behind is removed.
    """
    if not folder:
        refuse_folder(path)
    with aside_of(path) as aside:
        target, old = aside / "new", aside / "old"
        try:
            yield target
            _sync(target)
            taken = folder and path.is_dir() and not path.is_symlink()
            if not (taken and exchanged(target, path)):
                if taken:
                    path.rename(old)  # here a folder cannot be replaced in one step
                target.replace(path)
        except Exception as error:
            reason = _reason(error)
            if reason is None:
                raise
            raise Unwritten(path, reason) from None
        finally:
            if old.exists() and not path.exists():
                old.rename(path)


def exchanged(one: Path, other: Path) -> bool:
    """Let two paths change places in one step; False, and nothing done, where that cannot be.

    Linux can (`renameat2` with RENAME_EXCHANGE), on most file systems.
    """
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def copy_of(path: Path, target: Path) -> None:
    """Copy a file, a folder with all that is in it, or a link as such."""
    if path.is_dir() and not path.is_symlink():
        shutil.copytree(path, target, symlinks=True)
    else:
        shutil.copy2(path, target, follow_symlinks=False)


def _sync(path: Path) -> None:
    """Push a file, or every file of a folder, to disk before it is renamed."""
    for name in [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]:
        handle = os.open(name, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def cache_folder() -> Path:
    """`CEREC_CACHE`, or `cerec` in the user's cache folder."""
    given = os.environ.get("CEREC_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cerec"


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Named arrays to a safetensors file."""
    with replacing(path) as target:
        target.touch()
        mode = target.stat().st_mode
        save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, str(target))
        target.chmod(mode)  # safetensors makes files that nobody else can read


_TYPES = {"BOOL": "?", **{f"{c}{8 * n}": f"<{c.lower()}{n}" for c in "IUF" for n in (1, 2, 4, 8)}}


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file, mapped into memory: what nobody looks at is not read."""
    out = {}
    try:
        with safe_open(str(path), framework="numpy"):  # refuses what is damaged
            whole = np.memmap(path, mode="c").view(np.ndarray)  # writing to it changes no file
        start = 8 + int(whole[:8].view("<u8")[0])
        for name, facts in json.loads(whole[8:start].tobytes()).items():
            if name != "__metadata__":
                first, end = facts["data_offsets"]
                kind = np.dtype(_TYPES[facts["dtype"]])
                raw = whole[start + first : start + end]
                raw = raw if (start + first) % kind.itemsize == 0 else raw.copy()
                out[name] = raw.view(kind).reshape(facts["shape"])
    except FileNotFoundError:
        raise RunError(f"{path}: no such file; the folder is not a complete run") from None
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise RunError(f"{path}: damaged ({error}); train again or restore a copy") from None
    return out


def write_json(path: Path, value: Any) -> None:
    """A JSON file, keys in the given order."""
    with replacing(path) as target:
        target.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def finite(value: Any) -> Any:
    """A value for JSON, which has no word for numbers that are not finite: null."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


_MOST_JSON = 1 << 28


def read_json(path: Path, error: type[CerecError] = RunError) -> Any:
    """The value of a JSON file."""
    try:
        if not path.is_file():  # also of what never ends, as a pipe
            raise error(f"{path}: no such file")
        if path.stat().st_size > _MOST_JSON:
            raise error(f"{path}: more than {_MOST_JSON:,} bytes of JSON")
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise error(f"{path}: not readable as JSON ({problem})") from None
