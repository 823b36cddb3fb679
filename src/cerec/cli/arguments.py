"""Arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cerec.errors import ConfigError


def named(value: str | Path) -> Path:
    """A path to write to; an empty one would be the folder one stands in."""
    if not str(value):
        raise typer.BadParameter("is empty; give a name")
    return Path(value)


RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A folder made by `cerec train`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def pair_given(text: str) -> tuple[str, str]:
    """The two sides of RELATION=ATTRIBUTE."""
    relation, equals, attribute = text.partition("=")
    if not equals:
        raise ConfigError(f"expected RELATION=ATTRIBUTE, got {text!r}")
    return relation, attribute
