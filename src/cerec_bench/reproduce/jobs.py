"""What a kind of measurement is given, and the table of kinds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from cerec.data.dataset import Dataset
from cerec.runs.run import Run
from cerec.runs.train import train
from cerec.settings.data import FilterConfig
from cerec.settings.run import to_table
from cerec_bench.reproduce.plan import Cell, Table, digest
from cerec_bench.reproduce.worlds import Library


@dataclass(eq=False)
class Job:
    """One cell with the data it asks for."""

    cell: Cell
    library: Library
    folder: Path
    """The folder of the experiment's results."""
    work: Path
    """Room for what a later cell, or a second try of this one, can use."""
    note: Callable[[str], None]
    """Told what goes on, for people who watch."""

    @cached_property
    def data(self) -> Dataset:
        """The data, filtered and split."""
        return self.library.parted(self.cell)

    def option(self, name: str, default: Any) -> Any:
        """An option of the part."""
        return self.cell.options.get(name, default)

    def trained(self, *, agent: bool, keep: bool) -> Run:
        """The run of the cell's settings; without `agent`, of its recommender alone.

        Training leaves checkpoints in `work` and goes on from them after a kill. With `keep` the
        run stays there, for other cells with the same recommender.
        """
        config = replace(self.cell.config, filters=FilterConfig())
        if not agent:
            plain = type(config)()
            config = replace(
                config,
                agent=plain.agent,
                encoder=plain.encoder,
                train=replace(config.train, agent_epochs=0),
            )
        key = digest([self.data.fingerprint, to_table(config), self.cell.seed, agent])
        folder = self.work / f"{self.cell.set}-{key}"
        run = train(
            self.data, config, seed=self.cell.seed, out=folder, resume=True, on_row=self._row
        )
        if not run.meta["finished"]:
            raise KeyboardInterrupt  # training keeps its best state; a cell wants all of it
        if not keep:
            shutil.rmtree(folder)
        return run

    def _row(self, row: dict[str, Any]) -> None:
        self.note(f"{row['phase']} epoch {row['epoch']}")


Measure = Callable[[Job], Table]
"""Computes what a cell asks for: JSON values."""
