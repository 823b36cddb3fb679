"""`cerec recommend`: lists for one user, for somebody new, for everybody."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.table import Table

from cerec.cli.arguments import Json, RunFolder
from cerec.cli.console import out, print_json, progress, remark
from cerec.cli.tables import refuse_other_tables, write_table
from cerec.errors import ConfigError
from cerec.run import Run, open_run


def recommend(
    run_folder: RunFolder,
    user: Annotated[str | None, typer.Option(help="Whose list.")] = None,
    items: Annotated[
        str | None, typer.Option(help="Item ids, comma-separated: a list for somebody new.")
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", help="Length of the list.")] = 20,
    everyone: Annotated[bool, typer.Option("--all", help="All users, to --out.")] = False,
    out_file: Annotated[Path | None, typer.Option("--out", help="A .parquet or .csv file.")] = None,
    json: Json = False,
) -> None:
    """Print or write recommendation lists: the best items that are not in the user's train part.

    Example: cerec recommend runs/demo --user u001 -k 10
    """
    run = open_run(run_folder)
    if everyone:
        if out_file is None:
            raise ConfigError("--all needs --out FILE.parquet or FILE.csv")
        if user is not None or items is not None:
            raise ConfigError("--all is for all users: leave --user and --items out")
        write_all(run, k, out_file)
        return
    if out_file is not None:
        raise ConfigError("--out goes with --all; for one user, --json prints what programs read")
    if (user is None) == (items is None):
        raise ConfigError("give --user ID, or --items ID,ID for somebody new, or --all --out FILE")
    listed = run.recommend(user, k) if items is None else run.recommend_for(_ids(items), k)
    if json:
        print_json([asdict(line) for line in listed])
        return
    table = Table(title=f"top {len(listed)} for {user or 'somebody new'}")
    for name in ("rank", "item", "name", "score"):
        table.add_column(name, justify="right" if name in ("rank", "score") else "left")
    for line in listed:
        table.add_row(str(line.rank), line.item, line.name, f"{line.score:.4f}")
    out.print(table)


def _ids(text: str) -> list[str]:
    found = [name for part in text.split(",") if (name := part.strip())]
    if not found:
        raise ConfigError(f"--items takes item ids, comma-separated, got {text!r}")
    return found


def write_all(run: Run, k: int, path: Path) -> None:
    """Every user's list as one table."""
    refuse_other_tables("--out", path)
    users: list[str] = []
    lines = []
    with progress() as bar:
        for user in bar.track(run.data.users, description="lists"):
            listed = run.recommend(user, k)
            users += [user] * len(listed)
            lines += listed
    frame = pl.DataFrame({"user": users, **{c: [getattr(x, c) for x in lines] for c in _COLUMNS}})
    write_table(frame, path)
    remark(f"wrote {len(frame):,} lines for {len(run.data.users):,} users to {path}")


_COLUMNS = ("item", "name", "score", "rank")
