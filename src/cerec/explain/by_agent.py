"""Explanations toward items that a trained agent names: CERec's own answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.explain.changes.answers import Question
from cerec.explain.changes.values import Values
from cerec.explain.explanation import Explanation
from cerec.explain.render import Assembler, named
from cerec.explain.solver import Solver
from cerec.recommend.rank import lists
from cerec.walk.paths import Proposals

Rows = NDArray[np.integer]
_WIDTH = 16  # items that the agent may name


class Proposer(Protocol):
    """Names up to `width` candidate items for each pair, as a trained agent does."""

    def propose(
        self,
        user: NDArray[np.int64],
        item: NDArray[np.int64],
        excluded: Ragged,
        width: int,
    ) -> Proposals:
        """Candidates for pairs (user[b], item[b]), none of them in `excluded.row(b)`."""
        ...


class Agent:
    """Explains pairs of rows by the items its proposer names."""

    def __init__(
        self, data: Dataset, solver: Solver, assembler: Assembler, proposer: Proposer
    ) -> None:
        self._data, self._solver, self._assembler = data, solver, assembler
        self._proposer = proposer

    def explanations(
        self,
        user: Rows,
        item: Rows,
        values: Values,
        question: Question,
        notes: tuple[str, ...],
    ) -> list[Explanation]:
        """Toward the item, of those the agent names, that takes fewest changes."""
        proposals = self._propose(user, item, question.k)
        pair = np.repeat(np.arange(len(user)), np.diff(proposals.indptr))
        tried = self._solver.asked(
            user[pair], item[pair], values, replace(question, alternatives=0), toward=proposals.item
        )
        size = np.where(tried.answers.status == 0, tried.answers.size, np.iinfo(np.int64).max)
        chosen = np.full(len(user), -1)
        for n in range(len(user)):
            here = proposals.of(n)
            if here.stop > here.start:
                chosen[n] = here.start + int(np.argmin(size[here]))
        toward = np.where(chosen < 0, item, proposals.item[chosen] if len(pair) else item)
        solved = self._solver.asked(
            user, item, values, replace(question, alternatives=0), toward=toward
        )
        out = self._assembler.explanations(solved, by="agent", certificate="toward", notes=notes)
        for n, e in enumerate(out):
            if e.found and chosen[n] >= 0:
                out[n] = self._assembler.with_path(e, int(item[n]), proposals.path[chosen[n]])
        return out

    def beside(self, out: list[Explanation], user: Rows, item: Rows, k: int) -> list[Explanation]:
        """The agent's item and path beside answers that no real item stands behind."""
        bare = [n for n, e in enumerate(out) if e.found and e.counterfactual_item is None]
        if not bare:
            return out
        proposals = self._propose(user[bare], item[bare], k, width=1)
        for at, n in enumerate(bare):
            for row in range(proposals.of(at).start, proposals.of(at).stop):
                j = int(proposals.item[row])
                e = self._assembler.with_path(out[n], int(item[n]), proposals.path[row])
                names = (*e.names[:2], named(self._data.items, j), *e.names[2:])
                out[n] = replace(e, counterfactual_item=self._data.items[j], names=names)
        return out

    def _propose(self, user: Rows, item: Rows, k: int, width: int = _WIDTH) -> Proposals:
        users, at = np.unique(user, return_inverse=True)
        known = self._solver.subject.known.take(users)
        k = min(k, len(self._data.items))
        listed = lists(self._solver.subject.scores(users), known.indptr, known.indices, k)[at]
        row, there = np.nonzero(listed >= 0)
        excluded = Ragged.from_pairs(row, listed[row, there], len(user))
        return self._proposer.propose(user.astype(np.int64), item.astype(np.int64), excluded, width)
