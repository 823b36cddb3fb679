"""Writing aside and renaming into place: a kill leaves the old file or the new one, never half."""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from cerec.errors import CerecError, RunError

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]


class Unwritten(RunError):
    """A file that the disk, its quota or its rights do not allow."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)  # both, so that it comes whole out of another process

    def __str__(self) -> str:
        return "{}: cannot be written: {}".format(*self.args)


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
    When the block fails, `path` is as it was and nothing is left behind.
    """
    if not folder:
        refuse_folder(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except (FileExistsError, NotADirectoryError):
        raise Unwritten(path, "a part of its path is a file") from None
    except OSError as error:
        raise Unwritten(path, error.strerror or str(error)) from None
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
        shutil.rmtree(aside, ignore_errors=True)


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


def locked(handle: int) -> bool:
    """Lock an open file or folder; False where another process has. The end of ours lets go.

    Where the system or the file system has no locks, nobody is kept out.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks
    return True


@contextmanager
def lock_file(path: Path, refusal: CerecError) -> Iterator[None]:
    """Hold a lock file for the block, made and removed here; `refusal` is raised where another
    process holds it. One that a kill has left behind is taken over.
    """
    handle = _open_lock(path)
    try:
        while True:
            if not locked(handle):
                raise refusal
            if _is_at(handle, path):
                break
            os.close(handle)  # its holder removed it between opening and locking
            handle = _open_lock(path)
        try:
            yield
        finally:
            with suppress(OSError):  # a system that removes no open file leaves it there
                path.unlink()
    finally:
        os.close(handle)


def _open_lock(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except (FileExistsError, NotADirectoryError):
        raise Unwritten(path, "a part of its path is a file") from None
    except OSError as error:
        raise Unwritten(path, error.strerror or str(error)) from None


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


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
    try:
        with safe_open(str(path), framework="numpy"):  # refuses what is damaged
            whole = np.memmap(path, mode="c").view(np.ndarray)  # writing to it changes no file
    except FileNotFoundError:
        raise RunError(f"{path}: no such file; the folder is not a complete run") from None
    except (SafetensorError, OSError) as error:
        raise RunError(f"{path}: damaged ({error}); train again or restore a copy") from None
    start = 8 + int(whole[:8].view("<u8")[0])
    out = {}
    for name, facts in json.loads(whole[8:start].tobytes()).items():
        if name != "__metadata__":
            first, end = facts["data_offsets"]
            kind = np.dtype(_TYPES[facts["dtype"]])
            raw = whole[start + first : start + end]
            raw = raw if (start + first) % kind.itemsize == 0 else raw.copy()
            out[name] = raw.view(kind).reshape(facts["shape"])
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


def read_json(path: Path, error: type[CerecError] = RunError) -> Any:
    """The value of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except (OSError, ValueError) as problem:
        raise error(f"{path}: not readable as JSON ({problem})") from None
