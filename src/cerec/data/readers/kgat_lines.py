"""The interaction files of KGAT folders: `user item item ...`, and the numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.readers.parse import parse_ragged
from cerec.data.text import find, line_at, read_bytes, stem_of
from cerec.errors import DataError


@dataclass(slots=True)
class Lines:
    """The interactions of one file: a user and a count for every line, and the items."""

    path: Path
    raw: bytes
    first: NDArray[np.int32]
    counts: NDArray[np.int64]
    item: NDArray[np.int32]
    part: int

    def row(self, entry: int) -> int:
        """The line, not counting blank ones, that holds an entry of `item`."""
        return int(np.searchsorted(np.cumsum(self.counts), entry, side="right"))

    def line(self, row: int) -> int:
        """The number of a line in the file, of its number without blank lines."""
        return [n for n, text in enumerate(self.raw.split(b"\n"), 1) if text.strip()][row]


def read_lines(path: Path, part: int) -> Lines:
    """The interactions of `path`."""
    raw = read_bytes(path)
    return Lines(path, raw, *parse_ragged(path, raw), part)


def side_file(path: Path, column: str) -> Path | None:
    """`train.rating.txt` beside `train.txt`, if it is there."""
    return find(path.parent, f"{stem_of(path).removesuffix('.txt')}.{column}.txt")


def values_of(lines: Sequence[Lines], column: str) -> Any:
    """The rating or time of every interaction, or None when no file tells them."""
    sides = [side_file(part.path, column) for part in lines]
    if not any(sides):
        return None
    values = []
    for part, side in zip(lines, sides, strict=True):
        if side is None:
            raise DataError(f"{part.path}: has no {column} file beside it, but another part has")
        values.append(_read_values(part, side))
    return np.concatenate(values).astype(np.float32 if column == "rating" else np.float64)


def _read_values(part: Lines, path: Path) -> NDArray[np.float64]:
    """The numbers of a side file, which has the users and counts of the lines of `part`."""
    raw = read_bytes(path)
    rows = [(n, text.split()) for n, text in enumerate(raw.split(b"\n"), 1) if text.strip()]
    users, counts = part.first.tolist(), part.counts.tolist()
    if len(rows) != len(users):
        raise DataError(
            f"{path}: expected the {len(users)} lines of {part.path.name}, got {len(rows)}"
        )
    flat: list[bytes] = []
    for (line, words), user, count in zip(rows, users, counts, strict=True):
        if words[0] != str(user).encode() or len(words) != count + 1:
            raise DataError(
                f"{path}:{line}: expected user {user} and {count} numbers as in "
                f"{part.path.name}, got {line_at(raw, line)!r}"
            )
        flat += words[1:]
    try:
        values = np.array(flat, "S").astype(np.float64) if flat else np.zeros(0)
    except ValueError:
        values = np.array([_number(word) for word in flat])
    bad = np.flatnonzero(~np.isfinite(values.astype(np.float32)))
    if len(bad):
        line = rows[part.row(int(bad[0]))][0]
        word = flat[bad[0]].decode("utf-8", "replace")
        raise DataError(f"{path}:{line}: expected finite numbers, got {word!r}; mend the line")
    return values


def _number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")
