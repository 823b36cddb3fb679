"""`cerec recommend`: lists for one user, for somebody new, for everybody; users for a new item."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.table import Table

from cerec.cli.arguments import History, Json, RunFolder, history_of, named, pair_given
from cerec.cli.console import out, print_json, progress, remark
from cerec.cli.tables import refuse_other_tables, write_table
from cerec.errors import ConfigError
from cerec.runs.new_item import Placed
from cerec.runs.run import Recommendation, Run, open_run


def recommend(
    run_folder: RunFolder,
    user: Annotated[str | None, typer.Option(help="Whose list.")] = None,
    history: History = None,
    new_item: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RELATION=ATTRIBUTE",
            help="A value of an item that came after training: whom it suits best, or, with "
            "--user, where it would stand. Repeatable.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", "--k", help="Length of the list.")] = 20,
    everyone: Annotated[bool, typer.Option("--all", help="All users, to --out.")] = False,
    out_file: Annotated[
        Path | None,
        typer.Option("--out", parser=named, metavar="PATH", help="A .parquet or .csv file."),
    ] = None,
    json: Json = False,
) -> None:
    """Print or write lists: the best items that are not in the user's train part.

    Examples: cerec recommend runs/demo --user u001 -k 10
              cerec recommend runs/demo --new-item genre=Drama --new-item decade=1980s
    """
    others = [
        name
        for name, given in (("--user", user), ("--history", history or None))
        if given is not None
    ]
    _refuse_mixture(others + ["--new-item"] * bool(new_item), everyone, out_file)
    if out_file is not None:
        refuse_other_tables("--out", out_file)
    run = open_run(run_folder)
    if out_file is not None:
        lines = write_all(run, k, out_file)
        if json:
            print_json({"out": str(out_file), "users": len(run.data.users), "lines": lines})
        return
    if new_item:
        item = run.new_item(map(pair_given, new_item))
        _show_users(run, item.users(k) if user is None else [item.place(user)], json=json)
        return
    listed = run.recommend_for(history_of(run, history), k) if history else run.recommend(user, k)
    if user is not None and not len(run.split.train.row(run.data.users.row(user))):
        remark(f"{user} has no item in the train part: the list is that of the mean user")
    if json:
        print_json([asdict(line) for line in listed])
        return
    if not listed:
        remark(f"{user or 'somebody new'} knows every item; nothing is left to recommend")
        return
    table = Table(title=f"top {len(listed)} for {user or 'somebody new'}")
    for name in ("rank", "item", "name", "score"):
        table.add_column(name, justify="right" if name in ("rank", "score") else "left")
    for line in listed:
        table.add_row(str(line.rank), line.item, line.name, f"{line.score:.4f}")
    out.print(table)


def _refuse_mixture(given: list[str], everyone: bool, out_file: Path | None) -> None:
    """One question at a time: of these options, which ask for one, only some go together."""
    if everyone and out_file is None:
        raise ConfigError("--all needs --out FILE.parquet or FILE.csv")
    if everyone and given:
        raise ConfigError(f"--all is for all users: leave {' and '.join(given)} out")
    if out_file is not None and not everyone:
        raise ConfigError("--out goes with --all; for one user, --json prints what programs read")
    if "--new-item" in given and "--history" in given:
        raise ConfigError("--new-item goes with --user or alone: leave --history out")
    if given == ["--user", "--history"]:
        raise ConfigError("--history is for somebody new: leave --user or --history out")
    if not everyone and not given:
        raise ConfigError(
            "give --user ID, or --history ID,ID for somebody new, "
            "or --new-item RELATION=ATTRIBUTE, or --all --out FILE"
        )


def _show_users(run: Run, placed: list[Placed], *, json: bool) -> None:
    if json:
        print_json([asdict(line) for line in placed])
        return
    table = Table(title="the new item's rank in the user's list")
    for name in ("rank", "user", "name", "score"):
        table.add_column(name, justify="right" if name in ("rank", "score") else "left")
    for line in placed:
        table.add_row(str(line.rank), line.user, line.name, f"{line.score:.4f}")
    out.print(table)
    if run.model.fidelity is not None:
        remark(
            "what attributes do was fitted to this recommender: they tell "
            f"{max(run.model.fidelity, 0.0):.0%} of the scores of items left out of the fit"
        )


def write_all(run: Run, k: int, path: Path) -> int:
    """Every user's list as one table; how many lines it has."""
    lists, frames = run.recommend_all(k), [_frame([])]
    with progress() as bar:
        task = bar.add_task("lists", total=len(run.data.users), note="users")
        while part := list(islice(lists, _USERS)):
            frames.append(_frame(part))
            bar.advance(task, len(part))
    frame = pl.concat(frames)
    write_table(frame, path)
    served = frame["user"].n_unique()
    rest = len(run.data.users) - served
    without = f"; none for {rest:,}, who know every item" if rest else ""
    remark(f"wrote {len(frame):,} lines for {served:,} users to {path}{without}")
    return len(frame)


def _frame(part: list[tuple[str, list[Recommendation]]]) -> pl.DataFrame:
    lines = [line for _, listed in part for line in listed]
    columns = {"user": [user for user, listed in part for _ in listed]}
    columns |= {name: [getattr(line, name) for line in lines] for name in _SCHEMA if name != "user"}
    return pl.DataFrame(columns, schema=_SCHEMA)


_SCHEMA = {
    "user": pl.String,
    "item": pl.String,
    "name": pl.String,
    "score": pl.Float64,
    "rank": pl.Int64,
}
_USERS = 1000  # whose lists are held as objects at once
