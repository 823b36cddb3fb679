"""`cerec bench audit`: does an audit find what was planted?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cerec.cli.arguments import named
from cerec.cli.console import out


def audit(
    out_folder: Annotated[
        Path, typer.Option("--out", parser=named, metavar="PATH", help="Where result files go.")
    ] = Path("results/audit"),
    pages: Annotated[
        Path, typer.Option("--pages", parser=named, metavar="PATH", help="Where the page goes.")
    ] = Path("docs/results"),
    first: Annotated[int, typer.Option(help="Seed of the first world of each part.")] = 100,
    share: Annotated[float, typer.Option(help="Share of the worlds; 1: all.")] = 1.0,
) -> None:
    """Audit generated worlds whose weights and penalties are known.

    Example: cerec bench audit --out results/audit
    """
    from cerec_bench.audit import measure, write

    found = measure(first, lambda part, row: out.print(f"{part}: {row}"), share)
    write(found, out_folder, pages)
