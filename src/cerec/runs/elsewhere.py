"""What a run around a recommender made elsewhere can do besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import RunError, positive
from cerec.recommend.brought import Brought
from cerec.recommend.protocol import Doubles, Pair
from cerec.recommend.subject import Subject
from cerec.runs.stored import StoredModel, same_recommender

if TYPE_CHECKING:
    from cerec.recommend.checks import Check


class Elsewhere:
    """The part of `Run` that knows a brought recommender."""

    data: Dataset
    model: StoredModel
    meta: Mapping[str, Any]
    known: Ragged
    brought: Brought | None
    """The recommender, while it is at hand."""

    if TYPE_CHECKING:

        @property
        def subject(self) -> Subject: ...  # noqa: D102  of `Run`

        @property
        def facts(self) -> Facts: ...  # noqa: D102

    def check(self, users: int = 200, k: int = 20) -> Check:
        """Compare the recommender with what it says itself: its own lists, the order of its ids,
        rescoring.
        """
        if self.brought is None:
            raise RunError("nothing to compare with: no recommender made elsewhere is at hand")
        from cerec.recommend.checks import check

        return check(self.data, self.facts, self.brought, users=positive(users), k=positive(k))

    def given_back(self, recommender: Any) -> Self:
        """The run with the recommender at hand again that it was made around."""
        brought = Brought(self.data, recommender, self.known)
        same_recommender(self.subject, self.data, brought)
        self.__dict__.pop("subject")
        self.brought = brought
        return self

    @property
    def own_rescore(self) -> Callable[[int, int, Sequence[Sequence[Pair]]], Doubles] | None:
        """How it scores changed items by itself, where it does."""
        brought = self.brought
        return brought.rescore if brought is not None and brought.has("rescore") else None

    @property
    def lost(self) -> tuple[str, ...]:
        """What the recommender answers while it is at hand, and a saved run cannot."""
        return tuple(self.meta.get("lost", self.model.lost))

    def refuse_lost(self) -> None:
        """Refuse to answer by other means than the run was made with."""
        if self.lost and self.brought is None:
            raise RunError(
                f"this run answered by the recommender's own {' and '.join(self.lost)}, which no "
                "folder holds: open it with cerec.open(folder, recommender=R), or, for answers by "
                "effects fitted to its scores, with cerec.open(folder, fitted=True)"
            )
