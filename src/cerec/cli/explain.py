"""`cerec explain` and `cerec what-if`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from cerec.cli.arguments import History, Json, RunFolder, history_of, named, pair_given
from cerec.cli.console import out, print_json, progress, remark, tell_compiling
from cerec.cli.tables import refuse_other_tables
from cerec.errors import ConfigError, one_of
from cerec.explain.explanation import WhatIf
from cerec.explain.lookup import Lock, Pair, pair_of, value_row
from cerec.explain.options import Options
from cerec.runs.run import Run, open_run

K = Annotated[int, typer.Option("-k", "--k", help="Length of the list.")]
Added = Annotated[
    list[str] | None,
    typer.Option("--add", metavar="RELATION=ATTRIBUTE", help="A value beside those it has."),
]
Removed = Annotated[
    list[str] | None,
    typer.Option("--remove", metavar="RELATION=ATTRIBUTE", help="A value it has, taken away."),
]


def explain(
    run_folder: RunFolder,
    user: Annotated[str | None, typer.Option(help="Whose list.")] = None,
    history: History = None,
    item: Annotated[str | None, typer.Option(help="The listed item to explain.")] = None,
    why_not: Annotated[str | None, typer.Option(help="An item that is not in the list.")] = None,
    k: K = 20,
    lock: Annotated[
        list[str] | None,
        typer.Option(metavar="RELATION[=ATTRIBUTE]", help="May not change. Repeatable."),
    ] = None,
    unlock: Annotated[
        list[str] | None,
        typer.Option(help="A relation that may change although people's doings made it."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="attributes|history|both|agent",
            help="What to change; by default attributes, or the history where they do not do.",
        ),
    ] = None,
    changes: Annotated[
        str, typer.Option(metavar="replace|remove|any", help="Kinds of changes allowed.")
    ] = "replace",
    prefer: Annotated[
        str,
        typer.Option(
            metavar="decisive|near",
            help="Of equally small changes: the clearest, or towards the most similar item.",
        ),
    ] = "decisive",
    scope: Annotated[
        str,
        typer.Option(metavar="value|item", help="Any values, or those one item has together."),
    ] = "value",
    max_changes: Annotated[int | None, typer.Option(help="Most changes allowed.")] = None,
    alternatives: Annotated[int, typer.Option(help="How many other answers to add.")] = 0,
    relations: Annotated[
        bool, typer.Option("--relations", help="Add the best answer within each relation.")
    ] = False,
    robust: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Only an answer that holds with this probability.",
        ),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Seconds, for recommenders asked for every score.")
    ] = None,
    everyone: Annotated[bool, typer.Option("--all", help="All lists, to --out.")] = False,
    out_file: Annotated[
        Path | None, typer.Option("--out", parser=named, metavar="PATH", help="A .parquet file.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Take up a killed --all.")] = False,
    engine: Annotated[
        str, typer.Option(metavar="local|ray", help="Who computes --all; ray writes a folder.")
    ] = "local",
    json: Json = False,
) -> None:
    """Say which smallest change would take an item out of a list, or bring one in.

    Examples: cerec explain runs/demo --user u001 --item m635 --alternatives 2
              cerec explain runs/demo --user u001 --item m635 --by history
              cerec explain runs/demo --user u001 --item m635 --robust 0.9
              cerec explain runs/demo --history m001,m017 --item m635
              cerec explain runs/demo --user u001 --why-not m010 --lock genre
              cerec explain runs/demo --all --out all.parquet --resume
    """
    asked = Options(
        k=k,
        by=by,  # type: ignore[arg-type]
        changes=changes,  # type: ignore[arg-type]
        prefer=prefer,  # type: ignore[arg-type]
        scope=scope,  # type: ignore[arg-type]
        lock=tuple(_lock(text) for text in lock or ()),
        unlock=tuple(unlock or ()),
        max_changes=max_changes,
        alternatives=alternatives,
        robust=robust,
        budget=budget,
        relations=relations,
    )
    if everyone:
        if out_file is None or user or history or item or why_not:
            raise ConfigError(
                "--all needs --out FILE.parquet, and no --user, --history, --item or --why-not"
            )
        if one_of("--engine", engine, ("local", "ray")) == "local":
            refuse_other_tables("--out", out_file, (".parquet",))
        _explain_all(run_folder, out_file, asked, resume=resume, json=json, engine=engine)
        return
    if out_file is not None or resume:
        raise ConfigError("--out and --resume go with --all; one explanation is printed")
    if item is not None and why_not is not None:
        raise ConfigError("give --item or --why-not, not both")
    if not (user or history) or (item is None and why_not is None):
        raise ConfigError("give --user with --item or --why-not, or --all with --out FILE.parquet")
    run = open_run(run_folder)
    tell_compiling()
    options: dict[str, Any] = {name: getattr(asked, name) for name in Options.__slots__}
    known = history_of(run, history) if history else None
    answer = run.explain(user, item, history=known, why_not=why_not, **options)
    if json:
        print_json(answer.to_dict())
        return
    out.print(answer)
    if answer.found and len(answer.alternatives) < alternatives:
        remark(f"{len(answer.alternatives)} other answers; no further one really differs")


def _explain_all(
    folder: Path, path: Path, asked: Options, *, resume: bool, json: bool, engine: str
) -> None:
    from cerec.explain.batch import explain_all
    from cerec.runs.cluster import explain_on_ray

    run = open_run(folder)
    tell_compiling()
    start = time.perf_counter()
    run.explainer.tables.of_users(np.arange(min(1, len(run.data.users))), asked)
    ready = time.perf_counter()
    with progress() as bar:
        task = bar.add_task("explaining", total=len(run.data.users), note="users")
        more: Any = {
            "resume": resume,
            "on_part": lambda done, _: bar.update(task, completed=done),
        }
        if engine == "ray":
            summary = explain_on_ray(str(folder), str(path), asked, **more)
        else:
            summary = explain_all(run.explainer, path, asked, **more)
    seconds = time.perf_counter() - ready
    if json:
        print_json({"pairs": summary.pairs, **summary.status, "seconds": seconds})
        return
    for status, n in summary.status.items():
        out.print(f"{status.replace('_', ' '):>16} {n:>10,}  {n / max(summary.pairs, 1):7.2%}")
    rate = summary.pairs / max(seconds, 1e-9)
    remark(f"{summary.pairs:,} explanations in {seconds:.1f} s ({rate:,.0f} a second) -> {path}")
    if ready - start > 1:
        remark(f"before that, {ready - start:.1f} s to load and compile")


def what_if(
    run_folder: RunFolder,
    item: Annotated[str, typer.Option(help="The item to change.")],
    user: Annotated[str | None, typer.Option(help="Whose list.")] = None,
    history: History = None,
    put: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="RELATION=ATTRIBUTE", help="The only value of its relation."),
    ] = None,
    add: Added = None,
    remove: Removed = None,
    k: K = 20,
    json: Json = False,
) -> None:
    """Show score, rank and list had an item other attributes.

    Example: cerec what-if runs/demo --user u001 --item m635 --remove genre=Drama
    """
    run = open_run(run_folder)
    attributes = set(run.attributes(item))
    for relation, attribute in _pairs(run, put):
        attributes = {pair for pair in attributes if pair[0] != relation}
        attributes.add((relation, attribute))
    for pair in _pairs(run, add):
        if pair in attributes:
            raise ConfigError(f"--add {pair[0]}={pair[1]}: the item has that value already")
        attributes.add(pair)
    for pair in _pairs(run, remove):
        if pair not in attributes:
            raise ConfigError(f"--remove {pair[0]}={pair[1]}: the item has no such value")
        attributes.remove(pair)
    known = history_of(run, history) if history else None
    answer = run.what_if(user, item, sorted(attributes), k=k, history=known)
    if json:
        print_json(answer.to_dict())
    else:
        out.print(_table(run, answer))


def _table(run: Run, w: WhatIf) -> Table:
    name = run.data.items.name(run.data.items.row(w.item))
    gone = w.rank_before <= len(w.list) < w.rank_after
    title = (
        f"{name}\nrank {w.rank_before} -> {w.rank_after}{', out of the list' if gone else ''}\n"
        f"score {w.score_before:.4f} -> {w.score:.4f}"
    )
    table = Table(title=title)
    for column in ("rank", "item", "name", "score"):
        table.add_column(column, justify="right" if column in ("rank", "score") else "left")
    for line in w.list:
        style = "bold green" if line.item == w.item else None
        table.add_row(str(line.rank), line.item, line.name, f"{line.score:.4f}", style=style)
    return table


def _lock(text: str) -> Lock:
    relation, equals, attribute = text.partition("=")
    return (relation, attribute) if equals else relation


def _pairs(run: Run, texts: list[str] | None) -> list[Pair]:
    """Ids of `RELATION=ATTRIBUTE` texts, which may use names."""
    found = []
    for text in texts or ():
        value = value_row(run.data, run.facts, *pair_given(text))
        found.append(pair_of(run.data, run.facts, value))
    return found
