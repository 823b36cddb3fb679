"""Where the command line writes: results to stdout, progress and remarks to stderr."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

out = Console(soft_wrap=False, highlight=False)
"""Results for people."""
err = Console(stderr=True, highlight=False)
"""Progress and remarks; silent where stderr is not a terminal, except for `remark`."""


def print_json(value: Any) -> None:
    """One JSON value on stdout, for programs; NaN becomes null."""
    out.file.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def remark(text: str) -> None:
    """A line on stderr that is worth reading in a pipe too."""
    err.print(text, markup=False, soft_wrap=True)


def compiled() -> bool:
    """False until the kernels have been compiled and kept, by the first long work of a machine."""
    from cerec.recommend.kernels import pair_gradients

    return any(Path(pair_gradients.stats.cache_path).glob("kernels.*.nbi"))


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress display on a terminal, nothing in a pipe."""
    if not compiled():
        remark("first use: compiling the kernels, up to a minute; they are kept for the next time")
    left_over = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # the rest is never cut
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=14),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", style="dim", table_column=left_over),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
    )
    shown = err.is_terminal
    with Progress(*columns, console=err, disable=not shown, transient=True, expand=True) as bar:
        yield bar
