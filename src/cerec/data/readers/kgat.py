"""Folders in the format of KGAT: ragged interactions, `head relation tail`, number lists."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cerec.data.assemble import Raw, assemble
from cerec.data.attributes import read_planted
from cerec.data.dataset import TEST, TRAIN, VALID, Dataset
from cerec.data.escape import MARK, is_marked, unescape
from cerec.data.names import readable_entity
from cerec.data.ragged import distinct
from cerec.data.readers.kgat_lines import Lines, read_lines, side_file, values_of
from cerec.data.readers.lists import NumberList, read_list
from cerec.data.readers.parse import parse_triples
from cerec.data.readers.tables import find_table, read_table
from cerec.data.text import find, read_bytes, stem_of
from cerec.errors import DataError

OPTIONS = ("train", "valid", "test", "kg")
"""File names that may be given when they are not the usual ones."""
_PARTS = {"train": TRAIN, "valid": VALID, "test": TEST}
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
    for kind in ("user", "item", "entity", "relation"):
        listed = find(folder, f"{kind}_list.txt")
        found[kind] = [listed] if listed else []
    sides = [side_file(p, c) for part in _PARTS for p in found[part] for c in ("rating", "time")]
    found["sides"] = [path for path in sides if path is not None]
    planted = find_table(folder, "planted")
    found["planted"] = [planted] if planted else []
    found["mark"] = [folder / MARK] if (folder / MARK).is_file() else []
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
class _Lists:
    user: NumberList | None = None
    item: NumberList | None = None
    entity: NumberList | None = None
    relation: NumberList | None = None
    notes: list[str] = field(default_factory=list)


def read_kgat(folder: Path, **options: str) -> Dataset:
    """The dataset of a KGAT folder.

    Ids are those of the lists, or the numbers where a list is missing. Without a train file the
    other interaction files are taken together, unsplit. Listed users without a line in any file
    are left out and noted; so are listed entities outside a graph file that is not
    `kg_final.txt`.
    """
    paths = _files(folder, **options)
    lines = [read_lines(p, _PARTS[part]) for part in _PARTS for p in paths[part]]
    if not lines:
        raise DataError(
            f"{folder}: no interaction file; expected train.txt, or name one: train=FILE"
        )
    change = unescape if is_marked(folder) else None
    lists = _Lists(
        user=_read_list(paths["user"], change),
        item=_read_list(paths["item"], change),
        entity=_read_list(paths["entity"], change),
        relation=_read_list(paths["relation"], change),
    )
    n_items = _n_items(lists, lines)
    _check_listed(lines, lists, n_items)
    raw = _interactions(folder, lines, lists, n_items)
    partial = any(stem_of(path) != _GRAPH for path in paths["kg"])
    _add_graph(raw, _read_graph(paths["kg"]), lists, partial)
    if paths["planted"]:
        planted = read_table(paths["planted"][0])
        raw.planted = read_planted(planted, raw.users, raw.relations, raw.entities)
    return assemble(raw)


def _read_list(paths: list[Path], change: Callable[[str], str] | None) -> NumberList | None:
    return read_list(paths[0], change) if paths else None


def _read_graph(paths: list[Path]) -> NDArray[np.int32]:
    if not paths:
        return np.zeros((0, 3), np.int32)
    return parse_triples(paths[0], read_bytes(paths[0]))


def _n_items(lists: _Lists, lines: list[Lines]) -> int:
    """Size of the catalogue; items are numbered from 0, and listed where there is a list."""
    if lists.item is not None:
        numbers = lists.item.numbers
        odd = np.flatnonzero(numbers != np.arange(len(numbers)))
        if len(odd):
            raise DataError(
                f"{lists.item.path}: expected the numbers 0 to {len(numbers) - 1}, "
                f"got {numbers[odd[0]]}; number the items without gaps"
            )
        return len(numbers)
    taken = np.concatenate([part.item for part in lines])
    largest = int(taken.max()) if len(taken) else -1
    if largest > 1000 + 100 * len(taken):
        part = next(part for part in lines if largest in part.item)
        entry = int(np.argmax(part.item))
        raise DataError(
            f"{part.path}:{part.line(part.row(entry))}: item {largest} is far beyond the "
            f"{len(taken)} items taken; mend the number or add item_list.txt"
        )
    return largest + 1


def _check_listed(lines: list[Lines], lists: _Lists, n_items: int) -> None:
    """Every item and user of the lines is in its list, where there is one."""
    for part in lines:
        stray = np.flatnonzero(part.item >= n_items)
        if len(stray):
            entry = int(stray[0])
            raise _stray(part, part.row(entry), f"item {part.item[entry]}", "item_list.txt")
        if lists.user is not None:
            stray = np.flatnonzero(lists.user.find(part.first) < 0)
            if len(stray):
                row = int(stray[0])
                raise _stray(part, row, f"user {part.first[row]}", lists.user.path.name)


def _stray(part: Lines, row: int, what: str, listed: str) -> DataError:
    return DataError(
        f"{part.path}:{part.line(row)}: {what} is not in {listed}; add it there or mend the line"
    )


def _interactions(folder: Path, lines: list[Lines], lists: _Lists, n_items: int) -> Raw:
    numbers, user = compact(np.concatenate([part.first for part in lines]))
    if lists.user is not None and len(lists.user.ids) > len(numbers):
        unused = len(lists.user.ids) - len(numbers)
        lists.notes.append(f"{lists.user.path.name}: {unused:,} users without a line left out")
    codes = np.array([part.part for part in lines], np.int8)
    whole = len(lines) == 1 or TRAIN not in codes
    if whole and len(lines) > 1:
        joined = " and ".join(part.path.name for part in lines)
        lists.notes.append(f"no train file: {joined} taken together; split before training")
    item_list = lists.item or lists.entity
    empty = np.zeros(0, np.int32)
    return Raw(
        name=folder.resolve().name,
        users=_ids(lists.user, numbers),
        items=_ids(item_list, np.arange(n_items)),
        entities=[],
        relations=[],
        user=np.repeat(user, np.concatenate([part.counts for part in lines])),
        item=np.concatenate([part.item for part in lines]),
        head=empty,
        relation=empty,
        tail=empty,
        rating=values_of(lines, "rating"),
        time=values_of(lines, "time"),
        part=None if whole else np.repeat(codes, [len(part.item) for part in lines]),
        names={
            "users": lists.user.names if lists.user else {},
            "items": _names(item_list),
        },
        notes=lists.notes,
        source=str(folder),
    )


def _add_graph(raw: Raw, graph: NDArray[np.int32], lists: _Lists, partial: bool) -> None:
    """Put the triples, with the entities and relations they or the lists name, into `raw`."""
    n_items = len(raw.items)
    nodes = np.concatenate([graph[:, 0], graph[:, 2]])
    in_graph, code = compact(nodes)
    listed = lists.entity
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
    if lists.relation is not None:
        numbers, raw.relation = _with_listed(numbers, raw.relation, lists.relation.numbers)
        raw.names["relations"] = lists.relation.names
    raw.relations = _ids(lists.relation, numbers)


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
