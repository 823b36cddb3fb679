"""Folders in the format of KGAT: ragged interactions, `head relation tail`, number lists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cerec.data.assemble import Raw, assemble
from cerec.data.dataset import TEST, TRAIN, VALID, Dataset
from cerec.data.names import readable_entity
from cerec.data.ragged import distinct
from cerec.data.readers.lists import NumberList, read_list
from cerec.data.readers.parse import parse_ragged, parse_triples
from cerec.data.text import find, read_bytes, stem_of
from cerec.errors import DataError

OPTIONS = ("train", "valid", "test", "kg")
"""File names that may be given when they are not the usual ones."""
_PARTS = {"train": TRAIN, "valid": VALID, "test": TEST}
_LISTS = ("user", "item", "entity", "relation")
_GRAPH = "kg_final.txt"


def looks_like(folder: Path) -> bool:
    """True for a folder with interaction or graph files under KGAT's names."""
    return any(find(folder, name) for name in ("train.txt", "test.txt", _GRAPH))


def files(folder: Path, **options: str) -> list[Path]:
    """The files to read."""
    return [path for paths in _files(folder, **options).values() for path in paths]


def _files(folder: Path, **options: str) -> dict[str, list[Path]]:
    """The files to read by role: train, valid, test, kg and the four lists."""
    found = {part: _interaction_files(folder, part, options.get(part)) for part in _PARTS}
    found["kg"] = _graph_files(folder, options.get("kg"))
    for kind in _LISTS:
        listed = find(folder, f"{kind}_list.txt")
        found[kind] = [listed] if listed else []
    return found


def _interaction_files(folder: Path, part: str, given: str | None) -> list[Path]:
    if given is not None:
        return [_given(folder, given)]
    usual = find(folder, f"{part}.txt")
    if usual or part != "valid":
        return [usual] if usual else []
    return sorted(
        p for p in folder.glob("valid*.txt*") if re.fullmatch(r"valid\d+\.txt", stem_of(p))
    )


def _graph_files(folder: Path, given: str | None) -> list[Path]:
    if given is not None:
        return [_given(folder, given)]
    usual = find(folder, _GRAPH)
    if usual:
        return [usual]
    others = sorted(p for p in folder.glob("kg*.txt*") if stem_of(p).endswith(".txt"))
    if len(others) > 1:
        names = ", ".join(p.name for p in others)
        raise DataError(f"{folder}: several graph files ({names}); name one with kg=FILE")
    return others


def _given(folder: Path, name: str) -> Path:
    path = find(folder, name)
    if path is None:
        raise DataError(f"{folder / name}: no such file; check the name given for it")
    return path


@dataclass(slots=True)
class _Lines:
    """The interactions of one file: a user and a count for every line, and the items."""

    path: Path
    raw: bytes
    part: int
    user: NDArray[np.int32]
    counts: NDArray[np.int64]
    item: NDArray[np.int32]

    def stray(self, row: int, what: str, listed: str) -> DataError:
        """What to say of a user or item on a line, not counting blank ones, that is not listed."""
        line = [n for n, text in enumerate(self.raw.split(b"\n"), 1) if text.strip()][row]
        return DataError(
            f"{self.path}:{line}: {what} is not in {listed}; add it there or mend the line"
        )

    def row(self, entry: int) -> int:
        """The line, not counting blank ones, that holds an entry of `item`."""
        return int(np.searchsorted(np.cumsum(self.counts), entry, side="right"))


Lists = dict[str, NumberList | None]


def read_kgat(folder: Path, **options: str) -> Dataset:
    """The dataset of a KGAT folder.

    Ids are those of the lists, or the numbers where a list is missing. Without a train file the
    other interaction files are taken together, unsplit. Listed users without a line in any file
    are left out and noted; so are listed entities outside a graph file that is not
    `kg_final.txt`.
    """
    paths = _files(folder, **options)
    lines = []
    for part, code in _PARTS.items():
        for path in paths[part]:
            raw = read_bytes(path)
            lines.append(_Lines(path, raw, code, *parse_ragged(path, raw)))
    if not lines:
        raise DataError(
            f"{folder}: no interaction file; expected train.txt, or name one: train=FILE"
        )
    lists = {kind: read_list(paths[kind][0]) if paths[kind] else None for kind in _LISTS}
    n_items = _n_items(lists["item"], lines)
    _check_listed(lines, lists, n_items)
    found = _interactions(folder, lines, lists, n_items)
    partial = any(stem_of(path) != _GRAPH for path in paths["kg"])
    graph = np.zeros((0, 3), np.int32)
    for path in paths["kg"]:  # one, or none
        graph = parse_triples(path, read_bytes(path))
    _add_graph(found, graph, lists, partial)
    return assemble(found)


def _n_items(listed: NumberList | None, lines: list[_Lines]) -> int:
    """Size of the catalogue; items are numbered from 0, and listed where there is a list."""
    if listed is not None:
        odd = np.flatnonzero(listed.numbers != np.arange(len(listed.numbers)))
        if len(odd):
            raise DataError(
                f"{listed.path}: expected the numbers 0 to {len(listed.numbers) - 1}, "
                f"got {listed.numbers[odd[0]]}; number the items without gaps"
            )
        return len(listed.numbers)
    taken = np.concatenate([part.item for part in lines])
    largest = int(taken.max(initial=-1))
    if largest > 1000 + 100 * len(taken):
        part = next(part for part in lines if largest in part.item)
        row = part.row(int(np.argmax(part.item)))
        raise part.stray(
            row, f"item {largest}, far beyond the {len(taken)} taken,", "item_list.txt"
        )
    return largest + 1


def _check_listed(lines: list[_Lines], lists: Lists, n_items: int) -> None:
    """Every item and user of the lines is in its list, where there is one."""
    for part in lines:
        stray = np.flatnonzero(part.item >= n_items)
        if len(stray):
            entry = int(stray[0])
            raise part.stray(part.row(entry), f"item {part.item[entry]}", "item_list.txt")
        if (users := lists["user"]) is not None:
            stray = np.flatnonzero(users.find(part.user) < 0)
            if len(stray):
                row = int(stray[0])
                raise part.stray(row, f"user {part.user[row]}", users.path.name)


def _interactions(folder: Path, lines: list[_Lines], lists: Lists, n_items: int) -> Raw:
    numbers, user = compact(np.concatenate([part.user for part in lines]))
    notes, users, items = [], lists["user"], lists["item"] or lists["entity"]
    if users is not None and len(users.ids) > len(numbers):
        unused = len(users.ids) - len(numbers)
        notes.append(f"{users.path.name}: {unused:,} users without a line left out")
    codes = np.array([part.part for part in lines], np.int8)
    whole = len(lines) == 1 or TRAIN not in codes
    if whole and len(lines) > 1:
        joined = " and ".join(part.path.name for part in lines)
        notes.append(f"no train file: {joined} taken together; split before training")
    return Raw(
        name=folder.resolve().name,
        users=_ids(users, numbers),
        items=_ids(items, np.arange(n_items)),
        user=np.repeat(user, np.concatenate([part.counts for part in lines])),
        item=np.concatenate([part.item for part in lines]),
        part=None if whole else np.repeat(codes, [len(part.item) for part in lines]),
        names={"users": users.names if users else {}, "items": _names(items)},
        notes=notes,
        source=str(folder),
    )


def _add_graph(raw: Raw, graph: NDArray[np.int32], lists: Lists, partial: bool) -> None:
    """Put the triples, with the entities and relations they or the lists name, into `raw`."""
    n_items, listed = len(raw.items), lists["entity"]
    in_graph, code = compact(np.concatenate([graph[:, 0], graph[:, 2]]))
    if listed is not None and not partial:
        in_graph, code = _with_listed(in_graph, code, listed.numbers)
    elif listed is not None:
        unused = int((listed.numbers >= n_items).sum() - (in_graph >= n_items).sum())
        if unused > 0:
            raw.notes.append(f"{listed.path.name}: {unused:,} entities outside the graph left out")
    is_entity = in_graph >= n_items
    # items keep their number; entities follow in rising order
    node = np.where(is_entity, n_items + np.cumsum(is_entity) - 1, in_graph)
    raw.entities = _ids(listed, in_graph[is_entity])
    raw.names["entities"] = _names(listed)
    raw.head, raw.tail = np.split(node[code], 2)
    numbers, raw.relation = compact(graph[:, 1])
    if (relations := lists["relation"]) is not None:
        numbers, raw.relation = _with_listed(numbers, raw.relation, relations.numbers)
        raw.names["relations"] = relations.names
    raw.relations = _ids(relations, numbers)


def _with_listed(
    numbers: NDArray[np.int64], code: NDArray[np.int64], listed: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`numbers` and codes into them, with the listed numbers added."""
    both = distinct(np.concatenate([numbers, listed]))
    return both, np.searchsorted(both, numbers)[code]


def compact(values: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct values in rising order, and the position of each value among them."""
    top = int(values.max()) if len(values) else -1
    if top > 8 * len(values) + 1_000_000:
        distinct, code = np.unique(values, return_inverse=True)
        return distinct.astype(np.int64), code
    seen = np.zeros(top + 1, bool)
    seen[values] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[values]


def _ids(listed: NumberList | None, numbers: NDArray[np.int64]) -> list[str]:
    """The listed ids of `numbers`; a number that is not listed is its own id."""
    if listed is None:
        return [str(n) for n in numbers.tolist()]
    if np.array_equal(listed.numbers, numbers):
        return listed.ids
    rows = listed.find(numbers)
    return [listed.ids[r] if r >= 0 else str(n) for r, n in zip(rows, numbers, strict=True)]


def _names(listed: NumberList | None) -> dict[str, str]:
    """The names of a list, or names read out of its ids where it has none."""
    if listed is None or listed.names:
        return listed.names if listed else {}
    return {i: readable_entity(i) for i in listed.ids if "::" in i or "://" in i}
