"""Explanations of every user's whole list, written to Parquet; a killed run can be taken up again.

Finished parts wait in a folder beside the target, each renamed into place when complete, so a
part is there in full or not at all. At the end the parts become the target in one rename. A lock
file beside the parts keeps a second run off the same target.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from cerec.errors import RunError
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.explain.options import Options
from cerec.explain.parts import SCHEMA, Part, write_part, write_parts
from cerec.files import lock_file, read_json, refuse_folder, replacing, write_json
from cerec.threads import kernel_threads

_USERS_PER_PART = 256
_ROWS_PER_GROUP = 4096
_PARTS_FOR_PROCESSES = 8  # below, starting processes takes longer than they save


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
    again: Callable[[], Explainer] | None = None,
    on_part: Callable[[int, int], None] | None = None,
) -> Summary:
    """Explain all listed pairs of all users into `target`, users and ranks in order.

    With `resume` the finished parts of an equal run are kept; without, they are dropped. Raises
    RunError when the parts belong to another recommender, data or question. `again` makes the same
    explainer in another process, given as a module's function or a `partial` of one; with it a
    large job runs on one process per core. `on_part` is told the users done and their total.
    While it works no other batch may write to `target`: RunError.
    """
    refuse_folder(target)
    busy = RunError(
        f"{target}: another explain --all is writing to it; wait for it, or choose another --out"
    )
    with lock_file(target.with_name(target.name + ".lock"), busy):
        return _explain_all(explainer, target, asked, resume, again, on_part)


def _explain_all(
    explainer: Explainer,
    target: Path,
    asked: Options,
    resume: bool,
    again: Callable[[], Explainer] | None,
    on_part: Callable[[int, int], None] | None,
) -> Summary:
    """`explain_all`, alone at work on the target."""
    folder = target.with_name(target.name + ".parts")
    _prepare(folder, _job(explainer, asked), resume=resume)
    n_users = len(explainer.data.users)
    parts = [
        Part(folder / f"part-{number:06}.parquet", start, min(start + _USERS_PER_PART, n_users))
        for number, start in enumerate(range(0, n_users, _USERS_PER_PART))
    ]
    missing = [part for part in parts if not part.path.exists()]
    done = n_users - sum(part.stop - part.start for part in missing)
    for part in _write_parts(explainer, missing, asked, again):
        done += part.stop - part.start
        if on_part is not None:
            on_part(done, n_users)
    with replacing(target) as new:
        _join([part.path for part in parts], new)
    shutil.rmtree(folder)
    counts = pl.scan_parquet(target).group_by("status").len().collect()
    status = Counter(dict(counts.iter_rows()))
    return Summary(status.total(), dict(sorted(status.items())), len(parts) - len(missing))


def _write_parts(
    explainer: Explainer,
    parts: Sequence[Part],
    asked: Options,
    again: Callable[[], Explainer] | None,
) -> Iterator[Part]:
    """Write the parts, each yielded when it is there."""
    if again is None or kernel_threads() == 1 or len(parts) < _PARTS_FOR_PROCESSES:
        for part in parts:
            write_part(explainer, part, asked)
            yield part
    else:
        yield from write_parts(again, parts, asked, processes=kernel_threads())


def _join(parts: list[Path], target: Path) -> None:
    """One table of many, in small groups of rows: the memory is that of a few groups."""
    if not parts:
        pl.DataFrame(schema=SCHEMA).write_parquet(target)
        return
    whole = pl.scan_parquet(parts, low_memory=True)
    whole.sink_parquet(target, row_group_size=_ROWS_PER_GROUP)


def read_table(path: Path) -> list[Explanation]:
    """The explanations of a table written here."""
    column = pl.read_parquet(path, columns=["explanation"])["explanation"]
    return [Explanation.from_dict(json.loads(text)) for text in column]


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
        if not (parts / "job.json").exists() and any(parts.iterdir()):
            raise RunError(f"{parts}: holds other files; move them, or choose another --out")
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
