"""What a run answers about the whole of itself, or beside another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cerec.errors import ConfigError, positive

if TYPE_CHECKING:
    from cerec.audit import Difference, Findings, Trial
    from cerec.data.dataset import Dataset
    from cerec.recommend.subject import Subject

Progress = Callable[[int], object]


class Audits(ABC):
    """The questions about all lists; `progress` is called with numbers of users that are done."""

    data: Dataset
    seed: int
    meta: Mapping[str, Any]

    @property
    @abstractmethod
    def subject(self) -> Subject:
        """The recommender as it is ranked and explained."""

    def audit(
        self,
        k: int = 20,
        *,
        sample: int | None = None,
        by: Iterable[str] = (),
        items_by: Iterable[str] = (),
        least: int = 20,
        progress: Progress = lambda _: None,
    ) -> Findings:
        """What the order of all lists depends on, and how much.

        - `sample`: look at so many users instead of all.
        - `by`: columns of the users' table to set side by side (default: all there are);
          `items_by`: relations whose values make groups of items.
        - `least`: users that a group must have to be shown.
        """
        from cerec.audit import groups_of, measure

        return measure(
            self.data,
            self.subject,
            k=positive(k),
            users=_sampled(len(self.data.users), sample),
            groups=groups_of(self.data, self.subject, tuple(by), tuple(items_by)),
            least=positive(least),
            chosen=self.meta.get("chosen"),
            seed=self.seed,
            progress=progress,
        )

    def trial(
        self,
        attribute: str,
        k: int = 20,
        *,
        sample: int | None = None,
        by: Iterable[str] = (),
        least: int = 20,
        progress: Progress = lambda _: None,
    ) -> Trial:
        """Does this relation decide who is shown? Each item in turn gets each other value of it."""
        from cerec.audit import groups_of, trial

        return trial(
            self.data,
            self.subject,
            attribute,
            k=positive(k),
            users=_sampled(len(self.data.users), sample),
            groups=groups_of(self.data, self.subject, tuple(by)),
            least=positive(least),
            seed=self.seed,
            progress=progress,
        )

    def diff(
        self, other: Audits, k: int = 20, *, least: int = 20, progress: Progress = lambda _: None
    ) -> Difference:
        """How the lists of another run differ from those of this one, and why."""
        from cerec.audit import diff

        sides = (self.data, self.subject), (other.data, other.subject)
        return diff(*sides, k=positive(k), least=positive(least), progress=progress)


def _sampled(n: int, sample: int | None) -> NDArray[np.int64] | None:
    """So many users, evenly spread; None for all."""
    if sample is None:
        return None
    if sample < 1:
        raise ConfigError(f"sample must be at least 1, got {sample}")
    return np.unique(np.linspace(0, n - 1, min(sample, n)).astype(np.int64))
