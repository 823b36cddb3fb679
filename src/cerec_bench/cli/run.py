"""`cerec bench run`: experiments by name."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from cerec.cli.arguments import named
from cerec.cli.console import progress, remark
from cerec.errors import ConfigError


def run(
    what: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="table1, table2, table3, depth, reward, ...; with commas; all."
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
            help="Where results go (results, or quick-results).",
        ),
    ] = None,
    pages: Annotated[
        Path | None, typer.Option(help="Where pages go; with the results by default.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="All of it on a small world, in a few minutes.")
    ] = False,
    page_only: Annotated[
        bool, typer.Option("--page-only", help="Write the pages of the results that are there.")
    ] = False,
    sets: Annotated[
        str | None, typer.Option(help="Run these data sets alone, comma-separated.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Start no cell after so many minutes.")
    ] = None,
) -> None:
    """Run experiments, and write a page for each; results are kept as files.

    A run that was stopped continues with the same command. What is there, made with today's
    settings, is not computed again. NAME may be a TOML file of your own.

    Example: cerec bench run all --quick
    """
    from cerec_bench.plans.experiment import read
    from cerec_bench.plans.experiment import run as compute
    from cerec_bench.plans.files import names, read_experiment
    from cerec_bench.plans.page import write_page

    asked = names() if what == "all" else [name.strip() for name in what.split(",")]
    plans = [read_experiment(name, quick=quick) for name in asked]
    out = out_folder or Path("quick-results" if quick else "results")
    _check(data, out)
    only = tuple(s.strip() for s in sets.split(",")) if sets else ()
    for name in only:
        if name not in plans[0].sets:
            raise ConfigError(f"unknown set {name!r}; there are {', '.join(plans[0].sets)}")
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    for plan in plans:
        folder = out / plan.name
        if page_only:
            done = read(plan, folder)
        else:
            with progress() as bar:
                task = bar.add_task(plan.name, total=None, note="")

                def on_step(text: str, n: int, of: int, task: TaskID = task) -> None:
                    bar.update(task, completed=n - 1, total=of, note=text)

                done = compute(plan, folder, data, only=only, deadline=deadline, on_step=on_step)
            for text in done.skipped:
                remark(f"{plan.name}: {text}")
        page, missing = write_page(done, folder, pages or folder), len(done.missing)
        said = f"; {missing} cells are missing, the page says which" if missing else ""
        remark(f"wrote {page}{said}")


def _check(data: Path | None, out: Path) -> None:
    if data is not None and not data.is_dir():
        raise ConfigError(f"{data}: no such folder; --data holds a folder of each data set")
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out}: is a file; --out must be a folder")
