"""Tables written by the command line."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cerec.errors import ConfigError
from cerec.files import refuse_folder, replacing
from cerec.runs.folder import FILES


def refuse_other_tables(
    option: str, path: Path, kinds: tuple[str, ...] = (".parquet", ".csv")
) -> None:
    """Refuse a folder, a file that is not to be such a table, and one that a run is made of."""
    refuse_folder(path)
    if path.suffix.lower() not in kinds:
        raise ConfigError(f"{option} must end in {' or '.join(kinds)}, got {str(path)!r}")
    if path.name in FILES and (path.parent / "run.json").exists():
        raise ConfigError(f"{path}: is part of the run in that folder; choose another {option}")


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write aside, then rename; the kind of table by the end of its name."""
    with replacing(path) as target:
        if path.suffix.lower() == ".csv":
            frame.write_csv(target)
        else:
            frame.write_parquet(target)
