"""`cerec bench reproduce`: the paper's tables and figures."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress, TaskID

from cerec.cli.arguments import named
from cerec.cli.console import progress, remark
from cerec.errors import ConfigError

if TYPE_CHECKING:
    from cerec_bench.reproduce.plan import Cell


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            help="table1, table2, table3, depth, reward, cases, ablations, flips; with commas; all."
        ),
    ] = "all",
    data: Annotated[
        Path | None, typer.Option(help="Folder with a folder of each real data set.")
    ] = None,
    out_folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            parser=named,
            metavar="PATH",
            help="Where results and pages go (reproduced, or quick-reproduced).",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="All of it on a small world, in a few minutes.")
    ] = False,
    render_only: Annotated[
        bool, typer.Option("--render-only", help="Write the pages of the results that are there.")
    ] = False,
    sets: Annotated[
        str | None, typer.Option(help="Run these data sets alone, comma-separated.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Begin no cell after so many minutes.")
    ] = None,
    experiments: Annotated[
        Path | None, typer.Option(help="Folder of experiments of one's own (TOML).")
    ] = None,
) -> None:
    """Make the paper's tables and figures; results are kept as files.

    A run that was stopped goes on with the same command; what is there, made with today's settings,
    is not run again. Pages say what is missing.

    Example: cerec bench reproduce all --quick
    """
    from cerec_bench.reproduce.pages import about_page, render
    from cerec_bench.reproduce.plan import EXPERIMENTS, names, read_experiment
    from cerec_bench.reproduce.runner import Watcher, run_experiment

    folder = experiments or EXPERIMENTS
    asked = names(folder) if what == "all" else [name.strip() for name in what.split(",")]
    plans = [read_experiment(name, folder, quick=quick) for name in asked]
    out = out_folder or Path("quick-reproduced" if quick else "reproduced")
    _check(data, out, needs=not (quick or render_only))
    only = tuple(s.strip() for s in sets.split(",")) if sets else ()
    for name in only:
        if name not in plans[0].sets:
            raise ConfigError(f"unknown set {name!r}; there are {', '.join(plans[0].sets)}")
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    command = [
        "cerec",
        "bench",
        "reproduce",
        what,
        *(["--quick"] if quick else ["--data", "FOLDER"]),
    ]
    for plan in plans:
        if not render_only:
            with progress() as bar:
                task = bar.add_task(plan.name, total=None, note="")
                watch = Watcher(
                    begun=partial(_begun, bar, task),
                    note=partial(_noted, bar, task),
                    skipped=remark,
                )
                made = run_experiment(
                    plan, out, data, command=command, watch=watch, only=only, deadline=deadline
                )
            remark(f"{plan.name}: {made} cells computed")
        page, missing = render(plan, out)
        said = f"; {missing} cells are missing, the page says which" if missing else ""
        remark(f"wrote {page}{said}")
    if folder == EXPERIMENTS:
        about_page(out, quick=quick).write(out)
        remark(f"wrote {out / 'about.md'}")


def _begun(bar: Progress, task: TaskID, cell: Cell, n: int, of: int) -> None:
    bar.update(task, completed=n - 1, total=of, note=f"{cell.set} {cell.variant}")


def _noted(bar: Progress, task: TaskID, text: str) -> None:
    bar.update(task, note=text)


def _check(data: Path | None, out: Path, *, needs: bool) -> None:
    if needs and data is None:
        raise ConfigError(
            "the full experiments need real data: give its folder with --data, or try --quick"
        )
    if data is not None and not data.is_dir():
        raise ConfigError(f"{data}: no such folder; --data holds a folder of each data set")
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out}: is a file; --out must be a folder")
