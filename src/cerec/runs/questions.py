"""The questions one may ask of a run: why, why not, what if, why this before that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Unpack

from cerec.errors import QuestionError

if TYPE_CHECKING:
    from cerec.explain.explainer import Explainer
    from cerec.explain.explanation import Comparison, Explanation, WhatIf
    from cerec.explain.lookup import Lock
    from cerec.explain.options import Changes, Preference, Scope, Way, Wishes


GUEST = "somebody new"
"""The id of somebody who is not in the data."""


class Questions(ABC):
    """What `Run` answers through its explainer."""

    @property
    @abstractmethod
    def explainer(self) -> Explainer:
        """Who answers."""

    @abstractmethod
    def guest(self, history: Iterable[object]) -> Questions:
        """The same for somebody with just these items."""

    def _asked(self, user: object, history: Iterable[object] | None) -> tuple[Explainer, object]:
        """Who answers about whom: a user of the data, or somebody with this history."""
        if (user is None) == (history is None):
            raise QuestionError("give a user of the data, or history= for somebody new")
        if history is None:
            return self.explainer, user
        return self.guest(history).explainer, GUEST

    def explain(
        self,
        user: object = None,
        item: object = None,
        k: int = 20,
        *,
        history: Iterable[object] | None = None,
        why_not: object = None,
        by: Way | None = None,
        changes: Changes = "replace",
        prefer: Preference = "decisive",
        scope: Scope = "value",
        lock: Iterable[Lock] = (),
        unlock: Iterable[str] = (),
        max_changes: int | None = None,
        alternatives: int = 0,
        robust: float | None = None,
        budget: float | None = None,
        relations: bool = False,
    ) -> Explanation:
        """Why `item` is in the user's list, as the smallest change that takes it out; or, with
        `why_not`, the smallest change that brings an unlisted item in.

        - `history`: item ids in place of a user, for somebody who is not in the data.
        - `by`: "attributes", "history" (what the user did), "both", or "agent" (CERec's own
          answer). Default: attributes where the model's effects give an answer, else history.
        - `changes`: "replace" values, "remove" them, or "any".
        - `prefer`: of equally small answers the most "decisive", or the one "near" a real item.
        - `scope`: gain any "value", or only values that one real "item" has together.
        - `lock`: relations, or (relation, attribute) pairs, that may not change. Relations that
          look computed from what people did are locked unless `unlock` names them.
        - `max_changes`, `alternatives`, `budget` (seconds), `relations` (the best answer for each
          relation beside the best of all).
        - `robust`: only an answer that holds with this probability; see `Explanation.holds`.
        """
        explainer, user = self._asked(user, history)
        return explainer.explain(
            user,
            item,
            why_not=why_not,
            k=k,
            by=by,
            changes=changes,
            prefer=prefer,
            scope=scope,
            lock=lock,
            unlock=unlock,
            max_changes=max_changes,
            alternatives=alternatives,
            robust=robust,
            budget=budget,
            relations=relations,
        )

    def explain_many(
        self, pairs: Iterable[tuple[object, object]], k: int = 20, **wishes: Unpack[Wishes]
    ) -> Iterator[Explanation]:
        """Explanations in the order of the (user, item) pairs, computed in batches; the keywords
        are those of `explain`.
        """
        return self.explainer.explain_many(pairs, k, **wishes)

    def what_if(
        self,
        user: object = None,
        item: object = None,
        attributes: Iterable[tuple[str, str]] = (),
        k: int = 20,
        *,
        history: Iterable[object] | None = None,
    ) -> WhatIf:
        """Score, rank and list had the item had exactly these (relation, attribute) pairs, for a
        user or for somebody with this `history`.
        """
        explainer, user = self._asked(user, history)
        return explainer.what_if(user, item, attributes, k=k)

    def compare(self, user: object, item: object, other: object) -> Comparison:
        """Why `item` stands before `other` in the user's list, or behind it."""
        return self.explainer.compare(user, item, other)

    def rescore(self, user: object, item: object, attributes: Iterable[tuple[str, str]]) -> float:
        """f(u, i | A): the score had the item had exactly these (relation, attribute) pairs."""
        return self.explainer.rescore(user, item, attributes)

    def attributes(self, item: object) -> list[tuple[str, str]]:
        """The item's (relation, attribute) pairs."""
        return self.explainer.attributes(item)
