"""The search that the explainer replaces, compiled: all items, all sets of changes, by size.

For sizes 1, 2, ... every item outside the list is a candidate, and every set of that many changes
towards it is scored, until a size has a set that flips. No theorem is used; the sums are carried
along, so a set costs a few additions.
"""

from __future__ import annotations

import time

import numba
import numpy as np
from cerec.explain.kernels import Goal, flips
from cerec.explain.standing import Standing
from cerec.explain.verifier import Outcome, Task, Verifier
from numpy.typing import NDArray

from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


@_jit
def _any_flips(
    goal: Goal,
    value: NDArray[np.int32],
    gained: NDArray[np.bool_],
    relation: NDArray[np.int32],
    effect: NDArray[np.float64],
    m: int,
) -> bool:
    """Whether a set of exactly m changes among the values flips."""
    n = len(value)
    taken = np.zeros(n, np.bool_)
    at, back = 0, False
    size, total, count = 0, goal.total, goal.n_values  # `size`: of the relations before
    here = np.zeros((n + 1, 2), np.int64)  # lost and gained in the relation of a place
    sizes = np.zeros(n + 1, np.int64)
    while True:
        if not back:
            new = at == n or at == 0 or relation[value[at]] != relation[value[at - 1]]
            if new and at > 0:
                size = sizes[at - 1] + max(here[at, 0], here[at, 1])
            if at == n:
                if size == m and flips(goal, total, count):
                    return True
                back = True
            else:
                sizes[at] = size
                if new:
                    here[at, 0], here[at, 1] = 0, 0
                taken[at] = False
                here[at + 1] = here[at]
                at += 1
                continue
        at -= 1
        if at < 0:
            return False
        if taken[at]:
            taken[at] = False
            total -= effect[value[at]] if gained[at] else -effect[value[at]]
            count -= 1 if gained[at] else -1
            continue
        side = 1 if gained[at] else 0
        here[at + 1] = here[at]
        here[at + 1, side] += 1
        size = sizes[at]
        if size + max(here[at + 1, 0], here[at + 1, 1]) > m:
            continue
        taken[at] = True
        total += effect[value[at]] if gained[at] else -effect[value[at]]
        count += 1 if gained[at] else -1
        at += 1
        back = False


def smallest_over_all(
    explainer: Explainer, user: int, item: int, k: int, seconds: float
) -> tuple[int | None, float]:
    """Fewest changes towards any item, None when the time is up before; and the time it took."""
    facts, scorer = explainer.facts, explainer.scorer
    start = time.perf_counter()
    standing = Standing.of(scorer, user, explainer.known.row(user))
    locked = np.zeros(facts.n_values, bool)
    verifier = Verifier(facts, scorer)
    problem = verifier.pose(standing, Task(user, item, k, "why", locked))
    if isinstance(problem, Outcome):
        raise SystemExit(f"nothing to search for: {problem.status}")
    everyone = verifier.everyone(standing, problem)
    own = problem.own
    m = 1
    while True:
        found = False
        for j in everyone:
            other = facts.of_item.row(int(j))
            lost = np.setdiff1d(own, other, assume_unique=True)
            more = np.setdiff1d(other, own, assume_unique=True)
            value = np.concatenate([lost, more])
            gained = np.repeat([False, True], [len(lost), len(more)])
            order = np.argsort(value, kind="stable")  # values are sorted by relation
            found |= _any_flips(
                problem.goal, value[order], gained[order], facts.relation, problem.effect, m
            )
            if time.perf_counter() - start > seconds:
                return None, time.perf_counter() - start
        if found:
            return m, time.perf_counter() - start
        m += 1


def agrees(explainer: Explainer, e: Explanation, size: int) -> bool:
    """Whether the exact search over all items comes to the same size."""
    best = explainer.explain(e.user, e.item, k=e.k, exhaustive=True)
    return best.size == size
