"""The history as TensorBoard events, for those who have it installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cerec.errors import ConfigError


def writer() -> Any:
    """TensorBoard's own writer; refuses where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError(
            "train.tensorboard = true needs TensorBoard: pip install 'cerec[tensorboard]'"
        ) from None
    return SummaryWriter


def drop_events(folder: Path) -> None:
    """Remove the events of an earlier training, so that two do not share one chart."""
    for path in folder.glob("events.out.tfevents.*"):
        path.unlink()


class Board:
    """Writes every figure of a history row as a scalar, one series per phase."""

    def __init__(self, folder: Path) -> None:
        self._writer: Any = writer()(str(folder))

    def __call__(self, row: dict[str, Any]) -> None:
        """Take one row of the history."""
        for name, value in row.items():
            if isinstance(value, float):
                self._writer.add_scalar(f"{row['phase']}/{name}", value, row["epoch"])

    def close(self) -> None:
        """Write out what is pending."""
        self._writer.close()
