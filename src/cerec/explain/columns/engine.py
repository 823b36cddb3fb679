"""Attribute answers for many users: blocks of scores and effects in, one table of columns out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError, DataError
from cerec.explain.columns.block import Columns, Rules, answer_block
from cerec.explain.columns.slots import ANY, REMOVE, REPLACE
from cerec.explain.columns.trees import NO_GAIN, NO_LOSS, Values
from cerec.recommend.rank import Doubles, Ints, Longs
from cerec.threads import blas_threads, kernel_threads

Rows = NDArray[np.integer]

STATUS = ("found", "not_found", "no_attributes", "nothing_changeable", "not_in_question")
"""By code. `not_in_question`: to take out but not listed, or to lift in but listed or known."""
_MODE = {"replace": REPLACE, "remove": REMOVE, "any": ANY}
_BAR = {"gained": NO_GAIN, "lost": NO_LOSS, "both": NO_GAIN | NO_LOSS}
_BLOCK_BYTES = 16 << 20  # scores and effects held at once by a thread


class Source(NamedTuple):
    """Where the numbers of users come from; the calls are made from several threads."""

    known: Ragged
    """User -> items that are never listed."""
    scores: Callable[[Longs], Doubles]
    """Users (n,) -> scores (n, I); nan for what may not be listed."""
    effects: Callable[[Longs], Doubles]
    """Users (n,) -> effects of values (n, V), on the grid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of every pair."""

    k: int = 20
    """Length of the list."""
    direction: Literal["out", "in"] = "out"
    """Take a listed item out, or lift an unlisted one in ("why not?")."""
    changes: Literal["replace", "remove", "any"] = "replace"
    """The kind of changes; `any` also adds, where a relation holds several values."""
    scope: Literal["value", "item"] = "value"
    """Gain any values, or only such as one real item has together."""
    max_changes: int | None = None
    alternatives: int = 0
    """Further answers, each the best of those that differ from all before it as `vary` says."""
    vary: Literal["gained", "lost", "both"] = "gained"
    """An alternative gains (loses) nothing that an answer before it gained (lost), or both; where
    that one gained (lost) nothing, the other. So none holds all changes of another."""

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("alternatives", 0), ("max_changes", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"{name} must be at least {least}, got {value}")
        if self.scope == "item" and self.changes == "remove":
            raise ConfigError("scope='item' is about gained values, and removals gain none")


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """A row per answer, and per question without one. The changes of row n lose
    `lost[indptr[n]:indptr[n + 1]]` and gain `gained[...]`, -1 for nothing, most helpful first.
    """

    user: Longs
    item: Ints
    turn: Ints
    """0 for the answer, 1 and so on for its alternatives."""
    relation: Ints
    """The only relation that might change; -1 for all."""
    toward: Ints
    """A real item that has all gained values, where such was asked for; else -1."""
    status: NDArray[np.int8]
    """Place in `STATUS`."""
    rank_before: Ints
    """0 for an item that may not be listed."""
    score_before: Doubles
    cutoff: Doubles
    """Score of the replacement; nan where nothing can flip."""
    replacement: Ints
    """The item that changes places: the first after the list, or the last of it; -1 for none."""
    indptr: Longs
    lost: Ints
    gained: Ints
    along: Ints
    """1 where a change goes along with the one before it, as a parent with its category."""
    score_after: Doubles
    """nan without an answer, and so the margin."""
    rank_after: Ints
    """0 without an answer."""
    margin: Doubles
    """How far beyond the cut-off the item comes to stand, at least 0."""

    def __len__(self) -> int:
        return len(self.item)

    @property
    def size(self) -> Longs:
        """Changed values of each row."""
        return np.diff(self.indptr)

    @property
    def steps(self) -> Longs:
        """Changes of each row; those that go along with another do not count."""
        row = np.repeat(np.arange(len(self)), self.size)
        return np.bincount(row[self.along == 0], minlength=len(self))

    def totals(self) -> dict[str, int]:
        """Questions by status, and the changes of their first answers."""
        asked = self.turn == 0
        count = np.bincount(self.status[asked], minlength=len(STATUS)).tolist()
        return dict(zip(STATUS, count, strict=True)) | {"changes": int(self.size[asked].sum())}

    def equals(self, other: Answers) -> bool:
        """True when all columns hold the same bits."""
        names = [f.name for f in fields(self)]
        return all(getattr(self, n).tobytes() == getattr(other, n).tobytes() for n in names)


def make_values(
    of_item: Ragged,
    relation: Rows,
    support: Rows,
    scale: Doubles,
    *,
    locked: NDArray[np.bool_] | None = None,
    several: NDArray[np.bool_] | None = None,
    above: Ragged | None = None,
    min_support: int = 5,
) -> Values:
    """The values of items as the search takes them: `relation` (V,) rises, `several` (R,) tells
    relations that may hold more than one value (default: none). Locked values are neither lost nor
    gained, and none with fewer than `min_support` items is gained. `above`: `trees.implied`.
    """
    if np.any(np.diff(relation) < 0):
        raise DataError("values must be in the order of their relations")
    if len(scale) != len(of_item) or not (np.isfinite(scale) & (scale > 0)).all():
        raise DataError("every item needs a scale: a finite number above 0")
    n_relations = int(relation[-1]) + 1 if len(relation) else 0
    if several is None:
        several = np.zeros(n_relations, bool)
    if above is None:
        above = Ragged(np.zeros(len(relation) + 1, np.int64), np.zeros(0, np.int32))
    tree = np.zeros(len(several), bool)
    tree[relation[above.indices]] = True
    may_lose = np.ones(len(relation), bool) if locked is None else ~locked
    may_gain = may_lose & (support >= min_support)
    gain = np.flatnonzero(may_gain).astype(np.int32)
    return Values(
        at=of_item.indptr,
        of_item=of_item.indices,
        relation=relation.astype(np.int32),
        mark=(NO_LOSS * ~may_lose + NO_GAIN * ~may_gain).astype(np.uint8),
        gain_at=np.searchsorted(relation[gain], np.arange(len(several) + 1)).astype(np.int64),
        gain=gain,
        several=several,
        scale=np.ascontiguousarray(scale, np.float64),
        longest=int(of_item.counts.max(initial=0)) + int(above.counts.max(initial=0)),
        above_at=above.indptr,
        above=above.indices,
        tree=tree,
    )


def answer_listed(users: Rows, source: Source, values: Values, question: Question) -> Answers:
    """Answers for the first k items of each user's list."""
    if question.direction == "in":
        raise ConfigError("listed items are in the list already; ask about others by answer_asked")
    width = min(question.k, len(values.scale))
    blank = np.full(len(users) * width, -1, np.int32)
    at = np.arange(len(users) + 1, dtype=np.int64) * width
    return _answers(
        users.astype(np.int64), at, (blank, blank, blank), source, values, question, listed=True
    )


def answer_asked(
    user: Rows,
    item: Rows,
    source: Source,
    values: Values,
    question: Question,
    *,
    toward: Rows | None = None,
    relation: Rows | None = None,
) -> Answers:
    """Answers for pairs in the order of their users; where not -1, with gains from the item
    `toward` alone, or changes of one `relation` alone.
    """
    if np.any(np.diff(user) < 0):
        raise DataError("pairs must be in the order of their users")
    users, start = np.unique(user.astype(np.int64), return_index=True)
    blank = np.full(len(user), -1)
    asked = (item, blank if relation is None else relation, blank if toward is None else toward)
    ends = {"item": len(values.scale), "relation": len(values.several), "toward": len(values.scale)}
    for (name, end), rows in zip(ends.items(), asked, strict=True):
        least = 0 if name == "item" else -1
        if not ((rows >= least) & (rows < end)).all():
            raise DataError(f"{name} must hold rows from {least} to {end - 1}")
    at = np.append(start, len(user)).astype(np.int64)
    return _answers(users, at, asked, source, values, question, listed=False)


def relations_of(item: Rows, values: Values) -> tuple[Longs, Ints]:
    """Every relation of every item: the place in `item`, and the relation. With these as `user`,
    `item` and `relation`, `answer_asked` gives the best answer in each relation alone.
    """
    of_item = Ragged(values.at, values.of_item)
    has = Ragged.from_pairs(of_item.row_of(), values.relation[values.of_item], len(of_item))
    n = has.counts[item]
    pair = np.repeat(np.arange(len(item)), n)
    inside = np.arange(len(pair)) - np.repeat(np.cumsum(n) - n, n)
    return pair, has.indices[has.indptr[item[pair]] + inside]


def _answers(
    users: Longs,
    at: Longs,
    asked: tuple[Rows, Rows, Rows],
    source: Source,
    values: Values,
    question: Question,
    *,
    listed: bool,
) -> Answers:
    """Blocks of users, shared among the kernel threads; each fills rows of its own."""
    turns = question.alternatives + 1
    n_values, n_items, rows = len(values.relation), len(values.scale), at * turns
    rules = Rules(
        k=question.k,
        sign=1 if question.direction == "out" else -1,
        mode=_MODE[question.changes],
        most=min(question.max_changes or n_values, n_values),  # each change takes up a value
        turns=turns,
        bar=_BAR[question.vary],
        one_item=question.scope == "item",
        listed=listed,
    )
    n, none, zero, nan = len(asked[0]) * turns, np.int32(-1), np.int32(0), np.nan
    blank = (np.int8(0), zero, nan, nan, none, zero, nan, zero)  # status and on
    questions = [np.repeat(column, turns).astype(np.int32) for column in asked]
    out = Columns._make([*questions, *(np.full(n, value) for value in blank)])
    size = max(1, _BLOCK_BYTES // (8 * (n_items + n_values + 1)))

    def block(first: int) -> Ints:
        some = users[first : first + size]
        ends = rows[first : first + len(some) + 1]
        return answer_block(
            some,
            source.known.indptr,
            source.known.indices,
            _checked("scores", source.scores(some), (len(some), n_items)),
            _checked("effects", source.effects(some), (len(some), n_values)),
            values,
            rules,
            ends - ends[0],
            Columns._make(column[ends[0] : ends[-1]] for column in out),
        )

    firsts = range(0, len(users), size)
    threads = min(kernel_threads(), len(firsts))
    with blas_threads(1), ThreadPoolExecutor(max(threads, 1)) as pool:
        parts = list((map if threads < 2 else pool.map)(block, firsts))
    lost, gained, along = np.concatenate([np.zeros((3, 0), np.int32), *parts], axis=1)
    keep = out.item >= 0
    kept = {name: column[keep] for name, column in out._asdict().items()}
    return Answers(
        user=np.repeat(users, np.diff(rows))[keep],
        turn=np.tile(np.arange(turns, dtype=np.int32), len(asked[0]))[keep],
        indptr=np.append(0, np.cumsum(kept.pop("size"), dtype=np.int64)),
        lost=lost,
        gained=gained,
        along=along,
        margin=rules.sign * (kept["cutoff"] - kept["score_after"]),
        **kept,
    )


def _checked(name: str, rows: Doubles, shape: tuple[int, int]) -> Doubles:
    if rows.shape != shape or rows.dtype != np.float64:
        raise DataError(f"{name} must be doubles {shape}, got {rows.dtype} {rows.shape}")
    return np.require(rows, requirements=["C", "W"])  # else the kernel is compiled once more
