"""CERec with another choice among equally small changes: the one that settles it most clearly."""

from __future__ import annotations

import numpy as np

from cerec.evaluate.explanations.cerec import by_effect
from cerec.evaluate.explanations.protocol import NO_ANSWER, Answer, Context, Pairs, Rows
from cerec.explain.kernels import NEVER
from cerec.explain.standing import Standing
from cerec.explain.verifier import Outcome, Problem, Task, Verifier
from cerec.ragged import Ragged

_WIDTH = 16  # candidates of the agent, as `cerec explain` tries
_PROMISING = 32
_FEW = 3


class Decisive:
    """The smallest verified change, and of equally small ones that after which the score is lowest.

    `cerec explain` takes the one towards the most similar item instead: such a change is plausible,
    but often flips by a hair. The agent proposes and the verifier decides, as there.
    """

    def fit(self, context: Context) -> None:
        """Have the agent learn, unless it has."""
        self._context = context
        self._verifier = Verifier(context.facts, context.scorer)
        self._unlocked = np.zeros(context.facts.n_values, bool)
        _ = context.proposer

    def explain(self, pairs: Pairs) -> list[Answer]:
        """Pair by pair, users' standings made once."""
        out: list[Answer] = []
        for user, places in pairs.by_user():
            standing = self._context.standing(user)
            listed = np.sort(standing.top(pairs.k)).astype(np.int32)
            item = pairs.item[places.start : places.stop].astype(np.int64)
            row = np.repeat(np.arange(len(item)), len(listed))
            off = Ragged.from_pairs(row, np.tile(listed, len(item)), len(item))
            who = np.full(len(item), user, np.int64)
            named = self._context.proposer.propose(who, item, off, _WIDTH)
            for n, i in enumerate(item.tolist()):
                posed = self._verifier.pose(standing, Task(user, i, pairs.k, "why", self._unlocked))
                if isinstance(posed, Outcome):
                    out.append(NO_ANSWER)
                else:
                    out.append(self._answer(user, standing, posed, named.item[named.of(n)]))
        return out

    def _answer(self, user: int, standing: Standing, problem: Problem, named: Rows) -> Answer:
        everyone = self._verifier.everyone(standing, problem)
        best: tuple[int, Outcome] | None = None
        for tried in (named, everyone[:_PROMISING], everyone):
            found = self._smallest(standing, problem, tried[tried != problem.task.item])
            if found is not None and (best is None or found[0] < best[0]):
                best = found
            if best is not None and (best[0] <= _FEW or tried is not named):
                break
        if best is None or best[1].before is None or best[1].after is None:
            return NO_ANSWER
        before, after = best[1].before, best[1].after
        gained = by_effect(self._context, user, after[after >= 0])
        return Answer(
            values=gained,
            lost=before[before >= 0],
            gained=gained,
            counterfactual=best[1].candidate,
        )

    def _smallest(
        self, standing: Standing, problem: Problem, candidates: Rows
    ) -> tuple[int, Outcome] | None:
        """Fewest changes among the candidates, then the lowest score after them."""
        sizes = self._verifier.sizes(problem, candidates, best_only=True)
        if len(sizes) == 0 or sizes.min() >= NEVER:
            return None
        least = int(sizes.min())
        made = [
            self._verifier.verify(standing, problem, int(j)) for j in candidates[sizes == least]
        ]
        flipped = [o for o in made if o.status == "verified" and o.score_after is not None]
        return (least, min(flipped, key=lambda o: o.score_after or 0.0)) if flipped else None
