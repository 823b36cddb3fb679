"""The exact flip test as the agent's reward `verified` asks for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.errors import ConfigError
from cerec.explain.kernels import NEVER
from cerec.explain.standing import Standing
from cerec.explain.verifier import Outcome, Task, Verifier
from cerec.recommend.base import Context, Flip, Rows
from cerec.recommend.scorer import Scorer


def flip_test(facts: Facts, k: int, scorer: Scorer | None = None) -> Flip:
    """A function of (context, user, item, other): fewest changes of `item` toward `other` that take
    it out of the user's first k; 0 where none do, or where the item is not in that list.

    A finished recommender is given as `scorer`. Without one the context of the moment is asked,
    which needs a recommender that learns the vectors of values (`recommender.vectors`).
    """
    unlocked = np.zeros(facts.n_values, bool)
    seen: list[tuple[Context, Verifier, dict[int, Standing]]] = []

    def flip(context: Context, user: Rows, item: Rows, other: Rows) -> NDArray[np.int64]:
        if not seen or seen[0][0] is not context:
            seen[:] = [(context, Verifier(facts, scorer or _scorer(context)), {})]
        _, verifier, standings = seen[0]
        out = np.zeros(len(user), np.int64)
        for n, (u, i, j) in enumerate(
            zip(user.tolist(), item.tolist(), other.tolist(), strict=True)
        ):
            if u not in standings:
                standings[u] = Standing.of(verifier.scorer, u, context.known.row(u))
            posed = verifier.pose(standings[u], Task(u, i, k, "why", unlocked))
            if not isinstance(posed, Outcome):
                size = int(verifier.sizes(posed, np.array([j], np.int32), best_only=True)[0])
                out[n] = 0 if size >= NEVER else size
        return out

    return flip


def _scorer(context: Context) -> Scorer:
    if context.value is None:
        raise ConfigError(
            "agent.reward = 'verified' needs recommender.vectors = 'attributes': "
            "vectors by id know nothing of values"
        )
    return Scorer(context.user, context.item, context.value, context.user, "mean")
