"""`cerec bench explanations`: are the explanations right?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cerec.cli.arguments import named
from cerec.cli.console import print_json, progress, remark
from cerec.errors import ConfigError
from cerec.settings.run import RunConfig, apply_sets
from cerec_bench.cli.show import show

if TYPE_CHECKING:
    from cerec.settings.run import RunConfig
    from cerec_bench.plans.explainers import Theme
    from cerec_bench.statistics import Line

DEFAULT_TRUTHS = "dns,planted,heldout"


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
        str | None,
        typer.Option(help="Who the others are tested against (cerec-paper)."),
    ] = None,
    agent_epochs: Annotated[
        int | None, typer.Option(help="Epochs CERec's agent learns; 0: no agent.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings to train with, TOML.")] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="One setting: section.key=value.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Score explainers on the same listed items: agreement with ground truths, flips, size, cost.

    Finished cells are kept in the folder: a comparison that was stopped continues with the same
    command, and one with more methods or seeds computes only what is new.

    Example: cerec bench explanations demo --methods rdexp-own,cerec --truth planted --seeds 2
    """
    from cerec_bench.cells import Cells
    from cerec_bench.explainers.registry import METHODS
    from cerec_bench.plans.explainers import Explainers, Plan
    from cerec_bench.plans.judged import grids_of
    from cerec_bench.report.charts import scatter_chart
    from cerec_bench.report.files import write_report
    from cerec_bench.report.tables import to_json

    names = tuple(METHODS) if methods == "all" else _names(methods)
    _check(names, reference, pairs)
    plan = Plan(
        methods=names,
        truths=_names(truth),
        seeds=seeds,
        pairs=pairs or None,
        k=k,
        draws=draws,
        reference=reference or "cerec-paper",
    )
    settings = RunConfig.of(apply_sets({}, sets or []), file=config, preset="paper")
    if agent_epochs is not None:
        settings = replace(settings, train=replace(settings.train, agent_epochs=agent_epochs))
    results, grids = {}, []
    with progress() as bar:
        task = bar.add_task("preparing", total=None, note="")

        def told(name: str, known: bool) -> None:
            bar.update(task, advance=1, note=name + (" (kept)" if known else ""))

        for source in sources:
            theme = _theme(source, out_folder, settings, agent_epochs)
            if theme.name in results:
                raise ConfigError(f"{source}: two sources are named {theme.name!r}; give one")
            cells = Cells(out_folder / theme.name, f"cerec bench explanations {source}", told)
            asked = Explainers(theme, plan, cells)
            bar.reset(task, description=theme.name, total=asked.size, note="")
            results[theme.name] = lines, about = asked.summary()
            grids += grids_of(theme.name, lines, about)
    made = write_report(out_folder, results, grids)
    for name, (lines, about) in results.items():
        if any(line.figures for line in lines):
            panels = [(f"recall:{t}", f"precision:{t}") for t in about["truths"]]
            scatter_chart(lines, [("size", "flipped"), *panels], out_folder / f"{name}.svg")
            made.append(out_folder / f"{name}.svg")
    if json:
        print_json({name: to_json(lines, about) for name, (lines, about) in results.items()})
        return
    for name, (lines, about) in results.items():
        _show(name, lines, about, plan.truths)
    remark("wrote " + ", ".join(str(path) for path in made))


def _show(name: str, lines: list[Line], about: dict[str, Any], truths: tuple[str, ...]) -> None:
    from cerec_bench.plans.judged import agreement_columns, check_columns

    tested = f"{about['reference']}, p < 0.05 (McNemar or Wilcoxon, Holm)"
    title = f"{name}: {about['pairs']:,} listed pairs, top {about['k']}, {about['seeds']} seeds"
    show(lines, check_columns(), title, tested)
    for truth in about["truths"]:
        show(lines, agreement_columns(truth), f"{name}: agreement with {truth}", tested)
    for truth in sorted(set(truths) - set(about["truths"])):
        remark(f"{name} has no truth {truth!r}: tastes are planted in made worlds alone")


def _theme(source: str, folder: Path, config: RunConfig, agent_epochs: int | None) -> Theme:
    """A run folder is opened; data are trained on with `config`, into `folder`, once.

    The agent of the comparison learns with every seed; the run needs none of its own.
    """
    from cerec.data.load import load
    from cerec.runs.run import open_run
    from cerec.runs.train import train
    from cerec_bench.plans.explainers import Theme

    if (Path(source) / "run.json").exists():
        run = open_run(source)
        if agent_epochs is not None:
            epochs = replace(run.config.train, agent_epochs=agent_epochs)
            run.config = replace(run.config, train=epochs)
        return Theme.of(run)
    data = load(source)
    alone = replace(config, train=replace(config.train, agent_epochs=0))
    run = train(data, alone, seed=0, out=folder / "runs" / data.name, resume=True)
    run.config = config
    return Theme.of(run)


def _check(names: tuple[str, ...], reference: str | None, pairs: int) -> None:
    if reference is not None and reference not in names:
        raise ConfigError(f"--reference must be one of the methods, got {reference!r}")
    if pairs < 0:
        raise ConfigError(f"--pairs must be at least 0, got {pairs}")


def _names(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(n.strip() for n in text.split(",") if n.strip()))
    if not found:
        raise ConfigError(f"names with commas between are needed, got {text!r}")
    return found
