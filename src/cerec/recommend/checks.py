"""Whether a brought recommender is the one its owner means: lists, order of ids, rescoring.

Its own lists, where it makes them, must be ours. Without them, what users have must outscore what
they do not have, and more so than what somebody else has; or ids stand in another order than rows.
What it never lists must be what users have in the data.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.brought import Brought
from cerec.recommend.protocol import Doubles, Pair
from cerec.recommend.rank import lists
from cerec.rng import generator

_ROUNDING = 1e-5  # of the spread of a user's scores: two that differ by less may change places
_LEAST = 0.6  # AUC of what users have against random items
_OWN = 0.05  # that AUC above that of what somebody else has
_HELD = 0.5  # share of what is never listed that users have
_BLOCK = 25  # users scored together
_RESCORED = 10  # users whose best items are rescored


@dataclass(frozen=True, slots=True)
class Check:
    """What was compared; `problem` is empty where everything agrees."""

    text: str
    problem: str = ""
    equal: int = 0
    """Lists that are the recommender's own ..."""
    tried: int = 0
    """... of so many."""

    def __str__(self) -> str:
        return f"{self.text}; {self.problem}" if self.problem else self.text

    __repr__ = __str__


def check(
    data: Dataset,
    facts: Facts,
    brought: Brought,
    *,
    users: int = 200,
    k: int = 20,
    seconds: float = np.inf,
) -> Check:
    """Compare a sample of users; the first thing that is wrong is the problem.

    Of a slow recommender fewer users, at least 50, are scored in so many seconds.
    """
    there = np.flatnonzero(brought.user_at >= 0)
    if len(there) == 0:
        return Check("nothing compared", "none of the users of the data is one of its users")
    drawn = generator(0, "check/users").permutation(there)[:users]
    end, made = time.monotonic() + seconds, [brought.scores(drawn[:_BLOCK])]
    while len(made) * _BLOCK < len(drawn) and (len(made) < 2 or time.monotonic() < end):
        made.append(brought.scores(drawn[len(made) * _BLOCK :][:_BLOCK]))
    scores = np.concatenate(made)
    rows = drawn[: len(scores)]
    compare = _lists if brought.has("lists") else _order
    found = [compare(data, brought, rows, scores, min(k, len(data.items)))]
    if not found[0].problem and brought.has("known"):
        found.append(_held(data, brought, rows))
    if not found[-1].problem and brought.has("rescore"):
        found.append(_rescored(data, facts, brought, rows, scores))
    if not found[-1].problem and brought.has("scores_from"):
        found.append(_from_histories(data, brought, rows, scores))
    missing = [len(x) - int((x >= 0).sum()) for x in (brought.user_at, brought.item_at)]
    text = "; ".join(c.text for c in found if c.text)
    for n, kind in zip(missing, ("users", "items"), strict=True):
        text += f"; {n:,} {kind} of the data are not the recommender's" if n else ""
    return Check(text, found[-1].problem, found[0].equal, found[0].tried)


def _lists(
    data: Dataset, brought: Brought, rows: NDArray[np.int64], scores: Doubles, k: int
) -> Check:
    known = brought.known.take(rows)
    ours, theirs = lists(scores, known.indptr, known.indices, k), brought.lists(rows, k)
    equal, rounded, first = 0, 0, ""
    for n, own in enumerate(theirs):
        mine = ours[n][ours[n] >= 0]
        if np.array_equal(mine, own):
            equal += 1
        elif _same(mine, own, scores[n]):
            equal, rounded = equal + 1, rounded + 1
        elif not first:
            at = next(
                (p for p, (a, b) in enumerate(zip(mine, own, strict=False)) if a != b),
                min(len(mine), len(own)),
            )
            names = [
                repr(data.items[int(r[at])]) if at < len(r) else "nothing" for r in (mine, own)
            ]
            first = (
                f"user {data.users[int(rows[n])]!r} has {names[1]} at rank {at + 1}, by its scores "
                f"{names[0]}"
            )
    text = f"lists equal {equal} of {len(rows)}" + (
        f", {rounded} up to rounding" if rounded else ""
    )
    if equal == len(rows):
        return Check(text, "", equal, len(rows))
    problem = (
        f"the recommender's own list of {first}: users=, items= and known= must be in the order "
        "of the model's own rows"
    )
    return Check(text, problem, equal, len(rows))


def _name(data: Dataset, row: NDArray[np.integer], at: int) -> str:
    return repr(data.items[int(row[at])]) if at < len(row) else "nothing"


def _same(mine: NDArray[np.int32], own: NDArray[np.integer], scores: Doubles) -> bool:
    """Whether two lists differ only where scores differ by rounding."""
    if len(mine) != len(own) or len(set(own.tolist())) != len(own):
        return False
    gap = np.abs(scores[mine] - scores[own])
    return bool((gap <= _ROUNDING * max(float(np.nanstd(scores)), 1e-30)).all())


def _held(data: Dataset, brought: Brought, rows: NDArray[np.int64]) -> Check:
    """Whether what is never listed is what users have."""
    pairs = data.interactions
    has = Ragged.from_pairs(pairs.user, pairs.item, len(data.users))
    both = [(brought.known.row(r), has.row(r)) for r in rows.tolist()]
    total = sum(len(known) for known, _ in both)
    held = sum(len(np.intersect1d(known, mine)) for known, mine in both)
    if not pairs.user.size or held >= _HELD * total:
        return Check("")
    return Check(
        f"users have {held / total:.0%} of what is never listed for them",
        f"{_HELD:.0%} or more are expected: {_ORDER}",
    )


def _order(
    data: Dataset,
    brought: Brought,
    rows: NDArray[np.int64],
    scores: Doubles,
    k: int,  # noqa: ARG001
) -> Check:
    """How often what a user has outscores random items, and what somebody else has does."""
    rng = generator(0, "check/order")
    found = []
    for n, row in enumerate(rows.tolist()):
        drawn = scores[n, rng.integers(0, len(data.items), 300)]
        some = brought.known.row(row), brought.known.row(int(rows[n - 1]))
        found.append([_above(scores[n, known], drawn) for known in some])
    auc, other = np.nanmean(found, axis=0) if np.isfinite(found).any(axis=0).all() else (None, 0)
    if auc is None:
        return Check("order of ids not checked: no lists, and no scores of what users have")
    text = f"what users have outscores random items in {auc:.0%} of pairs, what others have in "
    text += f"{other:.0%}"
    alike = bool(np.allclose(scores[:1], scores[1:], equal_nan=True))
    if auc < _LEAST:
        return Check(text, f"{_LEAST:.0%} or more of the first are expected: {_ORDER}")
    if auc < other + _OWN and not alike:
        return Check(text, f"what users have should do better than what others have: {_ORDER}")
    return Check(text)


_ORDER = "are users= and items= in the order of the model's own rows?"


def _above(mine: Doubles, other: Doubles) -> float:
    mine, other = mine[~np.isnan(mine), None], other[~np.isnan(other)]
    if not mine.size or not other.size:
        return np.nan
    return float((mine > other).mean() + (mine == other).mean() / 2)


def pairs_of(data: Dataset, facts: Facts, item: int) -> list[Pair]:
    """(relation, attribute) ids of an item."""
    return [
        (data.relations[int(facts.relation[v])], data.entities[int(facts.attribute[v])])
        for v in facts.of_item.row(item)
    ]


def _rescored(
    data: Dataset, facts: Facts, brought: Brought, rows: NDArray[np.int64], scores: Doubles
) -> Check:
    n = 0
    for at, row in enumerate(rows[:_RESCORED].tolist()):
        best = np.argsort(-np.nan_to_num(scores[at], nan=-np.inf), kind="stable")[:5]
        spread = float(np.nanstd(scores[at]))
        for item in best[~np.isnan(scores[at, best])].tolist():
            got = float(brought.rescore(row, item, [pairs_of(data, facts, item)])[0])
            n += 1
            if abs(got - scores[at, item]) > max(1e-3 * spread, 1e-6 * abs(got)):
                return Check(
                    "rescore compared",
                    f"rescore gives item {data.items[item]!r} with its own attributes {got:.6g} "
                    f"for user {data.users[row]!r}, scores gives {scores[at, item]:.6g}: both must "
                    "be the same function",
                )
    return Check(f"rescore agrees with scores on {n} of {n}")


def _from_histories(
    data: Dataset, brought: Brought, rows: NDArray[np.int64], scores: Doubles
) -> Check:
    some = np.arange(len(rows))[:50]
    got = brought.scores_from([brought.histories.row(int(r)) for r in rows[some]])
    spread = np.nanstd(scores[some], axis=1)
    far = np.abs(got - scores[some]) > np.maximum(1e-3 * spread, 1e-9)[:, None]
    far |= np.isnan(got) != np.isnan(scores[some])
    if not far.any():
        return Check(f"scores_from agrees with scores for {len(some)} of {len(some)} users")
    row, item = (int(x[0]) for x in np.nonzero(far))
    return Check(
        "scores_from compared",
        f"scores_from gives item {data.items[item]!r} {got[row, item]:.6g} for the history of user "
        f"{data.users[int(rows[row])]!r}, scores gives {scores[row, item]:.6g}: known must be the "
        "whole history, in order",
    )
