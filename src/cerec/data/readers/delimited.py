"""Delimited text to a frame of strings, with the line of every row.

A file without quotes is checked for the number of fields in every line and read by polars, many
times faster than by `csv`, which reads the others.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from cerec.data.columns import Table
from cerec.data.text import decode, line_at, one_line
from cerec.errors import DataError


def separator(raw: bytes, usual: str) -> str:
    """What stands between the headers: the sign that gives the most of them, or the usual one."""
    line = raw.lstrip(b"\r\n")[:65536].partition(b"\n")[0].decode("utf-8", "replace")
    bare = re.sub('"[^"]*"', "", line)
    return max((usual, ",", ";", "\t", "|"), key=bare.count)


def parse_delimited(
    path: Path, raw: bytes, sep: str, *, quotes: bool = True, exact: bool = False
) -> Table:
    """The table in `raw`, the content of `path`, as columns of text."""
    text = decode(path, raw)
    if not text.strip("\r\n"):
        raise DataError(f"{path}: is empty; expected a header line and rows")
    quoted = quotes and '"' in text
    if not quoted and (lone := re.search("\r(?!\n)", text)):
        line = text.count("\n", 0, lone.start()) + 1
        raise DataError(
            f"{path}:{line}: a carriage return inside the line; save it with plain ends"
        )
    if quoted or re.search("^\r?\n|\n\r?\n", text):
        frame, lines = _by_csv(path, text, sep, quotes=quotes)
        place = lambda row: f"{path}:{lines[row]}"  # noqa: E731
    else:
        frame = _by_polars(path, raw, sep)
        place = lambda row: f"{path}:{row + 2}"  # noqa: E731
    return Table(str(path), frame, place, exact=exact, comma=sep == ";")


def _by_polars(path: Path, raw: bytes, sep: str) -> pl.DataFrame:
    content = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(content == 10)
    ends = ends if raw.endswith(b"\n") else np.append(ends, len(raw))
    fields = np.diff(np.searchsorted(np.flatnonzero(content == ord(sep)), ends), prepend=0) + 1
    head = raw[: int(ends[0])].decode().rstrip("\r")
    header = _header(path, 1, head.split(sep))
    if len(odd := np.flatnonzero(fields != len(header))):
        raise _fields(path, int(odd[0]) + 1, len(header), int(fields[odd[0]]), raw)
    if len(ends) == 1:
        return pl.DataFrame(schema=dict.fromkeys(header, pl.String))
    # polars looks at the first bytes for a packed file; a header of our own keeps it from that
    body = sep.join(f"c{n}" for n in range(len(header))).encode() + raw[int(ends[0]) :]
    try:
        read = pl.read_csv(
            body.replace(b"\r\n", b"\n"), separator=sep, quote_char=None, infer_schema=False
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path}: not a readable table ({one_line(error)}); mend the file"
        ) from None
    return read.rename(dict(zip(read.columns, header, strict=True)))


def _by_csv(path: Path, text: str, sep: str, *, quotes: bool) -> tuple[pl.DataFrame, list[int]]:
    """The frame, and the line of every row."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=sep,
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        strict=True,
    )
    rows, lines, line = [], [], 1
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        got = line_at(text.encode(), line)
        what = one_line(error).replace("unexpected end of data", "expected a closing quote")
        raise DataError(f"{path}:{line}: {what}, got {got!r}; mend the line") from None
    header = _header(path, lines[0], rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise _fields(path, line, len(header), len(row), text.encode())
    schema = dict.fromkeys(header, pl.String)
    return pl.DataFrame(rows[1:], schema=schema, orient="row"), lines[1:]


def _header(path: Path, line: int, cells: Sequence[str]) -> list[str]:
    names = [c.strip() for c in cells]
    if twice := [c for n, c in enumerate(names) if c in names[:n]]:
        raise DataError(f"{path}:{line}: column {twice[0]!r} stands twice; rename one")
    if "" in names:
        raise DataError(f"{path}:{line}: a column without a name; name or remove it")
    return names


def _fields(path: Path, line: int, wanted: int, found: int, raw: bytes) -> DataError:
    return DataError(
        f"{path}:{line}: expected {wanted} fields as in the header, got {found}: "
        f"{line_at(raw, line)!r}; mend or remove the line"
    )
