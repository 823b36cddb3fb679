"""Delimited text to a frame of strings, with the line of every row.

A compiled scan checks quotes and field counts first, so that a cut or overlong line is an error
with its number; polars then reads what is known to be regular.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.data.columns import Table
from cerec.data.text import decode, line_at, one_line, read_bytes
from cerec.errors import DataError

_LF, _CR, _QUOTE = 10, 13, 34
_FINE, _OPEN_QUOTE, _AFTER_QUOTE = 0, 1, 2


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _field_end(raw: NDArray[np.uint8], p: int, sep: int, quote: int) -> Any:
    """(end of the field at `p`, line feeds inside it, fault)."""
    n, lines = len(raw), 0
    if p < n and raw[p] == quote:
        p += 1
        while p < n:
            if raw[p] == quote:
                if p + 1 >= n or raw[p + 1] != quote:
                    break
                p += 1
            lines += raw[p] == _LF
            p += 1
        if p >= n:
            return p, lines, _OPEN_QUOTE
        p += 1
        end = p
        while end < n and raw[end] == _CR:
            end += 1
        if end < n and raw[end] != sep and raw[end] != _LF:
            return p, lines, _AFTER_QUOTE
        return end, lines, _FINE
    while p < n and raw[p] != sep and raw[p] != _LF:
        p += 1
    return p, lines, _FINE


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _records(raw: NDArray[np.uint8], sep: int, quote: int, out: Any) -> Any:
    """(first byte, line, fields) of every record that is not blank; returns (records, fault)."""
    n, p, line, row = len(raw), 0, 1, 0
    while p < n:
        start, first, fields = p, line, 0
        while True:
            end, lines, fault = _field_end(raw, p, sep, quote)
            if fault:
                out[row, 1] = first
                return row, fault
            fields += 1
            line += lines
            if end >= n or raw[end] == _LF:
                break
            p = end + 1
        blank = fields == 1 and (end == start or (end == start + 1 and raw[start] == _CR))
        if not blank:
            out[row, 0], out[row, 1], out[row, 2] = start, first, fields
            row += 1
        p = end + 1
        line += 1
    return row, _FINE


def read_delimited(path: Path, sep: str = ",", quote: str | None = '"') -> Table:
    """A table of text columns; empty fields that were not quoted are null."""
    return parse_delimited(path, read_bytes(path), sep, quote)


def separator(raw: bytes, usual: str) -> str:
    """What stands between the headers: the sign that gives the most of them, or the usual one."""
    line = raw.lstrip(b"\r\n")[:65536].partition(b"\n")[0].decode("utf-8", "replace")
    bare = re.sub('"[^"]*"', "", line)
    return max((usual, ",", ";", "\t", "|"), key=bare.count)


def parse_delimited(
    path: Path, raw: bytes, sep: str, quote: str | None, exact: bool = False
) -> Table:
    """The table in `raw`, the content of `path`."""
    decode(path, raw)
    out = np.empty((raw.count(b"\n") + 2, 3), np.int64)
    mark = ord(quote) if quote else -1
    rows, fault = _records(np.frombuffer(raw, np.uint8), ord(sep), mark, out)
    if fault:
        line = int(out[rows, 1])
        what = "a closing quote" if fault == _OPEN_QUOTE else "a separator after the quote"
        raise DataError(
            f"{path}:{line}: expected {what}, got {line_at(raw, line)!r}; mend the line"
        )
    if rows == 0:
        raise DataError(f"{path}: is empty; expected a header line and rows")
    header = _header(path, raw, out[:rows], sep, quote)
    odd = np.flatnonzero(out[:rows, 2] != len(header))
    if len(odd):
        line, fields = int(out[odd[0], 1]), int(out[odd[0], 2])
        raise DataError(
            f"{path}:{line}: expected {len(header)} fields as in the header, got {fields}: "
            f"{line_at(raw, line)!r}; mend or remove the line"
        )
    lines = out[1:rows, 1].copy()
    frame = _read(path, raw, header, out[:rows], sep, quote)
    place = lambda row: f"{path}:{lines[row]}"  # noqa: E731
    return Table(str(path), frame, place, exact=exact, comma=sep == ";")


def _header(
    path: Path, raw: bytes, records: NDArray[np.int64], sep: str, quote: str | None
) -> Sequence[str]:
    end = int(records[1, 0]) if len(records) > 1 else len(raw)
    start = int(records[0, 0])
    line = raw[start:end].decode("utf-8").rstrip("\r\n")
    try:
        names = [c.strip() for c in _split(line, sep, quote)]
    except csv.Error as error:
        raise DataError(
            f"{path}:{records[0, 1]}: not readable as a header ({one_line(error)}); mend the line"
        ) from None
    twice = next((c for n, c in enumerate(names) if c in names[:n]), None)
    if twice is not None:
        raise DataError(
            f"{path}:{records[0, 1]}: column {twice!r} stands twice; expected distinct columns, "
            "rename one"
        )
    if "" in names:
        raise DataError(f"{path}:{records[0, 1]}: a column without a name; name or remove it")
    return names


def _split(line: str, sep: str, quote: str | None) -> list[str]:
    if not quote:
        return line.split(sep)
    return next(_reader([line], sep, quote), [""])


def _read(
    path: Path, raw: bytes, header: Sequence[str], records: NDArray[np.int64], sep: str,
    quote: str | None,
) -> pl.DataFrame:  # fmt: skip
    """The rows after the header as text."""
    schema = dict.fromkeys(header, pl.String)
    if len(records) == 1:
        return pl.DataFrame(schema=schema)
    body = raw[int(records[1, 0]) :]
    lines = body.count(b"\n") + (not body.endswith(b"\n"))
    if lines != len(records) - 1 or (quote and quote.encode() in body):
        return _read_slowly(path, body, schema, len(records) - 1, sep, quote)
    # polars looks at the first bytes for a packed file; a header of our own keeps it from that
    content = sep.join(f"c{n}" for n in range(len(schema))).encode() + b"\n"
    content += body.replace(b"\r\n", b"\n")
    try:
        frame = pl.read_csv(content, separator=sep, quote_char=None, infer_schema=False)
        return frame.rename(dict(zip(frame.columns, schema, strict=True)))
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path}: not readable as a table ({one_line(error)}); mend the file"
        ) from None


def _reader(text: Iterable[str], sep: str, quote: str | None) -> Iterator[list[str]]:
    if quote:
        return csv.reader(text, delimiter=sep, quotechar=quote)
    return csv.reader(text, delimiter=sep, quoting=csv.QUOTE_NONE)


def _read_slowly(
    path: Path, body: bytes, schema: dict[str, Any], rows: int, sep: str, quote: str | None
) -> pl.DataFrame:
    """Rows with quotes or with blank lines between them."""
    text = io.StringIO(body.decode("utf-8"), newline="")
    try:
        read = [r for r in _reader(text, sep, quote) if r]
    except csv.Error as error:
        raise DataError(
            f"{path}: not readable as a table ({one_line(error)}); mend the file"
        ) from None
    if len(read) != rows or any(len(r) != len(schema) for r in read):
        raise DataError(f"{path}: a carriage return inside a row; put the field in quotes")
    return pl.DataFrame(read, schema=schema, orient="row")
