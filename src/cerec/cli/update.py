"""`cerec update`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cerec.cli.arguments import RunFolder, named
from cerec.cli.console import remark
from cerec.runs.run import open_run


def update(
    run_folder: RunFolder,
    interactions: Annotated[
        Path | None, typer.Option(help="A table user,item and what else the run's data have.")
    ] = None,
    items: Annotated[
        Path | None, typer.Option(help="New items, a table item,name and attribute columns.")
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option(metavar="USER", help="A user to forget. Repeatable.")
    ] = None,
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", parser=named, metavar="PATH", help="Where it goes, if not in place."),
    ] = None,
) -> None:
    """Take up new interactions, users and items in a run, or forget a user.

    New users and longer histories count in full at once. What was learned of all people stays
    until the next training, and a new item is its attributes only.

    Examples: cerec update runs/demo --interactions today.csv --items new-items.csv
              cerec update runs/demo --forget u001
    """
    from cerec.runs.update import update as updated

    target = out_folder or run_folder
    run = updated(open_run(run_folder), interactions, items, forget=forget or ())
    run.save(target)
    done = run.meta["updates"][-1]
    counts = (f"{done[name]:+,} {name}" for name in ("users", "items", "interactions"))
    remark(f"saved {target}, version {run.version}: {', '.join(counts)}")
    if forget and (others := stays(target)):
        remark(f"not looked at, and perhaps naming them: {', '.join(others)}")


def stays(folder: Path) -> list[str]:
    """What lies in a run's folder and is not of the run."""
    from cerec.runs.folder import FILES

    return sorted(p.name for p in folder.iterdir() if p.name not in FILES)
