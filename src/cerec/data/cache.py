"""Datasets in a binary form that loads much faster than the files they were read from.

One file: a size, a JSON header, arrays and joined texts at multiples of 64 bytes, and a checksum
over everything before it. It is written aside and renamed into place; a file that is damaged,
or was made from other files or options, is passed over and written again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset, Interactions, Planted, Triples
from cerec.data.ids import IdTable
from cerec.errors import CerecError, RunError
from cerec.files import cache_folder, replacing

log = logging.getLogger(__name__)

VERSION = 2
"""To be raised whenever a reader gives other data for the same files, or the form changes."""
_SAMPLE = 64 * 1024
_TABLES = {"users": "user", "items": "item", "entities": "entity", "relations": "relation"}
_PARTS: dict[str, Any] = {"interactions": Interactions, "triples": Triples, "planted": Planted}
_BETWEEN = ("\n", "\x00", "\x1f", "\x1e", "\x1d", "\x1c")


def cache_file(folder: Path, format: str, options: Mapping[str, Any]) -> Path:
    """Where the dataset of a folder, read with these options, is kept."""
    path = folder.resolve()
    key = json.dumps([str(path), format, options], sort_keys=True, default=str)
    return cache_folder() / "data" / f"{path.name}-{_digest(key.encode())}.bin"


def files_key(files: Iterable[Path]) -> str:
    """A hash that changes when one of the files does: its name, size, time, and its two ends."""
    digest = hashlib.sha256(str(VERSION).encode())
    for path in sorted(files):
        state = path.stat()
        digest.update(json.dumps([str(path), state.st_size, state.st_mtime_ns]).encode())
        with path.open("rb") as handle:
            digest.update(handle.read(_SAMPLE))
            if state.st_size > 2 * _SAMPLE:
                handle.seek(-_SAMPLE, os.SEEK_END)
            digest.update(handle.read(_SAMPLE))
    return digest.hexdigest()


def _digest(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:16]


def read_cache(path: Path, key: str) -> Dataset | None:
    """The dataset kept at `path` for `key`; None when there is none, or it is damaged."""
    try:
        header, content = _open(np.fromfile(path, np.uint8))
        if header["key"] != key:
            return None
        return _dataset(header, content)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, IndexError, CerecError) as error:
        log.info("%s: damaged (%s), read from the files again", path, error)
        return None


def write_cache(path: Path, key: str, data: Dataset) -> None:
    """Keep `data` at `path`; a folder that cannot be written leaves things as they are."""
    content = _packed(key, data)
    if content is None:
        return
    try:
        with replacing(path) as new:
            new.write_bytes(content)
    except RunError as error:
        log.info("%s", error)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _checksum(words: NDArray[np.uint64]) -> Any:
    total = np.uint64(14695981039346656037)
    for word in words:
        total = (total ^ word) * np.uint64(1099511628211)
    return total


def _open(buffer: NDArray[np.uint8]) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    """The header of a whole file, and the bytes that its offsets count in."""
    if len(buffer) < 16 or len(buffer) % 8:
        raise ValueError("too short")
    words = buffer.view(np.uint64)
    if _checksum(words[:-1]) != words[-1]:
        raise ValueError("checksum does not fit")
    end = 8 + int(words[0])
    return json.loads(buffer[8:end].tobytes()), buffer[end + -end % 64 : -8]


def _dataset(header: dict[str, Any], buffer: NDArray[np.uint8]) -> Dataset:
    def array(entry: list[Any]) -> NDArray[Any]:
        kind, start, size = entry
        return buffer[start : start + size].view(kind)

    def texts(entry: list[Any]) -> tuple[str, ...]:
        between, place = entry
        return tuple(array(place).tobytes().decode("utf-8").split(between)) if place else ()

    tables = {}
    for name, kind in _TABLES.items():
        ids = texts(header[name]["ids"])
        names = header[name]["names"]
        tables[name] = IdTable.trusted(kind, ids, ids if names is None else texts(names))
    parts = {
        name: None
        if header[name] is None
        else part(**{k: array(v) for k, v in header[name].items()})
        for name, part in _PARTS.items()
    }
    columns = {k: np.array(texts(v), np.str_) for k, v in header["user_columns"].items()}
    arguments: dict[str, Any] = {**tables, **parts, "user_columns": columns}
    return Dataset(name=header["name"], notes=tuple(header["notes"]), **arguments)


def _packed(key: str, data: Dataset) -> bytes | None:
    """The bytes of the file; None when ids hold every character that could stand between them."""
    chunks: list[bytes] = []
    size = 0

    def put(kind: str, content: bytes) -> list[Any]:
        nonlocal size
        start = size
        padded = content + bytes(-len(content) % 64)
        chunks.append(padded)
        size += len(padded)
        return [kind, start, len(content)]

    def texts(values: tuple[str, ...]) -> list[Any]:
        blob = "".join(values)
        between = next(b for b in _BETWEEN if b not in blob)
        return [between, put("u1", between.join(values).encode()) if values else None]

    header: dict[str, Any] = {"key": key, "name": data.name, "notes": list(data.notes)}
    try:
        for name in _TABLES:
            table: IdTable = getattr(data, name)
            names = None if table.names == table.ids else texts(table.names)
            header[name] = {"ids": texts(table.ids), "names": names}
        more = data.user_columns.items()
        header["user_columns"] = {k: texts(tuple(v.tolist())) for k, v in more}
    except StopIteration:
        return None
    for name in _PARTS:
        part = getattr(data, name)
        columns = {k: getattr(part, k) for k in part.__slots__} if part is not None else {}
        header[name] = None if part is None else {
            k: put(v.dtype.str, np.ascontiguousarray(v).tobytes())
            for k, v in columns.items()
            if v is not None
        }  # fmt: skip
    return _framed(header, chunks)


def _framed(header: dict[str, Any], chunks: list[bytes]) -> bytes:
    """Size, header, chunks and checksum in one."""
    text = json.dumps(header).encode()
    head = np.uint64(len(text)).tobytes() + text
    body = b"".join([head, bytes(-len(head) % 64), *chunks])
    return body + np.uint64(_checksum(np.frombuffer(body, np.uint64))).tobytes()
