"""`cerec train`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress
from rich.table import Table

from cerec.cli.arguments import Columns, Delimiter, Format, Options, named, reading
from cerec.cli.console import err, out, progress, remark
from cerec.errors import ConfigError
from cerec.recommend.linear.fit import SUPPORT
from cerec.runs.run import Run
from cerec.settings.base import parse
from cerec.settings.models import installed
from cerec.settings.recommender import MODELS
from cerec.settings.run import (
    OURS,
    PRESETS,
    RunConfig,
    apply_sets,
)


def train(
    data: Annotated[str, typer.Argument(help="`demo`, `ml-100k`, or a folder of data.")],
    out_folder: Annotated[
        Path, typer.Option("--out", parser=named, metavar="PATH", help="Where the run folder goes.")
    ],
    config: Annotated[Path | None, typer.Option(help="Settings, a TOML file.")] = None,
    model: Annotated[
        str | None,
        typer.Option(help=f"One of: {', '.join((*OURS, *MODELS, *installed()))}."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--preset", help=f"Settings to start from: {', '.join(PRESETS)}."),
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="One setting: section.key=value.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Same seed, same numbers; 0 if not given.")
    ] = None,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Keep the measured model; do not fit on all data.")
    ] = False,
    agent: Annotated[
        bool, typer.Option("--agent", help="Also train CERec's agent on the default recommender.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue after a kill, with the settings of its start."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Start over, whatever run the folder holds.")
    ] = False,
    format: Format = None,
    columns: Columns = None,
    delimiter: Delimiter = None,
    option: Options = None,
) -> None:
    """Train a recommender: the readable default, or the paper's system.

    Examples: cerec train demo --out runs/demo
    cerec train demo --out runs/paper --preset paper
    """
    from cerec.checkpoint import find_checkpoint
    from cerec.data.load import load
    from cerec.runs.train import train as fit

    if resume and force:
        raise ConfigError("--resume continues, --force starts over; give one of the two")
    origin = origin_of(out_folder) if resume else None
    below = origin[0] if origin else None
    asked = [f"model.{name}=true" for name, on in (("holdout", holdout), ("agent", agent)) if on]
    tables = apply_sets({}, (sets or []) + asked)
    settings = RunConfig.of(tables, preset=start, file=config, model=model, below=below)
    if origin and seed is None:
        seed = origin[1]
    dataset = load(data, format=format, **reading(option, columns, delimiter))
    for note in dataset.notes:
        remark(note)
    with progress() as bar:
        meter = Meter(bar, settings.train.metric)
        try:
            run = fit(
                dataset,
                settings,
                seed=seed or 0,
                out=out_folder,
                resume=resume,
                force=force,
                on_row=meter,
            )
        except KeyboardInterrupt:  # before the first epoch or after the last
            if not find_checkpoint(out_folder / "checkpoint"):
                raise
            raise KeyboardInterrupt("go on with the same command and --resume") from None
    tell(run, out_folder, "saved" if meter.epochs else "finished before:")
    if not run.meta["finished"]:
        raise typer.Exit(130)


class Meter:
    """Shows the rows of a training: a bar on a terminal, elsewhere a line for every look."""

    def __init__(self, bar: Progress, metric: str) -> None:
        self.epochs = 0
        self._bar, self._metric = bar, metric
        self._task = bar.add_task("training", total=None, note="")

    def __call__(self, row: dict[str, Any]) -> None:
        """Show one row."""
        self.epochs += 1
        phase, note = str(row["phase"]), figures(row, ("loss", "reward", self._metric))
        if row["epoch"] == 1:
            self._bar.reset(self._task)  # the speed is that of this phase
        self._bar.update(
            self._task, description=phase, total=row["until"], completed=row["epoch"], note=note
        )
        if not err.is_terminal and (phase == "agent" or self._metric in row):
            remark(f"{phase} epoch {row['epoch']} of {row['until']}: {figures(row)}")


def tell(run: Run, folder: Path, done: str) -> None:
    """What came of a training, and what to do next."""
    from cerec.checkpoint import find_checkpoint

    first = run.data.users[int((run.split.train.counts > 0).argmax())]  # of whom something is known
    words = shlex.join(["cerec", "recommend", str(folder), "--user", first])
    best = run.meta.get("best_epoch", -1)
    remark(f"{done} {folder}{f', as of epoch {best}' if best > 0 else ''}; try: {words}")
    held = run.split.valid.size + run.split.test.size
    if held and run.known.size == run.split.train.size:
        remark(f"{held:,} held-out pairs are not known: lists may name what a user already has")
    if run.metrics:
        show_metrics(run)
    else:
        remark("nothing is held out of this data, so nothing says how good the lists are")
    for row in run.history[-1:]:
        if "learned" in row:
            walks = f"its step earns {row['drawn']:.2f}, a random one {row['uniform']:.2f}"
            remark(f"the agent: {walks}, the best {row['best']:.2f} ({row['learned']:.0%} learned)")
    if "chosen" in run.meta:
        tell_chosen(run)
        return
    metric = run.config.train.metric
    looks = [row[metric] for row in run.history if metric in row]
    if not run.meta["finished"]:
        last = f"its last state, {'of the warm-up' if looks else 'not yet validated'},"
        state = "the best so far" if best > 0 else last
        again = "Go on with the same command and --resume"
        if not find_checkpoint(folder / "checkpoint"):
            again = "It cannot be continued; --force starts over"
        remark(f"stopped; {state} is saved. {again}")
    elif best == run.config.train.epochs and len(looks) > 1 and looks[-1] > looks[-2]:
        more = f"--set train.epochs={2 * best} --force"
        remark(f"{metric} of validation still rose; more epochs may help: {more}")


def tell_chosen(run: Run) -> None:
    """What validation chose for the default recommender, in two lines."""
    chosen, weights = run.meta["chosen"], run.meta["chosen"]["weights"]
    heavy = sorted(chosen["relations"].items(), key=lambda pair: -pair[1])[:3]
    names = [run.data.relations.name(run.data.relations.row(r)) for r, w in heavy if w > 0]
    says = f"relations that say most: {', '.join(names)}" if names else "attributes say nothing"
    factors = "with factors" if chosen["factors"] else "without factors"
    remark(f"chosen by {chosen['looks'] + weights['looks']} looks at validation: {factors}; {says}")
    kinds = {"none": "alike", "rating": "by their rating", "log": "by the logarithm of the rating"}
    age = weights["half_life"]
    ages = f", half after {age / 86_400:.3g} days" if age else ""
    remark(f"interactions count {kinds[weights['kind']]}{ages}")
    if left := chosen["values"]["left_out"]:
        remark(f"{left:,} values are on fewer than {SUPPORT} items and are left out")
    if run.meta["refitted"]:
        remark("the figures are of the model before it was fitted once more, on all interactions")


def origin_of(folder: Path) -> tuple[RunConfig, int] | None:
    """Settings and seed of the training that a folder holds the beginning of."""
    from cerec.runs.training import read_origin

    if not (folder / "origin.json").exists():
        return None
    origin = read_origin(folder)
    return parse(RunConfig, origin["config"]), origin["seed"]


def figures(row: dict[str, Any], names: Sequence[str] = ()) -> str:
    """Figures of a history row in a few words: these, or loss, reward and those of validation."""
    names = names or ("loss", "reward", *(name for name in row if "@" in name))
    found = ((name, row.get(name)) for name in names)
    return "  ".join(f"{n} {x:.4f}" for n, x in found if isinstance(x, float) and isfinite(x))


def show_metrics(run: Run) -> None:
    """The table of a run's figures on the held-out parts."""
    title = f"{run.data.name}: held out, mean over users"
    table = Table(title=title, min_width=len(title))
    table.add_column("")
    for part in run.metrics:
        table.add_column(part, justify="right")
    for name in dict.fromkeys(n for part in run.metrics.values() for n in part):
        cells = [values.get(name) for values in run.metrics.values()]
        table.add_row(name, *(f"{c:.4f}" if isinstance(c, float) else f"{c:,}" for c in cells))
    out.print(table)
