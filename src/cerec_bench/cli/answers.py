"""`cerec bench answers`: can every listed item be explained?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cerec.cli.arguments import named
from cerec.cli.console import out


def answers(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out_folder: Annotated[
        Path, typer.Option("--out", parser=named, metavar="PATH", help="Where result files go.")
    ] = Path("results/answers"),
    pages: Annotated[
        Path, typer.Option("--pages", parser=named, metavar="PATH", help="Where the page goes.")
    ] = Path("docs/results"),
    users: Annotated[int, typer.Option(help="Users whose lists are explained.")] = 500,
    pairs: Annotated[int, typer.Option(help="Pairs that the slow search tries.")] = 100,
    near: Annotated[int, typer.Option(help="Users for the rule `near`.")] = 10,
) -> None:
    """Count who is explained by what, and compare with a slow search.

    Example: cerec bench answers runs/demo --out results/answers
    """
    from cerec.runs.run import open_run
    from cerec_bench.answers import measure, write

    for folder in runs:
        found = measure(open_run(folder), users=users, pairs=pairs, near=near)
        write(found, out_folder, pages)
        out.print(
            f"{found['data']}: {found['attributes']:.1%} by attributes, {found['history']:.1%} by "
            f"history; {found['differ']} of {found['checked']} differ from the slow search"
        )
