"""Where a writer works until its file is complete, and locks that keep a second writer out.

Both end with their process: what a kill leaves behind is recognised by its lock, which nobody
holds, and removed by the next writer.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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


@contextmanager
def aside_of(path: Path) -> Iterator[Path]:
    """A folder beside `path` that this process holds; it is removed at the end."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path)
        aside, handle = _open_aside(path)
    except (FileExistsError, NotADirectoryError):
        raise Unwritten(path, "a part of its path is a file") from None
    except OSError as error:
        raise Unwritten(path, error.strerror or str(error)) from None
    try:
        yield aside
    finally:
        os.close(handle)
        shutil.rmtree(aside, ignore_errors=True)


_LOCK = "lock"
_WRITERS = 16
_ASIDE = re.compile(r"\.(.+)\.aside\d+")


def _asides(path: Path) -> list[Path]:
    """Where writers of `path` work; a kill leaves such a folder behind."""
    return [path.with_name(f".{path.name}.aside{n}") for n in range(_WRITERS)]


def _open_aside(path: Path) -> tuple[Path, int]:
    for aside in _asides(path):
        with suppress(FileExistsError, FileNotFoundError):  # taken, or swept before it was locked
            aside.mkdir()
            handle = os.open(aside / _LOCK, os.O_RDWR | os.O_CREAT)
            if locked(handle) and _is_at(handle, aside / _LOCK):
                return aside, handle
            os.close(handle)
    left = f"remove .{path.name}.aside* where no process is at work"
    raise Unwritten(path, f"{_WRITERS} others are writing it, or were; {left}")


def sweep(path: Path) -> None:
    """Remove what killed writers of `path` left beside it.

    Where one was killed between the two renames that replace a folder, the new one is put in place.
    """
    for aside in _asides(path):
        if not aside.is_dir():
            continue
        with suppress(OSError):
            handle = os.open(aside / _LOCK, os.O_RDWR | os.O_CREAT)
            try:
                if not (locked(handle, surely=True) and _is_at(handle, aside / _LOCK)):
                    continue  # its writer is at work
                if (aside / "old").exists() and not path.exists():
                    ready = aside / "new"
                    (ready if ready.exists() else aside / "old").rename(path)
                shutil.rmtree(aside)
            finally:
                os.close(handle)


def sweep_folder(folder: Path) -> None:
    """Remove what killed writers left in a folder."""
    found = (_ASIDE.fullmatch(entry.name) for entry in folder.iterdir())
    for name in {match[1] for match in found if match}:
        sweep(folder / name)


def is_aside(name: str) -> bool:
    """Whether a file name is that of a writer's working folder."""
    return _ASIDE.fullmatch(name) is not None


def discard(folder: Path) -> None:
    """Remove a folder in one step: it is there with all that is in it, or not at all."""
    sweep(folder)
    if folder.is_dir():
        with aside_of(folder) as aside:
            folder.rename(aside / "gone")


def locked(handle: int, *, surely: bool = False) -> bool:
    """Lock an open file or folder; False where another process has. The end of ours lets go.

    Where the system or the file system has no locks, nobody is kept out; with `surely`, it is
    False there.
    """
    if fcntl is None:
        return not surely
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return not surely  # a file system without locks
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


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make the folder, and keep other trainings out of it; a kill lets go of it."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: is a file; --out must be a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder}: cannot be made: {error.strerror}") from None
    if os.name == "nt":  # Windows opens no folders
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        if not locked(opened):
            raise RunError(
                f"{folder}: another training is at work in it; wait for it, or choose another --out"
            )
        sweep_folder(folder)
        yield
    finally:
        os.close(opened)
