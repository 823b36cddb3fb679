"""The history as TensorBoard events, for those who have it installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cerec.errors import ConfigError


class Board:
    """Writes every figure of a history row as a scalar, one series per phase."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ConfigError(
                "train.tensorboard = true needs TensorBoard: pip install 'cerec[tensorboard]'"
            ) from None
        self._writer: Any = SummaryWriter(str(folder))

    def __call__(self, row: dict[str, Any]) -> None:
        """Take one row of the history."""
        for name, value in row.items():
            if isinstance(value, float):
                self._writer.add_scalar(f"{row['phase']}/{name}", value, row["epoch"])

    def close(self) -> None:
        """Write out what is pending."""
        self._writer.close()
