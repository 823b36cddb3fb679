"""Numbers out of text bytes, by compiled loops.

Both parsers take spaces and tabs between numbers, LF or CRLF line ends, blank lines, and a last
line without an end. They stop at the first byte that does not fit and tell where.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.text import line_at, line_of
from cerec.errors import DataError

_LARGEST = 2**31 - 1
_TAB, _LF, _CR, _SPACE, _ZERO, _NINE = 9, 10, 13, 32, 48, 57
_FINE, _NOT_A_NUMBER, _TOO_LARGE, _WRONG_COUNT = 0, 1, 2, 3


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _count_tokens(raw: NDArray[np.uint8]) -> Any:
    tokens, inside = 0, False
    for b in raw:
        space = b in (_SPACE, _LF, _TAB, _CR)
        tokens += not space and not inside
        inside = not space
    return tokens


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _parse_triples(raw: NDArray[np.uint8], out: NDArray[np.int32]) -> Any:
    """Rows of three into `out`; returns (rows, fault, position of the fault)."""
    n, p, row, field = len(raw), 0, 0, 0
    while p < n:
        b = raw[p]
        if b == _LF:
            if field != 0 and field != 3:
                return row, _WRONG_COUNT, p
            row += field == 3
            field = 0
            p += 1
        elif b in (_SPACE, _TAB, _CR):
            p += 1
        else:
            start, value = p, np.int64(0)
            while p < n and _ZERO <= raw[p] <= _NINE and value <= _LARGEST:
                value = value * 10 + (raw[p] - _ZERO)
                p += 1
            if value > _LARGEST:
                return row, _TOO_LARGE, start
            if p == start or (p < n and not (raw[p] == _SPACE or 9 <= raw[p] <= 13)):
                return row, _NOT_A_NUMBER, start
            if field == 3:
                return row, _WRONG_COUNT, start
            out[row, field] = value
            field += 1
    if field != 0 and field != 3:
        return row, _WRONG_COUNT, n - 1
    return row + (field == 3), _FINE, n


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _parse_ragged(
    raw: NDArray[np.uint8], first: NDArray[np.int32], counts: NDArray[np.int64], out: NDArray[Any]
) -> Any:
    """`first[l]` and the `counts[l]` numbers after it for every line that is not blank.

    Returns (lines, numbers, fault, position of the fault).
    """
    n, p, line, size, fresh = len(raw), 0, -1, 0, True
    while p < n:
        b = raw[p]
        if b == _LF:
            fresh = True
            p += 1
        elif b in (_SPACE, _TAB, _CR):
            p += 1
        else:
            start, value = p, np.int64(0)
            while p < n and _ZERO <= raw[p] <= _NINE and value <= _LARGEST:
                value = value * 10 + (raw[p] - _ZERO)
                p += 1
            if value > _LARGEST:
                return line, size, _TOO_LARGE, start
            if p == start or (p < n and not (raw[p] == _SPACE or 9 <= raw[p] <= 13)):
                return line, size, _NOT_A_NUMBER, start
            if fresh:
                line += 1
                first[line] = value
                counts[line] = 0
                fresh = False
            else:
                out[size] = value
                counts[line] += 1
                size += 1
    return line + 1, size, _FINE, n


def parse_triples(path: Any, raw: bytes) -> NDArray[np.int32]:
    """The rows of a `head relation tail` file, shape (rows, 3)."""
    view = np.frombuffer(raw, np.uint8)
    out = np.empty((raw.count(b"\n") + 1, 3), np.int32)
    rows, fault, position = _parse_triples(view, out)
    if fault:
        raise _fault(path, raw, fault, position, "'head relation tail' as three whole numbers")
    return out[:rows]


def parse_ragged(
    path: Any, raw: bytes
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """(first number, count of the others) of every line, and all the others in one array."""
    view = np.frombuffer(raw, np.uint8)
    lines = raw.count(b"\n") + 1
    first, counts = np.empty(lines, np.int32), np.empty(lines, np.int64)
    out = np.empty(_count_tokens(view), np.int32)
    lines, size, fault, position = _parse_ragged(view, first, counts, out)
    if fault:
        raise _fault(path, raw, fault, position, "'user item item ...' as whole numbers")
    return first[:lines], counts[:lines], out[:size]


def _fault(path: Any, raw: bytes, fault: int, position: int, wanted: str) -> DataError:
    line = line_of(raw, position)
    if fault == _WRONG_COUNT:
        return DataError(
            f"{path}:{line}: expected {wanted}, got {line_at(raw, line)!r}; mend or remove the line"
        )
    token = raw[position : position + 200].split()[:1] or [b""]
    value = token[0][:40].decode("utf-8", "replace")
    limit = f" up to {_LARGEST}" if fault == _TOO_LARGE else ""
    return DataError(
        f"{path}:{line}: expected {wanted}{limit}, got {value!r}; mend or remove the line"
    )
