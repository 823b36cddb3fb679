"""Is what an explainer says so? The same check for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.errors import ConfigError
from cerec_bench.explainers.edits import Shares
from cerec_bench.explainers.protocol import Answer, Context, Pairs, Standing

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """One entry per pair, in order. Without an explanation all checks are failed, size is 0."""

    found: Bools
    flipped: Bools
    """The change takes the item out of the list, by the recommender's own scores."""
    rank_after: NDArray[np.int64]
    score_after: NDArray[np.float64]
    size: NDArray[np.int64]
    """Changes; within a relation a value lost and one gained are one."""
    similarity: NDArray[np.float64]
    """Values that item and counterfactual item share, of those either has; nan where none is named.
    """
    pn_all: Bools
    """Necessity: with the touched values taken from *all* items, the item drops out."""
    ps_all: Bools
    """Sufficiency: with nothing but the touched values on *all* items, the item stays in."""
    pn_item: Bools
    """Necessity, edited on this item alone."""
    ps_item: Bools
    """Sufficiency, edited on this item alone."""


def judge(
    context: Context, pairs: Pairs, answers: Sequence[Answer], *, listed: bool = True
) -> Verdicts:
    """Apply every answer to the recommender and see what becomes of the list.

    Pairs that are not `listed` have nothing to leave: all checks stay failed.
    """
    if len(answers) != len(pairs):
        raise ConfigError(f"{len(pairs)} pairs need as many answers, got {len(answers)}")
    n = len(pairs)
    out = Verdicts(
        found=np.array([a.found for a in answers], bool),
        flipped=np.zeros(n, bool),
        rank_after=pairs.rank.astype(np.int64),
        score_after=np.full(n, np.nan),
        size=np.array([a.size(context.facts) for a in answers], np.int64),
        similarity=np.array(
            [_similarity(context, i, a) for i, a in zip(pairs.item, answers, strict=True)]
        ),
        **{name: np.zeros(n, bool) for name in ("pn_all", "ps_all", "pn_item", "ps_item")},
    )
    for user, places in pairs.by_user() if listed else ():
        standing = context.standing(user)
        shares = Shares.of(standing, context.subject)
        for at in places:
            if out.found[at]:
                _check(context, standing, shares, pairs, at, user, answers[at], out)
    return out


def _check(
    context: Context,
    standing: Standing,
    shares: Shares,
    pairs: Pairs,
    at: int,
    user: int,
    answer: Answer,
    out: Verdicts,
) -> None:
    item, k = int(pairs.item[at]), pairs.k
    score, rank = after(context, standing, user, item, answer)
    out.score_after[at], out.rank_after[at], out.flipped[at] = score, rank, rank > k
    touched = np.concatenate([answer.lost, answer.gained])
    if len(touched) == 0:
        return
    for everywhere, pn, ps in ((True, out.pn_all, out.ps_all), (False, out.pn_item, out.ps_item)):
        pn[at] = shares.rank(item, touched, keep=False, everywhere=everywhere) > k
        ps[at] = shares.rank(item, touched, keep=True, everywhere=everywhere) <= k


def after(
    context: Context, standing: Standing, user: int, item: int, answer: Answer
) -> tuple[float, int]:
    """Score and rank of the item once the change is made."""
    if len(answer.removed):
        scores = context.scores_without(user, answer.removed)
        ahead = (scores > scores[item]) | (
            (scores == scores[item]) & (np.arange(len(scores)) < item)
        )
        return float(scores[item]), 1 + int((ahead & (standing.place >= 0)).sum())
    own = context.facts.of_item.row(item)
    lost, gained = np.intersect1d(answer.lost, own), np.setdiff1d(answer.gained, own)
    change = standing.effects[gained].sum() - standing.effects[lost].sum()
    score = float(standing.scores[item] + context.subject.scale[item] * change)
    return score, standing.rank(item, score)


def _similarity(context: Context, item: int, answer: Answer) -> float:
    if answer.counterfactual is None:
        return float("nan")
    own, theirs = (context.facts.of_item.row(i) for i in (item, answer.counterfactual))
    both = len(np.intersect1d(own, theirs, assume_unique=True))
    return both / max(len(own) + len(theirs) - both, 1)
