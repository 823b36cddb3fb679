"""Tables written by the command line."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cerec.errors import ConfigError
from cerec.files import refuse_folder, replacing


def refuse_other_tables(option: str, path: Path) -> None:
    """Refuse a folder, and a file that is not to be a Parquet or CSV table."""
    refuse_folder(path)
    if path.suffix.lower() not in (".parquet", ".csv"):
        raise ConfigError(f"{option} must end in .parquet or .csv, got {str(path)!r}")


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write aside, then rename; the kind of table by the end of its name."""
    with replacing(path) as target:
        if path.suffix.lower() == ".csv":
            frame.write_csv(target)
        else:
            frame.write_parquet(target)
