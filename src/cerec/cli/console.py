"""Where the command line writes: results to stdout, progress and remarks to stderr."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

if TYPE_CHECKING:
    from rich.progress import Progress

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class TextConsole(Console):
    """A console where names cannot steer the terminal: their control characters are left out."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """The pieces that a renderable is written in; what rich itself controls stays."""
        for piece in super().render(renderable, options):
            if piece.control is None and _CONTROLS.search(piece.text):
                yield Segment(_CONTROLS.sub("", piece.text), piece.style)  # they had no width
            else:
                yield piece


# Names of items may hold [brackets] and :colons:, which are nothing but text here.
out = TextConsole(soft_wrap=False, highlight=False, markup=False, emoji=False)
"""Results for people."""
err = TextConsole(stderr=True, highlight=False, markup=False, emoji=False)
"""Progress and remarks; silent where stderr is not a terminal, except for `remark`."""


def print_json(value: Any) -> None:
    """One JSON value on stdout, for programs; NaN becomes null."""
    out.file.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def remark(text: str) -> None:
    """A line on stderr that is worth reading in a pipe too."""
    err.print(text, soft_wrap=True)


@cache  # once in a process
def tell_compiling() -> None:
    """Say so when a kernel is compiled and kept, as at the first use on a machine."""
    from numba.core import event

    class Telling(event.Listener):  # type: ignore[misc]
        told = False

        def on_start(self, what: Any) -> None:
            kernel = what.data["dispatcher"].py_func
            if not self.told and kernel.__module__.startswith("cerec"):
                Telling.told = True
                remark("first use: compiling the kernels, up to a minute; later runs reuse them")

        def on_end(self, what: Any) -> None:
            del what

    event.register("numba:compile", Telling())


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress display on a terminal, nothing in a pipe."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    tell_compiling()
    left_over = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # the rest is never cut
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=14),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", style="dim", markup=False, table_column=left_over),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
    )
    shown = err.is_terminal
    with Progress(*columns, console=err, disable=not shown, transient=True, expand=True) as bar:
        yield bar
