"""Sums over listed pairs by group, with a bootstrap over users; what attributes answer by pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerec.audit.parts import Block, Parts
from cerec.explain.columns.engine import (
    Question,
    Source,
    answer_asked,
    answer_listed,
    relations_of,
)
from cerec.explain.options import Options
from cerec.explain.solving import Solver
from cerec.recommend.protocol import Doubles

BOOT, LEVEL = 200, (0.025, 0.975)
"""How often users are drawn again, and what an interval leaves out on either side."""


class Share(NamedTuple):
    """A share with its interval over users (95 %)."""

    value: float
    low: float
    high: float


class Answered(NamedTuple):
    """By listed pair: whether attributes have an answer, which relations it changes (n, k, R),
    and in which relations a change alone would do (n, k, R).
    """

    found: NDArray[np.bool_]
    changed: NDArray[np.bool_]
    needed: NDArray[np.bool_]


def answered(block: Block, solver: Solver, parts: Parts) -> Answered:
    """Answers for all listed pairs of a block, and for each of their relations alone."""
    n, k = block.listed.shape
    wide, s = len(parts.relations), parts.subject
    found = np.zeros((n, k), bool)
    changed, needed = np.zeros((n, k, wide), bool), np.zeros((n, k, wide), bool)
    if wide == 0:
        return Answered(found, changed, needed)
    values, question = solver.values(Options(k=parts.k)), Question(k=parts.k)

    def of(table: Doubles) -> Callable[[NDArray[np.integer]], Doubles]:
        return lambda some: table[np.searchsorted(block.users, some)]

    source = Source(s.known, of(block.scores), of(block.effects))
    relation = np.searchsorted(parts.relations, s.relation)
    a = answer_listed(block.users, source, values, question)
    row = np.searchsorted(block.users, a.user)
    place = _place(block.listed, row, a.item)
    found[row, place] = a.status == 0
    of_change = np.repeat(np.arange(len(a)), a.size)
    about = relation[np.maximum(a.lost, a.gained)]
    changed[row[of_change], place[of_change], about] = True
    each, item = np.nonzero(block.there)[0], block.listed[block.there].astype(np.int64)
    pair, alone = relations_of(item, values)
    b = answer_asked(block.users[each[pair]], item[pair], source, values, question, relation=alone)
    at = np.nonzero(block.there)[1][pair]
    needed[each[pair], at, np.searchsorted(parts.relations, alone)] = b.status == 0
    return Answered(found, changed, needed)


def _place(listed: NDArray[np.int32], row: NDArray[Any], item: NDArray[Any]) -> NDArray[np.int64]:
    """Where in the lists of these rows the items stand."""
    return np.asarray((listed[row] == item[:, None]).argmax(axis=1))


class Tally:
    """Sums over pairs by group (0: everybody), and those of the bootstrap."""

    def __init__(self, groups: int, parts: int, relations: int) -> None:
        self.parts, self.relations = parts, relations
        self.lift, self.pairs = parts, parts + 1
        self.leaves = parts + 2
        self.needed = self.leaves + parts
        self.changed = self.needed + relations
        self.found = self.changed + relations
        wide = self.found + 1
        self.total = np.zeros((groups, wide))
        self.boot = np.zeros((groups, BOOT, wide))
        self.users = np.zeros(groups, np.int64)

    def add(
        self,
        block: Block,
        answers: Answered,
        cells: Sequence[NDArray[np.bool_]],
        weights: NDArray[np.float64],
    ) -> None:
        """A block; `cells` (n, k) masks of the groups, `weights` (n, BOOT) of the users."""
        there = block.there
        columns = np.concatenate(
            [
                block.part,
                block.lift[..., None],
                there[..., None],
                block.leaves(),
                answers.needed,
                answers.changed,
                answers.found[..., None],
            ],
            axis=2,
            dtype=np.float64,
        )
        for g, cell in enumerate(cells):
            cell = cell & there
            some = np.flatnonzero(cell.any(axis=1))
            sums = np.einsum("nk,nkc->nc", cell[some].astype(np.float64), columns[some])
            self.total[g] += sums.sum(axis=0)
            self.boot[g] += weights[some].T @ sums
            self.users[g] += len(some)

    def share(self, group: int, column: int, over: int, *, less: int | None = None) -> Share:
        """A ratio of sums with its interval; `less`: minus that of another group."""
        value, boot = self._ratio(group, column, over)
        if less is not None:
            other, others = self._ratio(less, column, over)
            value, boot = value - other, boot - others
        boot = boot[np.isfinite(boot)]
        low, high = np.quantile(boot, LEVEL) if len(boot) else (np.nan, np.nan)
        return Share(float(value), float(low), float(high))

    def _ratio(self, group: int, column: int, over: int) -> tuple[float, Doubles]:
        total, boot = self.total[group], self.boot[group]
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(total[column] / total[over]), boot[:, column] / boot[:, over]
