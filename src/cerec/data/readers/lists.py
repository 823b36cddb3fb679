"""The `*_list.txt` files of KGAT folders: own id, number, and perhaps a name.

The header says which columns there are, and whether tabs or spaces stand between them. With two
columns and spaces the number is the last word, so that an id may hold spaces. The name is the
column called name, label or title.
"""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cerec.data.text import line_at, read_text
from cerec.errors import DataError

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


def read_list(path: Path) -> NumberList:
    """The rows of a list file; every number and every id at most once."""
    text = read_text(path)
    header, *lines = (line.rstrip("\r") for line in text.split("\n"))
    sep = "\t" if "\t" in header else " "
    columns = header.split(sep)
    if len(columns) < 2:
        raise DataError(
            f"{path}:1: expected a header like 'org_id remap_id', got {header[:60]!r}; add it"
        )
    name = next((columns.index(c) for c in _NAMES if c in columns[2:]), None)
    rows: dict[int, tuple[str, str]] = {}
    for n, line in enumerate(lines, 2):
        if not line:
            continue
        cells = line.rsplit(sep, 1) if sep == " " and len(columns) == 2 else line.split(sep)
        own, number = cells[0], cells[1] if len(cells) > 1 else ""
        if len(columns) > len(cells) == 2:  # in one public file the third column is glued to it
            number = number.removesuffix(own) or number
        fits = number.isascii() and number.isdigit() and len(number) <= 10
        if not (own and fits and int(number) <= _LARGEST):
            raise DataError(
                f"{path}:{n}: expected {header!r} with a whole number second, "
                f"got {line_at(text.encode(), n)!r}; mend or remove the line"
            )
        if int(number) in rows:
            raise DataError(
                f"{path}: number {number} stands for two ids; expected every number once"
            )
        rows[int(number)] = own, cells[name] if name and name < len(cells) else ""
    numbers = sorted(rows)
    ids = [rows[number][0] for number in numbers]
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise DataError(f"{path}: id {twice!r} has two numbers; expected every id once")
    change = html.unescape if name and columns[name] == "title" else str
    names = {own: change(called) for own, called in rows.values() if called}
    return NumberList(path, np.array(numbers, np.int64), ids, names)
