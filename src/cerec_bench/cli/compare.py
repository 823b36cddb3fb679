"""`cerec bench compare`: all systems in one table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from cerec.cli.arguments import named
from cerec.cli.console import print_json, progress, remark
from cerec.errors import ConfigError
from cerec.settings.run import RunConfig, apply_sets
from cerec_bench.cli.show import show

DEFAULT = (
    "popularity,itemknn,ease,ials,bpr,lightgcn,neumf,mcrec,kgpolicy,kgqr,kgat,cerec-paper,linear"
)


def compare(
    data: Annotated[str, typer.Argument(help="`demo`, `ml-100k`, or a folder of data.")],
    out_folder: Annotated[
        Path, typer.Option("--out", parser=named, metavar="PATH", help="Where cells and tables go.")
    ] = Path("compared"),
    models: Annotated[str, typer.Option(help="Names, comma-separated; `all` for all.")] = DEFAULT,
    seeds: Annotated[int, typer.Option(help="Fits of the best settings of each.")] = 5,
    budget: Annotated[int, typer.Option(help="Settings each may try; 1: the defaults.")] = 10,
    k: Annotated[str, typer.Option("--k", help="List lengths, comma-separated.")] = "20,40,60,80",
    epochs: Annotated[int, typer.Option(help="Epochs of a fit, at most.")] = 300,
    every: Annotated[int, typer.Option(help="Epochs between two looks at validation.")] = 3,
    patience: Annotated[int, typer.Option(help="Looks without a better number.")] = 5,
    seconds: Annotated[float | None, typer.Option(help="CPU time of a fit, at most.")] = None,
    valid_users: Annotated[int, typer.Option(help="Users validation is measured on.")] = 5000,
    search: Annotated[
        Path | None, typer.Option(help="Folder of search spaces of one's own.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Who the others are tested against; linear, or the first.")
    ] = None,
    split_seed: Annotated[int, typer.Option(help="Seed of the one split.")] = 0,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="filters.key=value or split.key=value.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="kgat, recbole or tables.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Compare systems: one split, equal tuning on validation, several seeds.

    Finished cells are kept in the folder: a comparison that was stopped continues with the same
    command, and one with more models or seeds computes only what is new.

    Example: cerec bench compare demo --models popularity,bpr,linear --seeds 3 --budget 1
    """
    from cerec.data.filters import apply
    from cerec.data.load import load
    from cerec.data.split import split
    from cerec.settings.run import to_table
    from cerec_bench.cells import Cells
    from cerec_bench.plans.contenders import CONTENDERS
    from cerec_bench.plans.fit import FitConfig
    from cerec_bench.plans.systems import Plan, Systems, columns, keys_of
    from cerec_bench.plans.tuning import SPACES
    from cerec_bench.report.charts import bar_chart
    from cerec_bench.report.files import write_report
    from cerec_bench.report.tables import compared, to_json

    names = tuple(CONTENDERS) if models == "all" else tuple(n.strip() for n in models.split(","))
    if reference is not None and reference not in names:
        raise ConfigError(f"--reference must be one of the models, got {reference!r}")
    plan = Plan(
        models=tuple(dict.fromkeys(names)),
        seeds=seeds,
        trials=budget,
        valid_users=valid_users,
        ks=_lengths(k),
        fit=FitConfig(epochs=epochs, every=every, patience=patience, seconds=seconds),
        search=search or SPACES,
        reference=reference or "linear",
    )
    settings = RunConfig.of(apply_sets({}, sets or []))
    dataset, _ = apply(load(data, format=format), settings.filters)
    parts = split(dataset, settings.split, seed=split_seed)
    started = time.perf_counter()
    with progress() as bar:
        task = bar.add_task("comparing", total=None, note="")

        def told(name: str, known: bool) -> None:
            bar.update(task, advance=1, note=name + (" (kept)" if known else ""))

        cells = Cells(out_folder / "cells", f"cerec bench compare {data}", told)
        systems = Systems(dataset, parts, plan, cells)
        bar.update(task, total=systems.size)
        lines, about = systems.summary()
    about |= {
        "split": {**about["split"], "method": settings.split.method, "seed": split_seed},
        "filters": to_table(settings)["filters"],
        "wall_seconds": round(time.perf_counter() - started, 1),
    }
    grid = compared(lines, columns(plan.ks))
    made = write_report(out_folder, {dataset.name: (lines, about)}, [grid])
    if any(line.figures for line in lines):
        bar_chart(lines, keys_of(plan.ks[:1]), out_folder / "bars.svg")
        made.append(out_folder / "bars.svg")
    if json:
        print_json(to_json(lines, about))
        return
    title = f"{dataset.name}: test, whole catalogue, mean over users and {seeds} seeds"
    tested = f"{about['reference']} over users, p < 0.05 (Wilcoxon, Holm)"
    show(lines, columns(plan.ks[:1]), title, tested)
    remark("wrote " + ", ".join(str(path) for path in made))


def _lengths(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise ConfigError(f"--k takes whole numbers with commas between, got {text!r}") from None
