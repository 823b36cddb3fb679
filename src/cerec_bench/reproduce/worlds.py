"""The data of an experiment: by name, filtered and split the same way for every cell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cerec.data.dataset import Dataset
from cerec.data.filters import apply
from cerec.data.load import load
from cerec.data.split import split, with_parts
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError, DataError
from cerec.settings.base import parse
from cerec_bench.reproduce.plan import Cell, SetSpec

SPLIT_SEED = 0
_WORLD_SEED = 7


@dataclass(slots=True)
class Library:
    """Hands out data sets; the last one read is kept, since cells come set by set."""

    sets: dict[str, SetSpec]
    folder: Path | None
    """Where real data is; None when none was given."""
    _kept: tuple[str, Dataset] | None = None
    _parted: tuple[object, Dataset] | None = None

    def has(self, name: str) -> bool:
        """Whether the data is there."""
        if self.sets[name].world is not None:
            return True
        return self.folder is not None and (self.folder / name).is_dir()

    def whole(self, name: str) -> Dataset:
        """The data as it came."""
        if self._kept is None or self._kept[0] != name:
            self._kept = (name, self._read(self.sets[name]))
        return self._kept[1]

    def parted(self, cell: Cell) -> Dataset:
        """The data of a cell, filtered, every pair marked train, validation or test.

        The split has a seed of its own: the seeds of an experiment learn from the same parts.
        """
        config = cell.config
        key = (cell.set, config.filters, config.split)
        if self._parted is None or self._parted[0] != key:
            data, _ = apply(self.whole(cell.set), config.filters)
            parts = split(data, config.split, seed=SPLIT_SEED)
            self._parted = (key, with_parts(data, parts))
        return self._parted[1]

    def _read(self, spec: SetSpec) -> Dataset:
        if spec.world is not None:
            config = parse(WorldConfig, spec.world, f"{spec.name}.world")
            return make_world(config, seed=_WORLD_SEED, name=spec.name)
        if self.folder is None:
            raise ConfigError(
                f"{spec.name} is real data: give its folder with --data, or try --quick"
            )
        path = self.folder / spec.name
        if not path.is_dir():
            raise DataError(
                f"{path}: no such folder; --data must hold a folder {spec.name}, or leave the set "
                "out with --sets"
            )
        return load(path)
