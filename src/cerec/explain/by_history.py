"""Explanations by what a user did, around a search for smallest sets of their items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cerec.data.dataset import Dataset
from cerec.explain import wording as w
from cerec.explain.explanation import Explanation, Status
from cerec.explain.history import Histories, HistoryAnswer
from cerec.explain.render import named
from cerec.recommend.subject import Subject


def history_search(subject: Subject) -> Histories | None:
    """The search for a model that scores histories; None for others."""
    if not hasattr(subject.model, "scores_from"):
        return None
    histories = getattr(subject.model, "histories", None)
    return Histories(subject.model, known=subject.known, histories=histories)


def by_history(
    data: Dataset, e: Explanation, found: HistoryAnswer | None, opening: str
) -> Explanation:
    """The explanation `e` by attributes turned into one by history, which begins with `opening`."""
    if found is None:
        return e
    text = opening
    status: Status = "verified" if found.verified else "not_found"
    if found.certificate == "open":
        status = "timed_out"
    items = tuple(named(data.items, i) for i in found.items)
    labels = [w.item_label(n.id, n.name) for n in items]
    if found.verified:
        template = w.WITHOUT_ITEMS if e.question == "why" else w.WITH_ITEMS
        text += w.fill(template, {"items": w.few(labels), "after": found.rank_after})
    else:
        none = w.NO_HISTORY if e.question == "why" else w.NO_WAY_IN
        text += w.HISTORY_LATE if status == "timed_out" else none
    other = found.replacement
    proven = found.certificate in ("minimum", "irreducible")
    return replace(
        e,
        status=status,
        by="history",
        changes=(),
        counterfactual_item=None,
        history=items,
        replacement=data.items[other] if other >= 0 else None,
        rank_after=found.rank_after if found.verified else None,
        score_after=_number(found.score_after) if found.verified else None,
        cutoff=_number(found.cutoff),
        margin=_number(abs(found.cutoff - found.score_after)) if found.verified else None,
        certificate=found.certificate if found.verified and proven else None,  # type: ignore[arg-type]
        names=(*e.names[:2], *((named(data.items, other),) if other >= 0 else ())),
        fidelity=None,
        text=text,
        alternatives=(),
    )


def carried(e: Explanation) -> str:
    """How much attributes carry of an item that they cannot take out."""
    values = sum(r.part for r in e.reasons if r.kind in ("value", "usual values"))
    return carry_text(sum(r.part for r in e.reasons), values)


def carry_text(lead: float, values: float) -> str:
    """The same, of a lead over the average item, and what its values add to that."""
    if not lead > 0:
        return ""
    share = values / lead
    if share < 0.005:
        return w.CARRY[0]
    return w.fill(w.CARRY[1 if share < 1 else 2], {"share": f"{share:.0%}"})


def _number(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
