"""CERec as an explainer: in the paper's form, and as the smallest verified set."""

from __future__ import annotations

import numpy as np

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.explain.by_agent import Proposer
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.explain.options import Way
from cerec_bench.explainers.protocol import NO_ANSWER, Answer, Context, Pairs, Rows

_BATCH = 256


class PaperForm:
    """All of `A_j - A_i`, with j the item at the end of the agent's likeliest walk.

    The item gains that set. Values that lower the user's score most come first.
    """

    def fit(self, context: Context) -> None:
        """Have the agent learn, unless it has."""
        self._context, self._proposer = context, agent_of(context)

    def explain(self, pairs: Pairs) -> list[Answer]:
        """One counterfactual item per pair; none where no walk leads out of the list."""
        out: list[Answer] = []
        for start in range(0, len(pairs), _BATCH):
            part = slice(start, start + _BATCH)
            out += self._batch(pairs.user[part], pairs.item[part])
        return out

    def _batch(self, user: Rows, item: Rows) -> list[Answer]:
        context = self._context
        wide = [np.sort(context.explainer.listed(int(u), context.k)) for u in user]
        indptr = np.cumsum([0, *map(len, wide)], dtype=np.int64)
        excluded = Ragged(indptr, np.concatenate(wide).astype(np.int32))
        found = self._proposer.propose(
            user.astype(np.int64), item.astype(np.int64), excluded, width=1
        )
        ends = [found.item[found.of(n)] for n in range(len(user))]
        return [
            self._answer(int(u), int(i), int(end[0])) if len(end) else NO_ANSWER
            for u, i, end in zip(user, item, ends, strict=True)
        ]

    def _answer(self, user: int, item: int, other: int) -> Answer:
        own, theirs = (self._context.facts.of_item.row(row) for row in (item, other))
        gained = np.setdiff1d(theirs, own, assume_unique=True)
        gained = by_effect(self._context, user, gained)
        return Answer(values=gained, gained=gained, counterfactual=other)


class Verified:
    """What `cerec explain` answers: by the agent, toward whose item the change leads; or by
    attributes, the smallest change of all.

    The values are those the item gains, as in the paper; what it loses is part of the change.
    """

    def __init__(self, by: Way = "agent") -> None:
        self._by = by

    def fit(self, context: Context) -> None:
        """Have the agent learn, unless it has, or is not asked."""
        self._context = c = context
        if self._by == "agent":
            agent_of(c)
        self._explainer = c.explainer if self._by == "agent" else Explainer(c.data, c.subject)

    def explain(self, pairs: Pairs) -> list[Answer]:
        """Answers of the explainer in row numbers."""
        users, items = self._context.data.users, self._context.data.items
        asked = ((users[u], items[i]) for u, i in zip(pairs.user, pairs.item, strict=True))
        found = self._explainer.explain_many(asked, k=pairs.k, by=self._by)
        return [self._answer(int(u), e) for u, e in zip(pairs.user, found, strict=True)]

    def _answer(self, user: int, e: Explanation) -> Answer:
        if not e.found:
            return Answer(seconds=e.seconds)
        data, facts = self._context.data, self._context.facts
        gained = rows_of(data, facts, [(c.relation, c.after) for c in e.changes])
        other = e.counterfactual_item
        gained = by_effect(self._context, user, gained)
        return Answer(
            values=gained,
            lost=rows_of(data, facts, [(c.relation, c.before) for c in e.changes]),
            gained=gained,
            counterfactual=None if other is None else data.items.row(other),
            seconds=e.seconds,
        )


def agent_of(context: Context) -> Proposer:
    """CERec's agent, which learns on first use."""
    if context.proposer is None:
        raise ConfigError("this needs CERec's agent: give it epochs (train.agent_epochs)")
    return context.proposer


def by_effect(context: Context, user: int, values: Rows) -> Rows:
    """Values by rising effect on the user's score."""
    return values[np.argsort(context.standing(user).effects[values], kind="stable")]


def rows_of(data: Dataset, facts: Facts, pairs: list[tuple[str, str | None]]) -> Rows:
    """Value rows of (relation, attribute) ids; None stands for no attribute."""
    found = [
        facts.find(data.relations.row(relation), data.entities.row(attribute))
        for relation, attribute in pairs
        if attribute is not None
    ]
    return np.array([row for row in found if row is not None], np.int32)
