"""Explanations of every user's whole list, written to Parquet; a killed run can be taken up again.

Finished parts wait in a folder beside the target, each renamed into place when complete, so a
part is there in full or not at all. At the end the parts become the target in one rename. A lock
beside the target keeps a second batch from it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cerec.asides import discard, lock_file, sweep, sweep_folder
from cerec.errors import RunError
from cerec.explain.explainer import Explainer
from cerec.explain.options import Options
from cerec.explain.table import SCHEMA
from cerec.files import read_json, refuse_folder, replacing, write_json

_USERS_PER_PART = 1024
_ROWS_PER_GROUP = 65536


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
    RunError when the parts belong to another recommender, data or question. `on_part` is told the
    users done and their total. While it works no other batch may write to `target`: RunError.
    """
    refuse_folder(target)
    busy = RunError(
        f"{target}: another explain --all is writing to it; wait for it, or choose another --out"
    )
    with lock_file(target.with_name(target.name + ".lock"), busy):
        return _explain_all(explainer, target, asked, resume, on_part)


def _explain_all(
    explainer: Explainer,
    target: Path,
    asked: Options,
    resume: bool,
    on_part: Callable[[int, int], None] | None,
) -> Summary:
    """`explain_all`, alone at work on the target."""
    folder = target.with_name(target.name + ".parts")
    _prepare(folder, job_of(explainer, asked), resume=resume)
    n_users, taken_over = len(explainer.data.users), 0
    parts: list[Path] = []
    for start in range(0, n_users, _USERS_PER_PART):
        users = np.arange(start, min(start + _USERS_PER_PART, n_users))
        parts.append(folder / f"part-{len(parts):06}.parquet")
        if _whole(parts[-1]):
            taken_over += 1
            continue
        table = explainer.tables.of_users(users, asked)
        with replacing(parts[-1]) as new:
            table.write_parquet(new)
        if on_part is not None:
            on_part(int(users[-1]) + 1, n_users)
    with replacing(target) as new:
        _join(parts, new)
    discard(folder)
    counts = pl.scan_parquet(target).group_by("status").len().collect()
    status = Counter(dict(counts.iter_rows()))
    return Summary(status.total(), dict(sorted(status.items())), taken_over)


def _whole(part: Path) -> bool:
    """Whether a part is there and can be read; it was renamed into place when complete."""
    try:
        return bool(pl.scan_parquet(part).collect_schema())
    except (OSError, pl.exceptions.PolarsError):
        return False


def _join(parts: list[Path], target: Path) -> None:
    """One table of many, in small groups of rows: the memory is that of a few groups."""
    if not parts:
        pl.DataFrame(schema=SCHEMA).write_parquet(target)
        return
    whole = pl.scan_parquet(parts, low_memory=True)
    whole.sink_parquet(target, row_group_size=_ROWS_PER_GROUP)


def _prepare(parts: Path, job: dict[str, Any], *, resume: bool) -> None:
    """An empty folder for this job, or the finished parts of an equal one."""
    sweep(parts)
    if parts.exists():
        if not (parts / "job.json").exists():
            raise RunError(f"{parts}: holds other files; move them, or choose another --out")
        if resume and read_json(parts / "job.json") != job:
            raise RunError(
                f"{parts}: parts of another recommender, data or question; "
                "run without --resume to drop them, or choose another --out"
            )
        if resume:
            sweep_folder(parts)
            return
    with replacing(parts, folder=True) as new:
        new.mkdir()
        write_json(new / "job.json", job)


def job_of(explainer: Explainer, asked: Options) -> dict[str, Any]:
    """What makes two batches equal, as it is read back from JSON."""
    s, digest = explainer.subject, hashlib.sha256()
    n = len(s.known)
    some = np.unique(np.linspace(0, n - 1, min(n, 8)).astype(np.int64)) if n else np.zeros(0, int)
    scores, effects = s.both(some)
    arrays = s.known.indptr, s.known.indices, s.vocabulary, s.of_item.indices, s.scale
    for table in (*arrays, scores, effects):
        digest.update(np.ascontiguousarray(table).tobytes())
    return {
        "data": explainer.data.fingerprint,
        "recommender": digest.hexdigest()[:32],
        "source": s.source,
        "users_per_part": _USERS_PER_PART,
        "options": json.loads(json.dumps(asdict(asked))),  # tuples become lists, as when read back
    }
