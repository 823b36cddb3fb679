"""Parts of a batch: the lists of a few hundred users each, written here or by other processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

import polars as pl

from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.explain.options import Options
from cerec.files import replacing

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


@dataclass(frozen=True, slots=True)
class Part:
    """The users `start` to `stop`, and the file their explanations go to."""

    path: Path
    start: int
    stop: int


def write_part(explainer: Explainer, part: Part, asked: Options) -> None:
    """Explain the lists of the part's users; the file is there in full or not at all."""
    ids, items = explainer.data.users, explainer.data.items
    pairs = (
        (ids[user], items[int(item)])
        for user in range(part.start, part.stop)
        for item in explainer.listed(user, asked.k)
    )
    options = {name: getattr(asked, name) for name in Options.__slots__}
    write_table(part.path, explainer.explain_many(pairs, **options))


def write_parts(
    again: Callable[[], Explainer], parts: Sequence[Part], asked: Options, *, processes: int
) -> Iterator[Part]:
    """As `write_part` for many, by several processes that each make the explainer for themselves.

    Parts are yielded as they are finished, in no order.
    """
    pool = ProcessPoolExecutor(
        processes, get_context("spawn"), initializer=_begin, initargs=(again, asked)
    )
    with pool:
        try:
            yield from (
                done.result() for done in as_completed([pool.submit(_do, p) for p in parts])
            )
        finally:  # an interruption leaves no work behind
            pool.shutdown(wait=True, cancel_futures=True)


_worker: list[tuple[Explainer, Options]] = []
"""What a worker process answers with; empty in every other process."""


def _begin(again: Callable[[], Explainer], asked: Options) -> None:
    os.environ["CEREC_THREADS"] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker.append((again(), asked))


def _end_with_parent() -> None:
    """A killed parent cannot end its workers, so they watch it."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(part: Part) -> Part:
    explainer, asked = _worker[0]
    write_part(explainer, part, asked)
    return part


def write_table(path: Path, explanations: Iterable[Explanation]) -> None:
    """Explanations as a Parquet table with the columns of `SCHEMA`."""
    rows = [_row(e) for e in explanations]
    with replacing(path) as new:
        pl.DataFrame(rows, schema=SCHEMA, orient="row").write_parquet(new)


def _row(e: Explanation) -> tuple[Any, ...]:
    return (*(getattr(e, name) for name in SCHEMA if name != "explanation"), e.to_json())
