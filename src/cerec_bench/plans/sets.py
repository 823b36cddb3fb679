"""The data of experiments: by name, filtered and split the same way for every cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cerec.data.dataset import Dataset
from cerec.data.filters import apply
from cerec.data.load import load
from cerec.data.restrict import restrict
from cerec.data.split import Split, split, with_parts
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError, DataError
from cerec.rng import generator
from cerec.settings.base import parse
from cerec.settings.run import RunConfig, read_toml

SPLIT_SEED = 0
_WORLD_SEED = 7


@dataclass(frozen=True, slots=True)
class SetSpec:
    """A data set: a folder of that name below `--data`, or a generated world."""

    name: str
    title: str
    settings: dict[str, Any]
    world: dict[str, Any] | None = None
    """Sizes of a generated world; None for real data."""
    folder: str = ""
    """Of real data, where it is not the set's name."""
    users: int = 0
    """Users drawn at random, the same for every system; 0: all."""


def read_sets(path: Path) -> dict[str, SetSpec]:
    """The data sets of a file."""
    out = {}
    for name, entry in read_toml(path).items():
        known(path, f"[{name}]", entry, ("title", "settings", "world", "folder", "users"))
        rest = {key: entry[key] for key in ("world", "folder", "users") if key in entry}
        out[name] = SetSpec(name, entry.get("title", name), entry.get("settings", {}), **rest)
    return out


def known(path: Path, where: str, table: Any, allowed: tuple[str, ...]) -> None:
    """Refuse keys that nothing reads."""
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {where} must be a table, got {table!r}")
    for key in table:
        if key not in allowed:
            raise ConfigError(
                f"{path}: unknown key {key!r} in {where}; known: {', '.join(allowed)}"
            )


@dataclass(slots=True)
class Library:
    """Hands out data sets; the last one read is kept, since cells come set by set."""

    sets: dict[str, SetSpec]
    folder: Path | None = None
    """Where real data is; None when none was given."""
    _kept: dict[str, Any] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether the data is there."""
        spec = self.sets[name]
        if spec.world is not None:
            return True
        return self.folder is not None and (self.folder / (spec.folder or name)).is_dir()

    def whole(self, name: str) -> Dataset:
        """The data as it came."""
        if name not in self._kept:
            self._kept = {name: self._read(self.sets[name])}
        data: Dataset = self._kept[name]
        return data

    def parted(self, name: str, config: RunConfig) -> tuple[Dataset, Split]:
        """The data filtered, every pair marked train, validation or test; and the parts.

        The split has a seed of its own: the seeds of an experiment learn from the same parts.
        """
        whole = self.whole(name)
        key = repr((name, config.filters, config.split))
        if key not in self._kept:
            data, _ = apply(whole, config.filters)
            parts = split(data, config.split, seed=SPLIT_SEED)
            self._kept = {name: whole, key: (with_parts(data, parts), parts)}
        parted: tuple[Dataset, Split] = self._kept[key]
        return parted

    def _read(self, spec: SetSpec) -> Dataset:
        if spec.world is not None:
            config = parse(WorldConfig, spec.world, f"{spec.name}.world")
            return make_world(config, seed=_WORLD_SEED, name=spec.name)
        if self.folder is None:
            raise ConfigError(
                f"{spec.name} is real data: give its folder with --data, or try --quick"
            )
        path = self.folder / (spec.folder or spec.name)
        if not path.is_dir():
            raise DataError(
                f"{path}: no such folder; --data must hold a folder {spec.name}, or leave the set "
                "out with --sets"
            )
        data = load(path)
        if not spec.users:
            return data
        keep = np.zeros(len(data.users), np.bool_)
        some = min(spec.users, len(keep))
        keep[generator(SPLIT_SEED, "sets/users").choice(len(keep), some, replace=False)] = True
        return restrict(data, users=keep)
