"""Numbers out of text bytes, by a compiled loop.

It takes spaces and tabs between numbers, LF or CRLF line ends, blank lines, and a last line without
an end. It stops at the first byte that does not fit and says where.
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
_FINE, _NOT_A_NUMBER, _TOO_LARGE = 0, 1, 2


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _count_tokens(raw: NDArray[np.uint8]) -> Any:
    tokens, inside = 0, False
    for b in raw:
        space = b in (_SPACE, _LF, _TAB, _CR)
        tokens += not space and not inside
        inside = not space
    return tokens


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
    wanted = "'head relation tail' as three whole numbers"
    head, counts, rest = parse_ragged(path, raw, wanted)
    odd = np.flatnonzero(counts != 2)
    if len(odd):
        line = [n for n, text in enumerate(raw.split(b"\n"), 1) if text.strip()][int(odd[0])]
        raise DataError(
            f"{path}:{line}: expected {wanted}, got {line_at(raw, line)!r}; mend or remove the line"
        )
    return np.column_stack([head, rest.reshape(-1, 2)])


def parse_ragged(
    path: Any, raw: bytes, wanted: str = "'user item item ...' as whole numbers"
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """(first number, count of the others) of every line, and all the others in one array."""
    view = np.frombuffer(raw, np.uint8)
    lines = raw.count(b"\n") + 1
    first, counts = np.empty(lines, np.int32), np.empty(lines, np.int64)
    out = np.empty(_count_tokens(view), np.int32)
    lines, size, fault, position = _parse_ragged(view, first, counts, out)
    if fault:
        token = raw[position : position + 200].split()[:1] or [b""]
        value = token[0][:40].decode("utf-8", "replace")
        limit = f" up to {_LARGEST}" if fault == _TOO_LARGE else ""
        raise DataError(
            f"{path}:{line_of(raw, position)}: expected {wanted}{limit}, got {value!r}; mend or "
            "remove the line"
        )
    return first[:lines], counts[:lines], out[:size]
