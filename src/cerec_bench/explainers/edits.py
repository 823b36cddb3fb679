"""Ranks after editing the values of one item, or of all: necessity and sufficiency.

With E the values an explanation touches: *necessity* takes E away, *sufficiency* leaves nothing
but E. Ties keep the order the items had before the edit, so that order in the catalogue, or of
the items a set makes equal, decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.recommend.subject import Subject
from cerec_bench.explainers.protocol import Standing


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """What of each item's score for one user comes from its values."""

    subject: Subject
    standing: Standing
    total: NDArray[np.float64]
    """(I,) sum of the effects of an item's values."""

    @classmethod
    def of(cls, standing: Standing, subject: Subject) -> Shares:
        """The shares of a user who stands so."""
        values = subject.facts.of_item
        weight = standing.effects[values.indices]
        total = np.bincount(values.row_of(), weight, minlength=len(values))
        return cls(subject, standing, total.astype(np.float64))

    def rank(self, item: int, values: NDArray[np.int32], *, keep: bool, everywhere: bool) -> int:
        """The item's rank once `values` are taken away, or (`keep`) all others are.

        `everywhere`: from all items; else from this one alone.
        """
        s, place = self.standing, self.standing.place
        part = np.zeros(len(self.total))
        for v in values.tolist():
            part[self.subject.facts.holders.row(v)] += s.effects[v]
        gone = self.subject.scale * (self.total - part if keep else part)
        mine = s.scores[item] - gone[item]
        scores = s.scores - gone if everywhere else s.scores
        ahead = (scores > mine) | ((scores == mine) & (place < place[item]))
        ahead[item] = False
        return 1 + int((ahead & (place >= 0)).sum())
