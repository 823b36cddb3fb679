"""`cerec evaluate`: figures of a run on a held-out part."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer
from rich.table import Table

from cerec.cli.arguments import Json, RunFolder, named
from cerec.cli.console import out, print_json, remark
from cerec.cli.tables import refuse_other_tables, write_table
from cerec.errors import ConfigError
from cerec.metrics import PerUser, mean
from cerec.runs.run import open_run


def evaluate(
    run_folder: RunFolder,
    part: Annotated[str, typer.Option(help="test or valid.")] = "test",
    k: Annotated[
        str, typer.Option("-k", "--k", help="List lengths, comma-separated.")
    ] = "20,40,60,80",
    per_user: Annotated[
        Path | None,
        typer.Option(
            parser=named, metavar="PATH", help="Figures of every user to a .parquet or .csv file."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Recall, NDCG, HR, precision, MRR and MAP on a held-out part, known items masked.

    Example: cerec evaluate runs/demo --k 10,20 --per-user users.parquet
    """
    from cerec.runs.evaluate import evaluate_run

    if part not in ("test", "valid"):
        raise ConfigError(f"--part must be test or valid, got {part!r}")
    try:
        lengths = sorted({int(x) for x in k.split(",")})
    except ValueError:
        raise ConfigError(f"--k takes whole numbers separated by commas, got {k!r}") from None
    if lengths[0] < 1:
        raise ConfigError(f"--k takes whole numbers of at least 1, got {k!r}")
    if per_user is not None:
        refuse_other_tables("--per-user", per_user)
    run = open_run(run_folder)
    if (run.split.valid if part == "valid" else run.split.test).size == 0:
        raise ConfigError(
            f"{run_folder}: its {part} part is empty; there is nothing to compare with"
        )
    values = evaluate_run(run, part, lengths)
    if per_user is not None:
        write_table(pl.DataFrame({"user": run.data.users.ids, **values}), per_user)
        remark(f"wrote figures of {len(run.data.users):,} users to {per_user}")
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
