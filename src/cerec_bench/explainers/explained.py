"""Any method's answers in the form of `cerec explain`, so that its tables and pages apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cerec_bench.explainers.protocol import Answer, Context, Pairs, Rows
from cerec_bench.explainers.verdict import Verdicts
from cerec_bench.search.assemble import Assembler
from cerec_bench.search.explanation import Explanation
from cerec_bench.search.standing import Standing
from cerec_bench.search.verifier import Outcome, Task
from cerec_bench.search.wording import item_name, listing


def explanations(
    context: Context, pairs: Pairs, answers: Sequence[Answer], verdicts: Verdicts
) -> list[Explanation]:
    """The answers in the form of `cerec explain`, for its tables and pages.

    What does not flip is `not_found`: no claim is worded as a fact that the check refuted.
    """
    assembler = Assembler(context.data, context.facts, context.scorer.fidelity)
    out: list[Explanation] = []
    for user, places in pairs.by_user():
        standing = context.standing(user)
        out += [
            _explanation(context, assembler, standing, pairs, at, answers, verdicts)
            for at in places
        ]
    return out


def _explanation(
    context: Context,
    assembler: Assembler,
    standing: Standing,
    pairs: Pairs,
    at: int,
    answers: Sequence[Answer],
    verdicts: Verdicts,
) -> Explanation:
    answer, item, k = answers[at], int(pairs.item[at]), pairs.k
    task = Task(int(pairs.user[at]), item, k, "why", np.zeros(0, bool))
    replacement = int(standing.order[k]) if k < len(standing.order) else None
    known = Outcome(
        "not_found",
        int(pairs.rank[at]),
        float(standing.scores[item]),
        replacement,
        None if replacement is None else float(standing.scores[replacement]),
    )
    if not verdicts.flipped[at]:
        return assembler.explanation(task.user, task, known, seconds=answer.seconds)
    known = replace(
        known,
        candidate=answer.counterfactual,
        rank_after=int(verdicts.rank_after[at]),
        score_after=float(verdicts.score_after[at]),
    )
    if len(answer.removed):
        bare = assembler.explanation(task.user, task, known, seconds=answer.seconds)
        return replace(bare, status="verified", text=_history(context, bare, answer))
    before, gained = _matched(context, answer)
    done = replace(known, status="verified", before=before, after=gained)
    similarity = None if np.isnan(verdicts.similarity[at]) else float(verdicts.similarity[at])
    return assembler.explanation(
        task.user, task, done, similarity=similarity, seconds=answer.seconds
    )


def _matched(context: Context, answer: Answer) -> tuple[Rows, Rows]:
    """Lost and gained values side by side within their relation, -1 where one has no partner."""
    relation = context.facts.relation
    lost, gained = list(answer.lost.tolist()), []
    for value in answer.gained.tolist():
        partner = next((v for v in lost if v >= 0 and relation[v] == relation[value]), -1)
        gained.append((partner, value))
        if partner >= 0:
            lost.remove(partner)
    changes = sorted([*gained, *((v, -1) for v in lost)], key=lambda c: int(relation[max(c)]))
    before, after = zip(*changes, strict=True)
    return np.array(before, np.int32), np.array(after, np.int32)


def _history(context: Context, e: Explanation, answer: Answer) -> str:
    """The sentence of a method that takes items out of the user's history."""
    items = context.data.items
    taken = listing([f"*{items.name(int(row))}*" for row in answer.removed], "or")
    name = item_name(e, e.item)
    return (
        f"{name[0].upper()}{name[1:]} is in your top {e.k} at rank {e.rank_before}. Had you not "
        f"taken {taken}, it would have fallen to rank {e.rank_after}."
    )
