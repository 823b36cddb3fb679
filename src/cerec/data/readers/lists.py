"""The `*_list.txt` files of KGAT folders: own id, number, and perhaps a name.

A header line tells the columns and whether tabs or spaces stand between them. Between tabs an id
may hold spaces; with two columns and spaces the number is the last word. The name is the column
called name, label or title; other columns are not used.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.text import decode, line_at, read_bytes
from cerec.errors import DataError

_LF, _CR, _SPACE, _ZERO = 10, 13, 32, 48
_LARGEST = 2**31 - 1
_NAMES = ("name", "label", "title")


@dataclass(frozen=True, slots=True)
class NumberList:
    """Ids and the numbers that stand for them in the other files, by rising number."""

    path: Path
    numbers: NDArray[np.int64]
    ids: list[str]
    names: dict[str, str]

    def find(self, numbers: NDArray[np.integer]) -> NDArray[np.int64]:
        """The row of each number, -1 where it is not listed."""
        rows = np.searchsorted(self.numbers, numbers)
        near = np.minimum(rows, len(self.numbers) - 1)
        return np.where(self.numbers[near] == numbers, near, -1) if len(self.numbers) else near


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _until(raw: NDArray[np.uint8], byte: int, start: int, stop: int) -> Any:
    """Position of the first `byte` from `start`, or `stop`."""
    while start < stop and raw[start] != byte:
        start += 1
    return start


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _number(raw: NDArray[np.uint8], start: int, stop: int) -> Any:
    """The whole number in a span, -1 when it holds anything else."""
    value = np.int64(0) if start < stop else np.int64(-1)
    for p in range(start, stop):
        digit = np.int64(raw[p]) - _ZERO
        if digit < 0 or digit > 9 or value > _LARGEST:
            return np.int64(-1)
        value = value * 10 + digit
    return value if value <= _LARGEST else np.int64(-1)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _unglued(raw: NDArray[np.uint8], p: int, a: int, b: int, e: int) -> Any:
    """End of a number to which the id `p:a` is glued, as in one public file; `e` if it is not."""
    size = a - p
    if e - b <= size:
        return e
    for k in range(size):
        if raw[e - size + k] != raw[p + k]:
            return e
    return e - size


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _row(
    raw: NDArray[np.uint8], p: int, stop: int, sep: int, width: int, column: int, out: Any
) -> Any:
    """Spans of id and name, and the number, of one row into `out`; False when it has none."""
    if sep == _SPACE and width == 2:
        b = stop
        while b > p and raw[b - 1] != sep:
            b -= 1
        a, e = b - 1, stop
    else:
        a = _until(raw, sep, p, stop)
        b = min(a + 1, stop)
        e = _until(raw, sep, b, stop)
    end = _unglued(raw, p, a, b, e) if width > 2 and e == stop else e
    first = e
    for _ in range(column - 2):
        first = _until(raw, sep, min(first + 1, stop), stop)
    first = min(first + 1, stop)
    out[0], out[1], out[2], out[3] = p, a, _number(raw, b, end), first
    out[4] = _until(raw, sep, first, stop) if column > 0 else first
    return a > p and out[2] >= 0


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _scan(raw: NDArray[np.uint8], start: int, sep: int, width: int, column: int, out: Any) -> Any:
    """Every row of a list into `out`; returns (rows, line of a fault or 0)."""
    n, p, row, line = len(raw), start, 0, 1
    while p < n:
        line += 1
        end = _until(raw, _LF, p, n)
        stop = end
        while stop > p and raw[stop - 1] == _CR:
            stop -= 1
        if stop > p:
            if not _row(raw, p, stop, sep, width, column, out[row]):
                return row, line
            row += 1
        p = end + 1
    return row, 0


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _gather(raw: NDArray[np.uint8], start: Any, end: Any, out: NDArray[np.uint8]) -> Any:
    """The spans one after the other, each followed by a line feed; returns the size."""
    p = 0
    for r in range(len(start)):
        for q in range(start[r], end[r]):
            out[p] = raw[q]
            p += 1
        out[p] = _LF
        p += 1
    return p


def read_list(path: Path, unescape: Callable[[str], str] | None = None) -> NumberList:
    """The rows of a list file; every number and every id at most once."""
    raw = read_bytes(path)
    decode(path, raw)
    end = raw.find(b"\n") + 1 or len(raw)
    header = raw[:end].rstrip(b"\r\n").decode("utf-8", "replace")
    sep = "\t" if "\t" in header else " "
    columns = header.split(sep)
    if len(columns) < 2:
        raise DataError(
            f"{path}:1: expected a header like 'org_id remap_id', got {header[:60]!r}; add it"
        )
    name = next((columns.index(c) for c in _NAMES if c in columns[2:]), -1)
    out = np.empty((raw.count(b"\n") + 1, 5), np.int64)
    rows, fault = _scan(np.frombuffer(raw, np.uint8), end, ord(sep), len(columns), name, out)
    if fault:
        raise DataError(
            f"{path}:{fault}: expected {header!r} with a whole number second, "
            f"got {line_at(raw, fault)!r}; mend or remove the line"
        )
    out = out[:rows]
    out = out[np.argsort(out[:, 2], kind="stable")]
    _check_distinct(path, out[:, 2])
    ids = _texts(raw, out[:, 0], out[:, 1], unescape)
    names = {} if name < 0 else _names(ids, _texts(raw, out[:, 3], out[:, 4], unescape))
    if name >= 0 and columns[name] == "title":
        names = {i: html.unescape(n) for i, n in names.items()}
    if len(set(ids)) < len(ids):
        twice = next(i for n, i in enumerate(ids) if i in set(ids[:n]))
        raise DataError(f"{path}: id {twice!r} has two numbers; expected every id once")
    return NumberList(path, out[:, 2].copy(), ids, names)


def _names(ids: list[str], names: list[str]) -> dict[str, str]:
    return {i: n for i, n in zip(ids, names, strict=True) if n}


def _check_distinct(path: Path, numbers: NDArray[np.int64]) -> None:
    twice = np.flatnonzero(np.diff(numbers) == 0)
    if len(twice):
        raise DataError(
            f"{path}: number {numbers[twice[0]]} stands for two ids; expected every number once"
        )


def _texts(raw: bytes, start: NDArray[np.int64], end: NDArray[np.int64], change: Any) -> list[str]:
    """The text of spans of `raw`; spans hold no line feed."""
    buffer = np.empty(int((end - start).sum()) + len(start), np.uint8)
    size = _gather(np.frombuffer(raw, np.uint8), start, end, buffer)
    texts = buffer[:size].tobytes().decode("utf-8").split("\n")[:-1]
    return [change(t) for t in texts] if change else texts
