"""Questions about a block of users to columns of answers, each the fewest changes that flip."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.errors import DataError
from cerec.explain.changes.block import Columns, Rules, answer_block
from cerec.explain.changes.values import ANY, REMOVE, REPLACE, Values
from cerec.recommend.rank import Doubles, Ints, Longs

Rows = NDArray[np.integer]
STATUS = ("found", "not_found", "no_attributes", "nothing_changeable", "not_in_question")
"""By code. `not_in_question`: to take out but not listed, or to lift in but listed or known."""
_MODE = {"replace": REPLACE, "remove": REMOVE, "any": ANY}


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
    """Further answers: the best that gains nothing an answer before it gained; where that gained
    nothing, that loses nothing it lost."""


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
        return np.diff(np.append(0, np.cumsum(self.along == 0))[self.indptr])

    def equals(self, other: Answers) -> bool:
        """True when all columns hold the same bits."""
        names = [f.name for f in fields(self)]
        return all(getattr(self, n).tobytes() == getattr(other, n).tobytes() for n in names)


def answer_listed(
    users: Rows,
    known: Ragged,
    scores: Doubles,
    effects: Doubles,
    values: Values,
    question: Question,
) -> Answers:
    """Answers for the first k items of each user's list; `scores` and `effects` by user."""
    width = min(question.k, len(values.scale))
    blank = np.full(len(users) * width, -1, np.int32)
    at = np.arange(len(users) + 1, dtype=np.int64) * width
    asked = blank, blank, blank
    return _answers(users, at, asked, known, scores, effects, values, question, listed=True)


def answer_asked(
    user: Rows,
    item: Rows,
    known: Ragged,
    scores: Doubles,
    effects: Doubles,
    values: Values,
    question: Question,
    *,
    toward: Rows | None = None,
    relation: Rows | None = None,
) -> Answers:
    """Answers for pairs in the order of their users; `scores` and `effects` by different user.

    Where not -1, with gains from the item `toward` alone, or changes of one `relation` alone.
    """
    if np.any(np.diff(user) < 0):
        raise DataError("pairs must be in the order of their users")
    users, start = np.unique(user, return_index=True)
    blank = np.full(len(user), -1)
    asked = item, blank if relation is None else relation, blank if toward is None else toward
    at = np.append(start, len(user)).astype(np.int64)
    return _answers(users, at, asked, known, scores, effects, values, question, listed=False)


def relations_of(item: Rows, values: Values) -> tuple[Longs, Ints]:
    """Every relation of every item: the place in `item`, and the relation. With these as `user`,
    `item` and `relation`, `answer_asked` gives the best answer in each relation alone.
    """
    own = Ragged(values.at, values.of_item).take(np.asarray(item, np.int64))
    has = Ragged.from_pairs(own.row_of(), values.relation[own.indices], len(own))
    return has.row_of().astype(np.int64), has.indices


def _answers(
    users: Rows,
    at: Longs,
    asked: tuple[Rows, Rows, Rows],
    known: Ragged,
    scores: Doubles,
    effects: Doubles,
    values: Values,
    question: Question,
    *,
    listed: bool,
) -> Answers:
    turns, n_values = question.alternatives + 1, len(values.relation)
    if scores.shape != (len(users), len(values.scale)) or effects.shape[1] != n_values:
        raise DataError(f"scores {scores.shape} and effects {effects.shape} are not of these users")
    rules = Rules(
        k=question.k,
        sign=1 if question.direction == "out" else -1,
        mode=_MODE[question.changes],
        most=min(question.max_changes or n_values, n_values),  # each change takes up a value
        turns=turns,
        one_item=question.scope == "item",
        listed=listed,
    )
    n, none, zero, nan = len(asked[0]) * turns, np.int32(-1), np.int32(0), np.nan
    blank = (np.int8(0), zero, nan, nan, none, zero, nan, zero)  # status and on
    questions = [np.repeat(column, turns).astype(np.int32) for column in asked]
    out = Columns._make([*questions, *(np.full(n, value) for value in blank)])
    rows = users.astype(np.int64)
    changed = answer_block(
        rows, known.indptr, known.indices, scores, effects, values, rules, at * turns, out
    )
    keep = out.item >= 0
    kept = {name: column[keep] for name, column in out._asdict().items()}
    return Answers(
        user=np.repeat(rows, np.diff(at) * turns)[keep],
        turn=np.tile(np.arange(turns, dtype=np.int32), len(asked[0]))[keep],
        indptr=np.append(0, np.cumsum(kept.pop("size"), dtype=np.int64)),
        lost=changed[0],
        gained=changed[1],
        along=changed[2],
        margin=rules.sign * (kept["cutoff"] - kept["score_after"]),
        **kept,
    )
