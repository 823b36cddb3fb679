"""One writer in a folder at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cerec.asides import locked, sweep_folder
from cerec.errors import RunError


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
