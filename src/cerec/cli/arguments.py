"""Arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cerec.errors import ConfigError
from cerec.runs.run import Run


def named(value: str | Path) -> Path:
    """A path to write to; an empty one would be the folder one stands in."""
    if not str(value):
        raise typer.BadParameter("is empty; give a name")
    return Path(value)


RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A folder made by `cerec train`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Format = Annotated[
    str | None, typer.Option("--format", help="kgat, recbole or tables; found out if not given.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="ROLE=HEADER,...", help="Headers of tables: user=uid,item=movie_id,timestamp=when."
    ),
]
Delimiter = Annotated[
    str | None, typer.Option(help="Between fields: comma, semicolon, tab or a character.")
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-o", help="For the reader: bins=price:5, lists=genre:comma, kg=FILE, ..."
    ),
]


def reading(option: list[str] | None, columns: str | None, delimiter: str | None) -> dict[str, Any]:
    """The options of a reader."""
    from cerec.data.load import parse_options

    return parse_options(option or [], columns=columns, delimiter=delimiter)


History = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ITEM,ITEM", help="In place of a user: what somebody new has. Repeatable."
    ),
]


def history_of(run: Run, texts: list[str]) -> list[str]:
    """The ids in each text; one that is an id as it stands may hold commas."""
    found: list[str] = []
    for text in texts:
        parts = [text] if text in run.data.items else text.split(",")
        found += [name for part in parts if (name := part.strip())]
    if not found:
        raise ConfigError(f"--history takes item ids, comma-separated, got {', '.join(texts)!r}")
    return found


def pair_given(text: str) -> tuple[str, str]:
    """The two sides of RELATION=ATTRIBUTE."""
    relation, equals, attribute = text.partition("=")
    if not equals:
        raise ConfigError(f"expected RELATION=ATTRIBUTE, got {text!r}")
    return relation, attribute
