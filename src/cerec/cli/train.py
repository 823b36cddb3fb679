"""`cerec train`, `cerec recommend`, `cerec evaluate`."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from rich.table import Table

from cerec.cli.console import out, print_json, progress, remark
from cerec.config import PRESETS, RunConfig, apply_sets, parse, preset, read_toml
from cerec.errors import ConfigError, near_matches
from cerec.evaluate.ranking import PerUser, mean
from cerec.files import replacing
from cerec.recommend.compared.registry import SYSTEMS
from cerec.recommend.config import MODELS
from cerec.run import Run, open_run

RunFolder = Annotated[Path, typer.Argument(help="A run folder, made by `cerec train`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def read_config(
    path: Path | None,
    sets: list[str],
    model: str | None = None,
    start: str | None = None,
) -> RunConfig:
    """The settings of a preset (`start`), then of a file, then `model` and `--set`, on top."""
    table: dict[str, Any] = preset(start) if start else {}
    for section, values in (read_toml(path) if path else {}).items():
        below = table.get(section, {})
        table[section] = {**below, **values} if isinstance(values, dict) else values
    known = (*MODELS, *SYSTEMS)
    if model is not None and model not in known:
        hint = near_matches(model, known, most=1) or known
        raise ConfigError(f"unknown --model {model!r}; did you mean {' or '.join(hint)}?")
    other = [name for name in table if name in SYSTEMS and model not in (None, name)]
    if other:
        raise ConfigError(f"--model {model} and the table [{other[0]}] of {path} name two models")
    if model in SYSTEMS:
        table.setdefault(str(model), {})
    elif model is not None:
        table["recommender"] = {**table.get("recommender", {}), "model": model}
    return parse(RunConfig, apply_sets(table, sets))


def train(
    data: Annotated[str, typer.Argument(help="`demo`, `ml-100k`, or a folder of data.")],
    out_folder: Annotated[Path, typer.Option("--out", help="Where the run folder goes.")],
    config: Annotated[Path | None, typer.Option(help="Settings, a TOML file.")] = None,
    model: Annotated[
        str | None,
        typer.Option(help=f"One of: {', '.join((*MODELS, *SYSTEMS))}."),
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
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on after a kill, with the settings it was begun with."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a finished run.")] = False,
    format: Annotated[str | None, typer.Option(help="kgat, recbole or tables.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Reader option name=value, e.g. bins=price:5.")
    ] = None,
) -> None:
    """Train a recommender and the agent that explains it.

    Example: cerec train demo --out runs/demo --set train.epochs=50
    """
    from cerec.data.load import load, parse_options
    from cerec.pipeline import train as fit

    settings = read_config(config, sets or [], model=model, start=start)
    if resume and settings == RunConfig() and (begun := begun_with(out_folder)):
        settings, seed = begun[0], begun[1] if seed is None else seed
    dataset = load(data, format=format, **parse_options(option or []))
    with progress() as bar:
        task = bar.add_task("training", total=settings.train.epochs, note="")
        epochs: list[int] = []

        def show(row: dict[str, Any]) -> None:
            epochs.append(row["epoch"])
            total = settings.train.epochs
            if row["phase"] == "agent":
                total = settings.train.agent_epochs
            bar.update(
                task,
                description=f"training the {row['phase']}",
                completed=row["epoch"],
                total=total,
                note=figures(row),
            )

        run = fit(
            dataset,
            settings,
            seed=seed or 0,
            out=out_folder,
            resume=resume,
            force=force,
            on_row=show,
        )
    words = shlex.join(["cerec", "recommend", str(out_folder), "--user", run.data.users[0]])
    best = run.meta.get("best_epoch", -1)
    done = "saved" if epochs else "finished before:"
    remark(f"{done} {out_folder}{f', as of epoch {best}' if best > 0 else ''}; try: {words}")
    if run.metrics:
        show_metrics(run)
    if not run.meta["finished"]:
        remark("stopped; the best so far is saved. Go on with the same command and --resume")
        raise typer.Exit(130)


def begun_with(folder: Path) -> tuple[RunConfig, int] | None:
    """Settings and seed of the training that a folder holds the beginning of."""
    from cerec.files import read_json

    if not (folder / "begun.json").exists():
        return None
    begun = read_json(folder / "begun.json")
    return parse(RunConfig, tomllib.loads(begun["config"])), int(begun["seed"])


def figures(row: dict[str, Any]) -> str:
    """The figures of a history row in a few words."""
    names = ("loss", "reward", "recall@20", "ndcg@20")
    return "  ".join(f"{n} {row[n]:.4f}" for n in names if isinstance(row.get(n), float))


def show_metrics(run: Run) -> None:
    """The table of a run's figures on the held-out parts."""
    table = Table(title=f"{run.data.name}: held out, mean over users")
    table.add_column("")
    for part in run.metrics:
        table.add_column(part, justify="right")
    for name in dict.fromkeys(n for part in run.metrics.values() for n in part):
        cells = [values.get(name) for values in run.metrics.values()]
        table.add_row(name, *(f"{c:.4f}" if isinstance(c, float) else f"{c:,}" for c in cells))
    out.print(table)


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
    if user is not None:
        listed = run.recommend(user, k)
    else:
        listed = run.recommend_for([item.strip() for item in (items or "").split(",")], k)
    if json:
        print_json([asdict(line) for line in listed])
        return
    table = Table(title=f"top {len(listed)} for {user or 'somebody new'}")
    for name in ("rank", "item", "name", "score"):
        table.add_column(name, justify="right" if name in ("rank", "score") else "left")
    for line in listed:
        table.add_row(str(line.rank), line.item, line.name, f"{line.score:.4f}")
    out.print(table)


def write_all(run: Run, k: int, path: Path) -> None:
    """Every user's list as one table."""
    _refuse_other_tables("--out", path)
    users: list[str] = []
    lines = []
    with progress() as bar:
        for user in bar.track(run.data.users, description="lists"):
            listed = run.recommend(user, k)
            users += [user] * len(listed)
            lines += listed
    frame = pl.DataFrame({"user": users, **{c: [getattr(x, c) for x in lines] for c in _COLUMNS}})
    _write_table(frame, path)
    remark(f"wrote {len(frame):,} lines for {len(run.data.users):,} users to {path}")


_COLUMNS = ("item", "name", "score", "rank")


def _refuse_other_tables(option: str, path: Path) -> None:
    if path.suffix not in (".parquet", ".csv"):
        raise ConfigError(f"{option} must end in .parquet or .csv, got {str(path)!r}")


def _write_table(frame: pl.DataFrame, path: Path) -> None:
    with replacing(path) as target:
        if path.suffix == ".csv":
            frame.write_csv(target)
        else:
            frame.write_parquet(target)


def evaluate(
    run_folder: RunFolder,
    part: Annotated[str, typer.Option(help="test or valid.")] = "test",
    k: Annotated[str, typer.Option("--k", help="List lengths, comma-separated.")] = "20,40,60,80",
    per_user: Annotated[
        Path | None, typer.Option(help="Figures of every user to a .parquet or .csv file.")
    ] = None,
    json: Json = False,
) -> None:
    """Recall, NDCG, HR, precision, MRR and MAP on a held-out part, known items masked.

    Example: cerec evaluate runs/demo --k 10,20 --per-user users.parquet
    """
    from cerec.pipeline import evaluate_run

    if part not in ("test", "valid"):
        raise ConfigError(f"--part must be test or valid, got {part!r}")
    try:
        lengths = sorted({int(x) for x in k.split(",")})
    except ValueError:
        raise ConfigError(f"--k takes whole numbers separated by commas, got {k!r}") from None
    if lengths[0] < 1:
        raise ConfigError(f"--k takes whole numbers of at least 1, got {k!r}")
    if per_user is not None:
        _refuse_other_tables("--per-user", per_user)
    run = open_run(run_folder)
    if (run.split.valid if part == "valid" else run.split.test).size == 0:
        raise ConfigError(
            f"{run_folder}: its {part} part is empty; there is nothing to compare with"
        )
    values = evaluate_run(run, part, lengths)
    if per_user is not None:
        _write_table(pl.DataFrame({"user": run.data.users.ids, **values}), per_user)
    means = mean(values)
    if json:
        print_json({"part": part, "users": users_with_value(values), **means})
        return
    table = Table(title=f"{run.data.name}, {part}: mean over {users_with_value(values):,} users")
    table.add_column("K", justify="right")
    names = list(dict.fromkeys(key.partition("@")[0] for key in means))
    for name in names:
        table.add_column(name, justify="right")
    for length in lengths:
        table.add_row(str(length), *(f"{means[f'{name}@{length}']:.4f}" for name in names))
    out.print(table)


def users_with_value(values: PerUser) -> int:
    """How many users a mean is over."""
    return int((~np.isnan(next(iter(values.values())))).sum())
