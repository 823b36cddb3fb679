"""A recommender as the explainer sees it: in the order of the data, with effects of values.

Users and items of a brought recommender are mapped to those of the data by id. Where a
recommender has no effects of its own, they are fitted, and `source` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.protocol import Contributions, Doubles

Source = Literal["model", "canonical", "fitted", "none"]
"""Where effects come from: the model's own; a factor model's item vectors regressed on values, all
scores kept; a fit to scores; or nowhere."""


class Scoring(Protocol):
    """Scores and effects of user rows, both in the order of the data."""

    def both(self, users: NDArray[np.integer]) -> tuple[Doubles, Doubles]:
        """(n, I) scores and (n, V) effects."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """All that explaining needs. I: items of the data, V: values that have effects."""

    facts: Facts
    known: Ragged
    """User -> items that are never listed."""
    vocabulary: NDArray[np.int32]
    """(V,) rows of the values in `facts`, rising."""
    of_item: Ragged
    """Item -> its values, as positions in `vocabulary`."""
    scale: Doubles
    """(I,) above 0."""
    source: Source
    model: Scoring
    fidelity: float | None = None
    """How well fitted effects tell the scores of items they have not seen (R^2)."""

    @property
    def n_items(self) -> int:
        """Items that can be scored."""
        return len(self.of_item)

    @property
    def relation(self) -> NDArray[np.int32]:
        """(V,) relation row of each value; never falling."""
        return self.facts.relation[self.vocabulary]

    @property
    def support(self) -> NDArray[np.int64]:
        """(V,) items that have the value."""
        return np.asarray(np.bincount(self.of_item.indices, minlength=len(self.vocabulary)))

    def blocks(self, most: int = 1 << 26) -> Iterator[NDArray[np.int64]]:
        """All user rows, in parts whose scores and effects take at most so many bytes."""
        per_user = 8 * (len(self.of_item) + len(self.vocabulary) + 1)
        size = max(1, most // per_user)
        for start in range(0, len(self.known), size):
            yield np.arange(start, min(start + size, len(self.known)))

    def scores(self, users: NDArray[np.integer]) -> Doubles:
        """(n, I)"""
        return self.model.both(users)[0]

    def both(self, users: NDArray[np.integer]) -> tuple[Doubles, Doubles]:
        """(n, I) scores and (n, V) effects on a grid on which their sums are exact."""
        return self.model.both(users)

    def contributions(self, user: int, item: int) -> Contributions | None:
        """The parts of a score, where the model can say: value rows are positions in
        `vocabulary`, item rows those of the data.
        """
        tell = getattr(self.model, "contributions", None)
        return None if tell is None else tell(user, item)

    def both_from(self, histories: Sequence[NDArray[np.integer]]) -> tuple[Doubles, Doubles] | None:
        """Scores and effects of people known by these items alone, where the model can say; nan for
        effects that are only known of its own users.
        """
        ask = getattr(self.model, "both_from", None)
        if ask is not None:
            return ask(histories)
        ask = getattr(self.model, "scores_from", None)
        if ask is None:
            return None
        scores = ask(histories)
        return scores, np.full((len(scores), len(self.vocabulary)), np.nan)

    def of_values(
        self, users: NDArray[np.integer], values: NDArray[np.integer]
    ) -> tuple[Doubles, Doubles]:
        """(n, I) scores, and (n,) those of an item that is just these values.

        A model that does not say is asked for the part that items have without their values: a
        new item gets the mean of it.
        """
        ask = getattr(self.model, "of_values", None)
        scores, effect = self.both(users)
        if ask is not None:
            return scores, ask(users, values)
        own = np.zeros(scores.shape)
        item, value = self.of_item.row_of(), self.of_item.indices
        for row in range(len(scores)):
            own[row] = np.bincount(item, effect[row, value], minlength=scores.shape[1])
        rest = np.nanmean(scores - self.scale * own, axis=1)
        return scores, rest + effect[:, values].sum(axis=1)
