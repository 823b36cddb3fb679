"""`cerec data`: look at data, make it, get it, split it, turn it into another format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from cerec.cli.console import out, print_json, remark
from cerec.cli.report import show_report
from cerec.config import apply_sets, parse
from cerec.data.check import check as check_data
from cerec.data.dataset import Dataset
from cerec.data.filters import FilterConfig, apply
from cerec.data.get import SOURCES
from cerec.data.get import get as fetch
from cerec.data.load import load
from cerec.data.split import SplitConfig
from cerec.errors import ConfigError, DataError

app = typer.Typer(
    help="Check, get and prepare data.", no_args_is_help=True, rich_markup_mode="rich"
)

Source = Annotated[str, typer.Argument(help="`demo`, `ml-100k`, or a folder of data.")]
Format = Annotated[
    str | None, typer.Option("--format", help="kgat, recbole or tables; found out if not given.")
]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", help="An option of the reader: NAME=VALUE, as in train=mine.txt."),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", help="filters.KEY=VALUE or split.KEY=VALUE, as in filters.k_core=10."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """What `--set` may set here."""

    filters: FilterConfig = field(default_factory=FilterConfig)
    split: SplitConfig = field(default_factory=SplitConfig)


def read_options(texts: list[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` texts as a dictionary."""
    options: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ConfigError(f"--option takes NAME=VALUE, got {text!r}")
        options[name] = value
    return options


def _filtered(data: Dataset, config: FilterConfig) -> Dataset:
    small, removed = apply(data, config)
    for one in removed:
        remark(str(one))
    return small


@app.command()
def check(
    source: Source,
    format: Format = None,
    option: Options = None,
    sets: Sets = None,
    json: Json = False,
) -> None:
    """Say what the data holds and what is wrong with it, worst first.

    With --set, check what is left after filtering.

    Example: cerec data check demo; cerec data check my/folder --set filters.k_core=10
    """
    data = load(source, format=format, **read_options(option))
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
def get(name: Annotated[str, typer.Argument(help=f"One of: {', '.join(SOURCES)}.")]) -> None:
    """Fetch public data through pip's configuration, check it, keep it in the cache.

    Example: cerec data get ml-100k; cerec data check ml-100k
    """
    folder = fetch(name)
    remark(f"{name}: {SOURCES[name].terms}")
    out.print(str(folder), soft_wrap=True, markup=False)
