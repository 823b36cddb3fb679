"""The whole run at a glance: its facts, its training, and its explanations over a sample."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from cerec.explain.explanation import ANSWERED
from cerec.explain.options import Options

if TYPE_CHECKING:
    from cerec.runs.run import Run

SAMPLE_USERS = 100
SAMPLE_ITEMS = 10
AUDITED_USERS = 500
_TOGETHER = 1024


def run_facts(run: Run) -> dict[str, Any]:
    """Name, sizes of the data, model, metrics and settings, free of NaN."""
    data = run.data
    return {
        "name": data.name,
        "data": {
            "users": len(data.users),
            "items": len(data.items),
            "interactions": len(data.interactions),
            "train": run.split.train.size,
            "validation": run.split.valid.size,
            "test": run.split.test.size,
            "entities": len(data.entities),
            "relations": len(data.relations),
            "triples": len(data.triples),
            "values": run.facts.n_values,
        },
        "relations": [
            {"id": id_, "name": name, "values": int(n)}
            for id_, name, n in zip(
                data.relations.ids,
                data.relations.names,
                np.bincount(run.facts.relation, minlength=len(data.relations)),
                strict=True,
            )
        ],
        "recommender": run.model.kind,
        "effects": run.subject.source,
        "fidelity": run.model.fidelity,
        "histories": hasattr(run.subject.model, "scores_from"),
        "metrics": clean(run.metrics),
        "settings": clean({**run.meta, "seed": run.seed, "config": asdict(run.config)}),
        "notes": list(data.notes),
    }


def overview(run: Run, k: int = 20) -> dict[str, Any]:
    """Training curves, and what explanations look like over a fixed sample of users.

    The sample is the same for equal runs: users at even distances, their first `SAMPLE_ITEMS`.
    """
    found = list(run.explain_many(_pairs(run, k), k=k))
    verified = [e for e in found if e.found]
    status = _statuses(run, k) or Counter(e.status for e in found)
    answered = sum(n for name, n in status.items() if name in ANSWERED)
    return {
        "history": [clean(row) for row in run.history],
        "sample": {"pairs": len(found), "users": len({e.user for e in found}), "k": k}
        | {"answered": len(verified) / len(found) if found else None},
        "pairs": status.total(),
        "coverage": answered / status.total() if status else None,
        "status": dict(sorted(status.items())),
        "certificates": dict(sorted(Counter(e.certificate or "none" for e in verified).items())),
        "sizes": _histogram([e.size for e in verified]),
        "falls": _histogram([(e.rank_after or 0) - (e.rank_before or 0) for e in verified]),
    }


def audited(run: Run, k: int = 20) -> dict[str, Any]:
    """What lists depend on, over a sample of users, in words and figures."""
    from cerec.audit import disclosure

    found = run.audit(k, sample=AUDITED_USERS)
    return {"text": disclosure(found), **found.to_dict()}


def tried(run: Run, relation: str, k: int = 20) -> dict[str, Any]:
    """A relation on trial, over a sample of users, in words and figures."""
    from cerec.audit import verdict

    found = run.trial(relation, k, sample=AUDITED_USERS)
    return {"text": verdict(found), **found.to_dict()}


def _statuses(run: Run, k: int) -> Counter[str]:
    """Every listed item of everybody by what attributes explain of it; nothing where a recommender
    is asked for every score, which would take too long.
    """
    out: Counter[str] = Counter()
    users = np.arange(len(run.data.users))
    for start in range(0, len(users) if run.explainer.compiled else 0, _TOGETHER):
        some = users[start : start + _TOGETHER]
        table = run.explainer.tables.of_users(some, Options(k=k, by="attributes"))
        out.update(dict(table["status"].value_counts().iter_rows()))
    return out


def _pairs(run: Run, k: int) -> list[tuple[str, str]]:
    users = run.data.users
    rows = np.unique(np.linspace(0, len(users) - 1, min(SAMPLE_USERS, len(users))).astype(int))
    return [
        (users[row], r.item)
        for row in rows.tolist()
        for r in run.recommend(users[row], k)[:SAMPLE_ITEMS]
    ]


def _histogram(values: list[int]) -> list[dict[str, int]]:
    return [{"value": v, "count": n} for v, n in sorted(Counter(values).items())]


def clean(value: Any) -> Any:
    """A value as JSON can hold it: NaN and infinities become None, numpy numbers plain ones."""
    if isinstance(value, dict):
        return {str(key): clean(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
