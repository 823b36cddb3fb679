"""Experiments as TOML files, and the cells they ask for.

A file `NAME.toml` holds parts; a part crosses data sets, variants of the settings, and seeds:

    title = "What depth does"
    page = "depth"

    [[part]]
    name = "recommender"
    kind = "recommender"
    sets = ["ml-100k"]
    seeds = 3
    [part.settings]
    "signals.counterfactuals" = "literal"
    [part.options]
    users = 300
    [part.variants."T = 2"]
    "agent.depth" = 2

    [quick]
    sets = ["small"]

`settings` are those of a run, `section.key`; those of the set come before them, those of a variant
after. `options` are the kind's own. `[quick]` may replace sets and seeds of every part and adds
settings and options to them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cerec.errors import ConfigError, near_matches
from cerec.settings.base import parse
from cerec.settings.run import RunConfig, preset_tables, read_toml

EXPERIMENTS = Path(__file__).parent / "experiments"
"""The experiments of the paper, which come with the package."""
Table = dict[str, Any]
WHOLE = ("grid", "consistency")
"""Kinds that measure a whole set at once and keep cells of their own: one file per set, as
`cerec bench compare` and `cerec bench explanations` write it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One computation: a kind of measurement on one set, with one variant and one seed."""

    part: str
    kind: str
    set: str
    variant: str
    seed: int
    settings: Table = field(hash=False)
    """`section.key` settings of the run: set, part and variant together."""
    options: Table = field(hash=False)

    @property
    def file(self) -> str:
        """Where its result is kept, below the folder of its experiment."""
        if self.kind in WHOLE:
            return f"{self.set}.json"
        name = slug(self.variant) or self.part
        return f"{self.part}/{self.set}/{name}.{self.seed}.json"

    @property
    def depends(self) -> Table:
        """All that the result depends on, beside the data."""
        return {
            "kind": self.kind,
            "set": self.set,
            "variant": self.variant,
            "seed": self.seed,
            "settings": self.settings,
            "options": self.options,
        }

    @property
    def config(self) -> RunConfig:
        """The settings as those of a run."""
        return run_config(self.settings)


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of measurement, crossed with sets, variants and seeds."""

    name: str
    kind: str
    sets: tuple[str, ...]
    seeds: int
    variants: Mapping[str, Table]
    settings: Table
    options: Table


@dataclass(frozen=True, slots=True)
class SetSpec:
    """A data set: a folder of that name below `--data`, or a generated world."""

    name: str
    title: str
    settings: Table
    world: Table | None = None
    """Sizes of a generated world; None for real data."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One file."""

    name: str
    title: str
    page: str
    """Name of the page, without its suffix."""
    parts: tuple[Part, ...]
    sets: Mapping[str, SetSpec]
    paper: Table
    """The paper's own numbers, for the page."""

    def cells(self) -> list[Cell]:
        """Everything to compute: one seed of everything first."""
        most = max((part.seeds for part in self.parts), default=0)
        return [
            Cell(
                part.name,
                part.kind,
                name,
                variant,
                seed,
                {**self.sets[name].settings, **part.settings, **settings},
                part.options,
            )
            for seed in range(most)
            for part in self.parts
            if seed < part.seeds
            for name in part.sets
            for variant, settings in part.variants.items()
        ]


def names(folder: Path = EXPERIMENTS) -> list[str]:
    """The experiments of a folder."""
    found = sorted(p.stem for p in folder.glob("*.toml") if p.stem != "sets")
    if not found:
        raise ConfigError(f"{folder}: holds no experiments; expected NAME.toml files")
    first = [n for n in ("table1", "table2", "table3") if n in found]
    return first + [n for n in found if n not in first]


def read_experiment(name: str, folder: Path = EXPERIMENTS, *, quick: bool = False) -> Experiment:
    """The experiment of that name; every setting is checked before anything runs."""
    known = names(folder)
    if name not in known:
        hint = near_matches(name, known, most=1)
        raise ConfigError(
            f"unknown experiment {name!r}; "
            + (f"did you mean {hint[0]!r}?" if hint else f"there are {', '.join(known)} and all")
        )
    path = folder / f"{name}.toml"
    table = read_toml(path)
    _known(path, "the file", table, ("title", "page", "paper", "part", "quick"))
    over = table.get("quick", {}) if quick else {}
    _known(path, "[quick]", over, ("sets", "seeds", "settings", "options"))
    sets = read_sets(folder)
    parts = tuple(_part(path, entry, over) for entry in table.get("part", []))
    for part in parts:
        for one in part.sets:
            if one not in sets:
                raise ConfigError(f"{path}: unknown set {one!r}; sets.toml holds {', '.join(sets)}")
    found = Experiment(
        name, table["title"], table.get("page", name), parts, sets, table.get("paper", {})
    )
    for cell in found.cells():
        run_config(cell.settings)
    return found


def read_sets(folder: Path = EXPERIMENTS) -> dict[str, SetSpec]:
    """The data sets of `sets.toml`."""
    path = folder / "sets.toml"
    out = {}
    for name, entry in read_toml(path).items():
        _known(path, f"[{name}]", entry, ("title", "settings", "world"))
        settings = entry.get("settings", {})
        out[name] = SetSpec(name, entry.get("title", name), settings, entry.get("world"))
    return out


def _part(path: Path, entry: Any, over: Table) -> Part:
    allowed = ("name", "kind", "sets", "seeds", "variants", "settings", "options")
    _known(path, "[[part]]", entry, allowed)
    for needed in ("kind", "sets"):
        if needed not in entry:
            raise ConfigError(f"{path}: every [[part]] needs {needed!r}")
    return Part(
        entry.get("name", entry["kind"]),
        entry["kind"],
        tuple(over.get("sets", entry["sets"])),
        over.get("seeds", entry.get("seeds", 1)),
        entry.get("variants", {"": {}}),
        {**entry.get("settings", {}), **over.get("settings", {})},
        {**entry.get("options", {}), **over.get("options", {})},
    )


def _known(path: Path, where: str, table: Any, allowed: tuple[str, ...]) -> None:
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {where} must be a table, got {table!r}")
    for key in table:
        if key not in allowed:
            raise ConfigError(
                f"{path}: unknown key {key!r} in {where}; known: {', '.join(allowed)}"
            )


def run_config(settings: Table) -> RunConfig:
    """Run settings from `section.key` entries, on top of those of the paper's system."""
    tables: dict[str, Table] = preset_tables("paper")
    for name, value in settings.items():
        section, dot, key = name.partition(".")
        if not dot:
            raise ConfigError(f"settings are written section.key, got {name!r}")
        tables.setdefault(section, {})[key] = value
    return parse(RunConfig, tables)


def slug(name: str) -> str:
    """A file name."""
    text = "".join(c if c.isalnum() else "-" for c in name.casefold())
    return "-".join(part for part in text.split("-") if part)


def digest(value: Any) -> str:
    """A short name of any JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
