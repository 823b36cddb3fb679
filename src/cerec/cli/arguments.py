"""Arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A folder made by `cerec train`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
