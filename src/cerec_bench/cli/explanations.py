"""`cerec bench explanations`: are the explanations right?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cerec.cli.arguments import named
from cerec.cli.console import out, print_json, progress, remark
from cerec.cli.train import read_config
from cerec.errors import ConfigError

DEFAULT_TRUTHS = "dns,planted,heldout"
_ON_SCREEN = {
    "found": "cover %",
    "flipped": "flips %",
    "size": "changes",
    "pn_all": "PN %",
    "ps_all": "PS %",
    "stability": "stable",
}  # the files have all


def compare_explanations(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="DATA_OR_RUN...", help="Run folders, or data to train on first."),
    ],
    out_folder: Annotated[
        Path, typer.Option("--out", parser=named, metavar="PATH", help="Where cells and tables go.")
    ] = Path("explanations-compared"),
    methods: Annotated[str, typer.Option(help="Names, comma-separated; `all` for all.")] = "all",
    truth: Annotated[
        str, typer.Option(help="dns, planted, heldout, planted-both, heldout-both.")
    ] = DEFAULT_TRUTHS,
    seeds: Annotated[int, typer.Option(help="Seeds of the explainers.")] = 5,
    pairs: Annotated[int, typer.Option(help="Listed pairs explained; 0: all.")] = 1000,
    k: Annotated[int, typer.Option("--k", help="Length of the lists.")] = 20,
    draws: Annotated[int, typer.Option(help="Draws of every random explanation.")] = 30,
    reference: Annotated[
        str | None, typer.Option(help="Who the others are tested against; cerec, or the first.")
    ] = None,
    agent_epochs: Annotated[
        int | None, typer.Option(help="Epochs CERec's agent learns; 0: no agent.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings to train with, TOML.")] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="One setting: section.key=value.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--afresh", help="Keep finished cells, or drop them.")
    ] = True,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Score explainers on the same listed items: agreement with ground truths, flips, size, cost.

    Finished cells are kept in the folder: a comparison that was stopped goes on with the same
    command, and one with more methods or seeds computes only what is new.

    Example: cerec bench explanations demo --methods rdexp-own,cerec --truth planted --seeds 2
    """
    from cerec_bench.consistency import consistency
    from cerec_bench.explainers.cells import Cell
    from cerec_bench.explainers.registry import METHODS
    from cerec_bench.explainers.report import write_report
    from cerec_bench.explainers.runner import Plan
    from cerec_bench.explainers.table import to_json

    names = tuple(METHODS) if methods == "all" else _names(methods)
    base = reference or ("cerec" if "cerec" in names else names[0])
    if base not in names:
        raise ConfigError(f"--reference must be one of the methods, got {base!r}")
    if pairs < 0:
        raise ConfigError(f"--pairs must be at least 0, got {pairs}")
    plan = Plan(
        methods=names,
        truths=_names(truth),
        seeds=seeds,
        pairs=pairs or None,
        k=k,
        draws=draws,
        reference=base,
    )
    settings = read_config(config, sets or [], start="paper")
    if not resume:
        _drop(out_folder)
    with progress() as bar:
        task = bar.add_task("preparing", total=None, note="")

        def begin(name: str, total: int) -> None:
            bar.reset(task, description=name, total=total, note="")

        def told(name: str, cell: Cell, known: bool) -> None:
            note = f"{cell.method} {cell.seed}" + (" (kept)" if known else "")
            bar.update(task, description=name, advance=1, note=note)

        results = consistency(
            sources,
            plan,
            out_folder,
            config=settings,
            agent_epochs=agent_epochs,
            on_start=begin,
            on_cell=told,
        )
    made = write_report(out_folder, results)
    if json:
        print_json({name: to_json(lines, about) for name, (lines, about) in results.items()})
        return
    for lines, about in results.values():
        _show(lines, about)
        for name in sorted(set(plan.truths) - set(about["truths"])):
            remark(
                f"{about['data']} has no truth {name!r}: tastes are planted in made worlds alone"
            )
    remark("wrote " + ", ".join(str(path) for path in made))


def _names(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(n.strip() for n in text.split(",") if n.strip()))
    if not found:
        raise ConfigError(f"names with commas between are needed, got {text!r}")
    return found


def _drop(folder: Path) -> None:
    """Forget finished cells; nothing but what a comparison wrote is removed."""
    for path in [*folder.glob("*/cells/*"), *folder.glob("*/truths/*")]:
        path.unlink()


def _show(lines: Sequence[Any], about: dict[str, Any]) -> None:
    from cerec_bench.explainers.table import (
        CHECKED,
        CONSISTENCY,
        agreement_text,
        check_text,
        truths_of,
    )

    table = Table(
        title=f"{about['data']}: {about['pairs']:,} listed pairs, top {about['k']}, "
        f"{about['seeds']} seed{'s' if about['seeds'] > 1 else ''}"
    )
    table.add_column("", min_width=12)
    shown = [entry for entry in CHECKED if entry[0] in _ON_SCREEN]
    for key, _, _ in shown:
        table.add_column(_ON_SCREEN[key], justify="right", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    for line in lines:
        cells = [check_text(line, key, factor) for key, _, factor in shown]
        table.add_row(line.title, *cells, "-" if line.error else f"{line.ms:.2f}")
    out.print(table)
    for truth in truths_of(lines):
        table = Table(title=f"{about['data']}: agreement with {truth}, % ± standard error")
        table.add_column("")
        for measure in CONSISTENCY:
            table.add_column(measure, justify="right")
        for line in lines:
            cells = [agreement_text(line, f"{m}:{truth}") for m in CONSISTENCY]
            if cells != ["-"] * 3:
                table.add_row(line.title, *cells)
        out.print(table)
    out.print(f"* differs from {about['reference']}, p < 0.05 (McNemar or Wilcoxon, Holm)")
    for line in lines:
        if line.error or line.note:
            out.print(f"{line.title}: {line.error or line.note}")
