"""Arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cerec.errors import ConfigError

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A folder made by `cerec train`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def pair_given(text: str) -> tuple[str, str]:
    """The two sides of RELATION=ATTRIBUTE."""
    relation, equals, attribute = text.partition("=")
    if not equals:
        raise ConfigError(f"expected RELATION=ATTRIBUTE, got {text!r}")
    return relation, attribute
