"""Results as files: what a cell found, and where that came from."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cerec.files import read_json, write_json
from cerec.runs.folder import versions
from cerec.settings.run import differences, to_table
from cerec_bench.reproduce.plan import WHOLE, Cell, Experiment, Table


@dataclass(frozen=True, slots=True)
class Result:
    """A finished cell."""

    cell: Cell
    found: Table
    about: Table
    """Provenance: command, commit, versions, seed, data, time, seconds, all settings of the run."""

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        """`section.key` settings that were others when it was computed: what they were and are.

        Empty too for what another command made, which keeps settings of its own.
        """
        now = run_table(self.cell)
        was: Table = self.about.get("run", now)
        names = differences(was, now)
        return {name: (_setting(was, name), _setting(now, name)) for name in names}


@dataclass(frozen=True, slots=True)
class Results:
    """What there is of an experiment, and what there is not."""

    experiment: Experiment
    folder: Path
    done: tuple[Result, ...]
    missing: tuple[Cell, ...]

    def of(self, part: str) -> list[Result]:
        """The finished cells of a part, in the order of the plan."""
        return [result for result in self.done if result.cell.part == part]


def cell_path(folder: Path, experiment: Experiment, cell: Cell) -> Path:
    """The file of a cell."""
    return folder / experiment.page / cell.file


def read_result(folder: Path, experiment: Experiment, cell: Cell) -> Result | None:
    """The result of a cell; None when it is not there, or was made with other settings."""
    path = cell_path(folder, experiment, cell)
    if not path.exists():
        return None
    table = read_json(path)
    if cell.kind in WHOLE:  # may have been made by another command, with options of its own
        about = table.get("made", {})
        known = "cell" not in table or _same(table["cell"], about, cell)
        return Result(cell, table, about) if known else None
    if not _same(table.get("cell"), table.get("about", {}), cell):
        return None
    return Result(cell, table["found"], table["about"])


def _same(kept: Table | None, about: Table, cell: Cell) -> bool:
    """True for what `cell` asks for, whether a setting is written out or was the default then."""
    if kept is None or kept == cell.depends or "run" not in about:
        return kept == cell.depends
    if {**kept, "settings": cell.settings} != cell.depends:
        return False
    was, now = about["run"], run_table(cell)
    names = differences(kept["settings"], cell.settings)
    return all(_setting(was, name) == _setting(now, name) for name in names)


def read_results(folder: Path, experiment: Experiment) -> Results:
    """All finished cells of an experiment."""
    done, missing = [], []
    for cell in experiment.cells():
        result = read_result(folder, experiment, cell)
        if result is None:
            missing.append(cell)
        else:
            done.append(result)
    return Results(experiment, folder, tuple(done), tuple(missing))


def write_result(folder: Path, experiment: Experiment, result: Result) -> Path:
    """Keep a finished cell."""
    path = cell_path(folder, experiment, result.cell)
    table = {"cell": result.cell.depends, "about": result.about, "found": result.found}
    if result.cell.kind in WHOLE:
        table = {**result.found, "cell": result.cell.depends, "made": result.about}
    write_json(path, table)
    return path


def run_table(cell: Cell) -> Table:
    """All settings that a cell depends on, defaults included."""
    table = to_table(cell.config)
    if cell.kind == "data":
        return {section: table[section] for section in ("filters", "split")}
    for name in ("checkpoint_seconds", "tensorboard"):  # these change no number
        del table["train"][name]
    return table


def _setting(table: Table, name: str) -> Any:
    section, _, key = name.partition(".")
    found = table.get(section)
    return found.get(key) if isinstance(found, dict) else found


def provenance(cell: Cell, data: Any, command: Sequence[str], seconds: float) -> Table:
    """Where a result comes from; `data` is the data set it was measured on."""
    return {
        "command": " ".join(command),
        "commit": commit(),
        "versions": versions(),
        "seed": cell.seed,
        "data": {"name": data.name, "fingerprint": data.fingerprint},
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "run": run_table(cell),
    }


def commit() -> str | None:
    """The commit of the source this runs from; None for an installed package."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
