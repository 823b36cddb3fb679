"""`cerec data`: check data, generate it, split it."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Annotated

import typer

from cerec.cli.arguments import Columns, Delimiter, Format, Json, Options, named, reading
from cerec.cli.console import out, print_json, remark
from cerec.cli.report import show_report
from cerec.data.check import check as check_data
from cerec.data.dataset import Dataset
from cerec.data.filters import apply
from cerec.data.load import load
from cerec.data.split import split as split_data
from cerec.data.split import with_parts
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.data.writer import write
from cerec.errors import DataError
from cerec.settings.base import parse, settings
from cerec.settings.data import FilterConfig, SplitConfig
from cerec.settings.run import apply_sets

app = typer.Typer(help="Check, make and split data.", no_args_is_help=True, rich_markup_mode="rich")

Source = Annotated[str, typer.Argument(help="`demo`, or a folder of data.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", help="filters.KEY=VALUE or split.KEY=VALUE, as in filters.k_core=10."),
]
Out = Annotated[Path, typer.Option("--out", parser=named, metavar="PATH", help="A new folder.")]
OutFormat = Annotated[str, typer.Option("--to", help="tables (CSV) or parquet.")]
Seed = Annotated[int, typer.Option(help="Same seed, same result.")]


@settings("")
class Preparation:
    """What `--set` may set here."""

    filters: FilterConfig = field(default_factory=FilterConfig)
    split: SplitConfig = field(default_factory=SplitConfig)


def _filtered(data: Dataset, config: FilterConfig) -> Dataset:
    small, removed = apply(data, config)
    for one in removed:
        remark(str(one))
    return small


@app.command()
def check(
    source: Source,
    format: Format = None,
    columns: Columns = None,
    delimiter: Delimiter = None,
    option: Options = None,
    sets: Sets = None,
    json: Json = False,
) -> None:
    """Say what the data holds and what is wrong with it, worst first.

    With --set, check what is left after filtering.

    Example: cerec data check demo; cerec data check my/folder --set filters.k_core=10
    cerec data check my/shop --columns user=customer,item=article --delimiter semicolon
    """
    data = load(source, format=format, **reading(option, columns, delimiter))
    if sets:
        data = _filtered(data, parse(Preparation, apply_sets({}, sets)).filters)
    report = check_data(data)
    if json:
        print_json(report.to_dict())
    else:
        show_report(report, out)
    if not report.usable:
        worst = report.findings[0]
        raise DataError(f"{data.name}: cannot be used: {worst.what} {worst.remedy}")


@app.command()
def make(
    out_folder: Out,
    users: Annotated[int, typer.Option(help="People who watch.")] = 600,
    items: Annotated[int, typer.Option(help="Films.")] = 800,
    interactions: Annotated[int, typer.Option(help="Distinct user-item pairs.")] = 30_000,
    entities: Annotated[int | None, typer.Option(help="Attribute values, about.")] = None,
    relations: Annotated[int, typer.Option(help="Relations, at least 10.")] = 10,
    triples: Annotated[int | None, typer.Option(help="Facts, about.")] = None,
    seed: Seed = 0,
    to: OutFormat = "tables",
) -> None:
    """Generate a movie world in which every user's likes and dislikes are known.

    Example: cerec data make --users 2000 --items 1500 --interactions 90000 --out worlds/one
    """
    config = WorldConfig(
        users=users,
        items=items,
        interactions=interactions,
        entities=entities,
        relations=relations,
        triples=triples,
    )
    data = make_world(config, seed=seed, name=out_folder.name)
    remark(f"wrote {write(data, out_folder, to)}: {data!r}")


@app.command()
def split(
    source: Source,
    out_folder: Out,
    method: Annotated[
        str, typer.Option(help="auto, ratio, leave_one_out, time or given.")
    ] = "auto",
    format: Format = None,
    columns: Columns = None,
    delimiter: Delimiter = None,
    option: Options = None,
    sets: Sets = None,
    seed: Seed = 0,
    to: OutFormat = "tables",
) -> None:
    """Part the interactions into train, validation and test, and write the data so.

    Filters are applied first: repeats and inverse relations, and what --set filters.* asks for.

    Example: cerec data split demo --method time --out demo-by-time
    """
    table = apply_sets({"split": {"method": method}}, sets or [])
    config = parse(Preparation, table)
    given = load(source, format=format, **reading(option, columns, delimiter))
    data = _filtered(given, config.filters)
    parts = split_data(data, config.split, seed=seed)
    folder = write(with_parts(data, parts), out_folder, to)
    remark(
        f"wrote {folder}: {parts.train.size:,} train, {parts.valid.size:,} validation, "
        f"{parts.test.size:,} test pairs"
    )
