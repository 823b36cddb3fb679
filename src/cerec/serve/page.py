"""The studio page's files, held in memory: what is not among them does not exist."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class File:
    """One file of the page."""

    body: bytes
    media_type: str
    etag: str


def load_files() -> dict[str, File]:
    """Every file of the page by name."""
    files = {}
    for entry in resources.files("cerec.serve").joinpath("static").iterdir():
        kind = _TYPES.get(entry.name.rpartition(".")[2])
        if kind is not None:
            body = entry.read_bytes()
            etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            files[entry.name] = File(body, kind, etag)
    return files
