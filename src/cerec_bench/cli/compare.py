"""`cerec bench compare`: all systems in one table."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from cerec.cli.arguments import named
from cerec.cli.console import out, print_json, progress, remark
from cerec.cli.train import read_config
from cerec.errors import ConfigError

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

    Finished cells are kept in the folder: a comparison that was stopped goes on with the same
    command, and one with more models or seeds computes only what is new.

    Example: cerec bench compare demo --models popularity,bpr,linear --seeds 3 --budget 1
    """
    from cerec.data.filters import apply
    from cerec.data.load import load
    from cerec.data.split import split
    from cerec.settings.data import FilterConfig
    from cerec_bench.compare.contenders import CONTENDERS
    from cerec_bench.compare.fit import FitConfig
    from cerec_bench.compare.grid import Cell, Grid, Plan, read_per_user
    from cerec_bench.compare.report import write_report
    from cerec_bench.compare.space import SPACES
    from cerec_bench.compare.table import columns, summarise, to_json

    names = tuple(CONTENDERS) if models == "all" else tuple(n.strip() for n in models.split(","))
    plan = Plan(
        models=tuple(dict.fromkeys(names)),
        seeds=seeds,
        trials=budget,
        valid_users=valid_users,
        ks=_lengths(k),
        fit=FitConfig(epochs=epochs, every=every, patience=patience, seconds=seconds),
        search=search or SPACES,
    )
    base = reference or ("linear" if "linear" in names else names[0])
    if base not in names:
        raise ConfigError(f"--reference must be one of the models, got {base!r}")
    settings = read_config(None, sets or [])
    dataset, _ = apply(load(data, format=format), settings.filters)
    parts = split(dataset, settings.split, seed=split_seed)
    started = time.perf_counter()
    with progress() as bar:
        task = bar.add_task("comparing", total=None, note="")

        def told(cell: Cell, known: bool) -> None:
            note = f"{cell.model} {cell.kind} {cell.seed}" + (" (kept)" if known else "")
            bar.update(task, advance=1, note=note)

        grid = Grid(dataset, parts, plan, out_folder, on_cell=told)
        bar.update(task, total=grid.size)
        cells = grid.run()
    lines = summarise(
        cells,
        lambda key: read_per_user(grid.per_user_path(key)),
        columns(plan.ks),
        reference=base,
    )
    about = {
        "data": dataset.name,
        "fingerprint": dataset.fingerprint,
        "users": len(dataset.users),
        "items": len(dataset.items),
        "split": {"method": settings.split.method, "seed": split_seed}
        | {part: getattr(parts, part).size for part in ("train", "valid", "test")},
        "filters": {
            k: v for k, v in asdict(settings.filters).items() if v != getattr(FilterConfig(), k)
        },
        "ks": list(plan.ks),
        "seeds": seeds,
        "trials": budget,
        "valid_users": valid_users,
        "fit": {"epochs": epochs, "every": every, "patience": patience, "seconds": seconds},
        "reference": base,
        "wall_seconds": round(time.perf_counter() - started, 1),
    }
    made = write_report(out_folder, lines, plan.ks, about)
    if json:
        print_json(to_json(lines, about))
        return
    _show(lines, plan.ks[0], about)
    remark("wrote " + ", ".join(str(path) for path in made))


def _lengths(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise ConfigError(f"--k takes whole numbers with commas between, got {text!r}") from None


def _show(lines: list[Any], k: int, about: dict[str, Any]) -> None:
    from cerec_bench.compare.table import cell_text, columns, heading, ranked

    names = columns([k])
    table = Table(
        title=f"{about['data']}: test, whole catalogue, mean over users and "
        f"{about['seeds']} seed{'s' if about['seeds'] > 1 else ''}"
    )
    table.add_column("")
    for name in (*map(heading, names), "tried", "s / fit", "CPU s", "MB"):
        table.add_column(name, justify="right")
    best = {name: (ranked(lines, name) or [""])[0] for name in names}
    for line in lines:
        cells = [
            Text(cell_text(line, name), style="bold" if best[name] == line.model else "")
            for name in names
        ]
        spent = (f"{line.seconds:.1f}", f"{line.cpu_seconds:.1f}", f"{line.peak_mb:.0f}")
        table.add_row(
            line.title, *cells, *((str(line.trials or 1), *spent) if not line.error else "----")
        )
    out.print(table)
    out.print(f"* differs from {about['reference']} over users, p < 0.05 (Wilcoxon, Holm)")
    for line in lines:
        if line.error or line.note:
            out.print(f"{line.title}: {line.error or line.note}")
