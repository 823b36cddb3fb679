"""Experiments as TOML files: a function, crossed with data sets, variants and seeds.

    question = "Does a deeper walk help?"
    answer = "Recall@20 is {ml-100k|T = 1|test/recall@20|.4} with T = 1."
    how = ["The walked item is the negative."]

    [[part]]
    kind = "recommender"                        # of `cerec_bench.kinds`, or "module:function"
    sets = ["ml-100k"]                          # of sets.toml
    seeds = 3
    columns = {"recall@20" = "test/recall@20|.4", "changes" = "sizes/mean|.2"}
    chart = {x = "agent.depth", y = "test/recall@20"}
    [part.settings]
    "signals.counterfactuals" = "literal"
    [part.options]
    users = 300
    [part.variants."T = 1"]
    "agent.depth" = 1

    [quick]
    sets = ["small"]

`settings` are those of a run, `section.key`, on top of the paper's preset; those of the set come
before them, those of a variant after. `options` are the function's own. `[quick]` may replace sets
and seeds of every part and adds settings and options to them. `answer` quotes results as
`{set|variant|path|form}`; a form is `.4` (digits), `%.1` (per cent) or `,` (a whole number).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cerec.errors import ConfigError, near_matches
from cerec.settings.base import parse
from cerec.settings.run import COTRAINED, RunConfig, preset_tables, read_toml, to_table
from cerec_bench.cells import Table
from cerec_bench.plans.sets import SetSpec, known, read_sets

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
"""The experiments that come with the package."""
KINDS = ("causes", "data", "explainers", "forms", "readable", "recommender", "systems")
_KEYS = ("question", "answer", "how", "missing", "paper", "part", "quick")
_PART = ("name", "kind", "sets", "seeds", "variants", "settings", "options", "columns", "chart")


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One function, crossed with sets, variants and seeds."""

    name: str
    kind: str
    sets: tuple[str, ...]
    seeds: int
    variants: Mapping[str, Table]
    settings: Table
    options: Table
    columns: Mapping[str, str]
    chart: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Point:
    """What one cell is of."""

    part: Part
    set: str
    variant: str
    seed: int
    settings: Table = field(hash=False)
    """`section.key` settings of the run: set, part and variant together."""

    @property
    def config(self) -> RunConfig:
        """The settings as those of a run."""
        return run_config(self.settings)

    @property
    def name(self) -> str:
        """Of its cell."""
        words = [self.part.name, self.set, slug(self.variant), str(self.seed)]
        return "-".join(word for word in words if word)

    @property
    def depends(self) -> Table:
        """All that the result depends on, beside the data.

        A function that reads only some tables of the settings names them in `measure.reads`.
        """
        table = to_table(self.config)
        reads = getattr(measure_of(self.part.kind), "reads", tuple(table))
        for name in ("checkpoint_seconds",):  # these change no number
            del table["train"][name]
        return {
            "kind": self.part.kind,
            "set": self.set,
            "variant": self.variant,
            "seed": self.seed,
            "run": {name: table[name] for name in reads},
            "options": self.part.options,
        }


@dataclass(frozen=True, slots=True)
class Experiment:
    """One file."""

    name: str
    question: str
    answer: str
    how: tuple[str, ...]
    lacks: tuple[str, ...]
    """What the plan itself leaves out."""
    parts: tuple[Part, ...]
    sets: Mapping[str, SetSpec]
    paper: Table
    """The paper's own numbers, for the page."""

    def points(self) -> list[Point]:
        """Everything to compute: one seed of everything first."""
        most = max((part.seeds for part in self.parts), default=0)
        return [
            Point(part, one, variant, seed, {**self.sets[one].settings, **part.settings, **more})
            for seed in range(most)
            for part in self.parts
            if seed < part.seeds
            for one in part.sets
            for variant, more in part.variants.items()
        ]


def measure_of(kind: str) -> Callable[..., Table]:
    """The function that measures a kind."""
    module, _, name = kind.partition(":")
    if not name:
        if kind not in KINDS:
            raise ConfigError(
                f"unknown kind {kind!r}; there are {', '.join(KINDS)}, and module:function"
            )
        module, name = f"cerec_bench.kinds.{kind}", "measure"
    try:
        found: Callable[..., Table] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"kind {kind!r} cannot be imported: {error}") from None
    return found


def names(folder: Path = EXPERIMENTS) -> list[str]:
    """The experiments of a folder, the paper's tables first."""
    found = sorted(p.stem for p in folder.glob("*.toml") if p.stem != "sets")
    return sorted(found, key=lambda name: not name.startswith("table"))


def read_experiment(name: str, *, quick: bool = False) -> Experiment:
    """The experiment of that name or file; every setting is checked before anything runs."""
    path = Path(name) if name.endswith(".toml") else EXPERIMENTS / f"{name}.toml"
    if path.parent == EXPERIMENTS and name not in names():
        hint = near_matches(name, names(), most=1)
        raise ConfigError(
            f"unknown experiment {name!r}; "
            + (f"did you mean {hint[0]!r}?" if hint else f"there are {', '.join(names())} and all")
        )
    table = read_toml(path)
    known(path, "the file", table, _KEYS)
    over = table.get("quick", {}) if quick else {}
    known(path, "[quick]", over, ("sets", "seeds", "settings", "options"))
    own = path.parent / "sets.toml"
    sets = read_sets(EXPERIMENTS / "sets.toml") | (read_sets(own) if own.exists() else {})
    parts = tuple(_part(path, entry, over) for entry in table.get("part", []))
    for part in parts:
        measure_of(part.kind)
        for one in part.sets:
            if one not in sets:
                raise ConfigError(f"{path}: unknown set {one!r}; sets.toml holds {', '.join(sets)}")
    found = Experiment(
        path.stem,
        table.get("question", path.stem),
        table.get("answer", ""),
        tuple(table.get("how", ())),
        tuple(table.get("missing", ())),
        parts,
        sets,
        table.get("paper", {}),
    )
    for point in found.points():
        run_config(point.settings)
    return found


def _part(path: Path, entry: Any, over: Table) -> Part:
    known(path, "[[part]]", entry, _PART)
    for needed in ("kind", "sets"):
        if needed not in entry:
            raise ConfigError(f"{path}: every [[part]] needs {needed!r}")
    return Part(
        entry.get("name", slug(entry["kind"].rpartition(".")[2])),
        entry["kind"],
        tuple(over.get("sets", entry["sets"])),
        over.get("seeds", entry.get("seeds", 1)),
        entry.get("variants", {"": {}}),
        {**entry.get("settings", {}), **over.get("settings", {})},
        {**entry.get("options", {}), **over.get("options", {})},
        entry.get("columns", {}),
        entry.get("chart", {}),
    )


def run_config(settings: Table) -> RunConfig:
    """Run settings from `section.key` entries, on top of those of the paper's system unless another
    model is named. Filters and split are those of the data set, the same for all systems.
    """
    tables: dict[str, Table] = {}
    if settings.get("model.name", COTRAINED) == COTRAINED:
        tables = preset_tables("paper")
        del tables["filters"], tables["split"]
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
