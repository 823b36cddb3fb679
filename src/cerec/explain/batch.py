"""Explanations of every user's whole list, written to Parquet; a killed run can be taken up again.

Finished parts wait in a folder beside the target, each renamed into place when complete, so a
part is there in full or not at all. At the end the parts become the target in one rename.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from cerec.errors import RunError
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.explain.options import Options
from cerec.files import read_json, replacing, write_json

SCHEMA = {
    "user": pl.String,
    "item": pl.String,
    "k": pl.Int64,
    "status": pl.String,
    "counterfactual_item": pl.String,
    "replacement": pl.String,
    "size": pl.Int64,
    "rank_before": pl.Int64,
    "rank_after": pl.Int64,
    "score_before": pl.Float64,
    "score_after": pl.Float64,
    "cutoff": pl.Float64,
    "certificate": pl.String,
    "found_by": pl.String,
    "similarity": pl.Float64,
    "fidelity": pl.Float64,
    "text": pl.String,
    "seconds": pl.Float64,
    "explanation": pl.String,
}
"""Columns of the table; `explanation` is the JSON of `Explanation.to_json`."""
_USERS_PER_PART = 256


@dataclass(frozen=True, slots=True)
class Summary:
    """What a batch came to."""

    pairs: int
    status: Mapping[str, int]
    """Pairs by status."""
    taken_over: int
    """Parts found finished by an earlier run."""


def explain_all(
    explainer: Explainer,
    target: Path,
    asked: Options,
    *,
    resume: bool = False,
    on_part: Callable[[int, int], None] | None = None,
) -> Summary:
    """Explain all listed pairs of all users into `target`, users and ranks in order.

    With `resume` the finished parts of an equal run are kept; without, they are dropped. Raises
    RunError when the parts belong to another recommender, data or question. `on_part` is told
    the users done and their total.
    """
    parts = target.with_name(target.name + ".parts")
    _prepare(parts, _job(explainer, asked), resume=resume)
    n_users = len(explainer.data.users)
    starts = range(0, n_users, _USERS_PER_PART)
    taken_over = 0
    for number, start in enumerate(starts):
        path = parts / f"part-{number:06}.parquet"
        users = range(start, min(start + _USERS_PER_PART, n_users))
        if path.exists():
            taken_over += 1
        else:
            write_table(path, _explain_users(explainer, users, asked))
        if on_part is not None:
            on_part(users.stop, n_users)
    with replacing(target) as new:
        frames = [pl.scan_parquet(parts / f"part-{n:06}.parquet") for n in range(len(starts))]
        whole = pl.concat(frames) if frames else pl.LazyFrame(schema=SCHEMA)
        whole.sink_parquet(new)
    shutil.rmtree(parts)
    counts = pl.scan_parquet(target).group_by("status").len().collect()
    status = Counter(dict(counts.iter_rows()))
    return Summary(status.total(), dict(sorted(status.items())), taken_over)


def write_table(path: Path, explanations: Iterable[Explanation]) -> None:
    """Explanations as a Parquet table with the columns of `SCHEMA`."""
    rows = [_row(e) for e in explanations]
    with replacing(path) as new:
        pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(new)


def read_table(path: Path) -> list[Explanation]:
    """The explanations of a table written here."""
    column = pl.read_parquet(path, columns=["explanation"])["explanation"]
    return [Explanation.from_dict(json.loads(text)) for text in column]


def _row(e: Explanation) -> tuple[Any, ...]:
    return (*(getattr(e, name) for name in SCHEMA if name != "explanation"), e.to_json())


def _explain_users(explainer: Explainer, users: range, asked: Options) -> Iterable[Explanation]:
    ids, items = explainer.data.users, explainer.data.items
    pairs = (
        (ids[user], items[int(item)]) for user in users for item in explainer.listed(user, asked.k)
    )
    options = {name: getattr(asked, name) for name in Options.__slots__}
    return explainer.explain_many(pairs, **options)


def _prepare(parts: Path, job: dict[str, Any], *, resume: bool) -> None:
    """An empty folder for this job, or the finished parts of an equal one."""
    if parts.exists() and resume:
        if read_json(parts / "job.json") != job:
            raise RunError(
                f"{parts}: parts of another recommender, data or question; "
                "run without --resume to drop them, or choose another --out"
            )
        return
    if parts.exists():
        shutil.rmtree(parts)
    parts.mkdir(parents=True)
    write_json(parts / "job.json", job)


def _job(explainer: Explainer, asked: Options) -> dict[str, Any]:
    scorer, digest = explainer.scorer, hashlib.sha256()
    for table in (scorer.user, scorer.item, scorer.effect, scorer.effect_user, scorer.matrix):
        if table is not None:
            digest.update(table.tobytes())
    options = json.loads(json.dumps(asdict(asked)))  # tuples become lists, as when read back
    return {
        "data": explainer.data.fingerprint,
        "scorer": digest.hexdigest()[:32],
        "pooling": scorer.pooling,
        "users_per_part": _USERS_PER_PART,
        "options": options,
    }
