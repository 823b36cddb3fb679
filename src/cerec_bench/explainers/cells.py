"""What one method gave with one seed, kept on disk: answers, verdicts and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.files import read_arrays, read_json, write_arrays, write_json
from cerec_bench.explainers.protocol import Answer
from cerec_bench.explainers.verdict import Verdicts

_SETS = ("values", "lost", "gained", "removed")


@dataclass(frozen=True, slots=True)
class Cell:
    """One method, one seed."""

    method: str
    seed: int
    key: str
    error: str = ""
    """Why the method refused this data; empty when it did not."""
    draws: int = 1
    """Answers per pair, one after the other; above 1 for random explanations."""
    fit_seconds: float = 0.0
    """Learning, CERec's agent included where the method rests on it."""
    explain_seconds: float = 0.0
    """Answering all pairs once."""
    peak_mb: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A cell with all its answers, draw after draw within a pair."""

    cell: Cell
    answers: list[Answer]
    verdicts: Verdicts

    @property
    def pair(self) -> NDArray[np.int64]:
        """The pair of every answer."""
        return np.repeat(np.arange(len(self.answers) // self.cell.draws), self.cell.draws)

    def draw(self, number: int) -> list[Answer]:
        """The answers of one draw."""
        return self.answers[number :: self.cell.draws]


def write_outcome(folder: Path, outcome: Outcome) -> None:
    """Arrays first, then the JSON file that says the cell is there."""
    arrays: dict[str, NDArray[Any]] = {
        f"verdict.{name}": getattr(outcome.verdicts, name) for name in Verdicts.__slots__
    }
    answers = outcome.answers
    for name in _SETS:
        rows = [getattr(a, name) for a in answers]
        arrays[f"{name}.indptr"] = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        arrays[f"{name}.rows"] = np.concatenate([*rows, np.zeros(0, np.int32)]).astype(np.int32)
    others = [-1 if a.counterfactual is None else a.counterfactual for a in answers]
    arrays["counterfactual"] = np.array(others, np.int32)
    arrays["strays"] = np.array([a.strays for a in answers], np.int32)
    arrays["seconds"] = np.array([a.seconds for a in answers], np.float64)
    write_arrays(folder / f"{outcome.cell.key}.safetensors", arrays)
    write_cell(folder, outcome.cell)


def write_cell(folder: Path, cell: Cell) -> None:
    """The JSON file of a cell."""
    write_json(folder / f"{cell.key}.json", asdict(cell))


def read_cell(folder: Path, key: str) -> Cell | None:
    """The cell of that key, None when it has not been computed."""
    path = folder / f"{key}.json"
    return Cell(**read_json(path)) if path.exists() else None


def read_outcome(folder: Path, cell: Cell) -> Outcome:
    """The answers of a cell without an error."""
    arrays = read_arrays(folder / f"{cell.key}.safetensors")
    verdicts = Verdicts(**{name: arrays[f"verdict.{name}"] for name in Verdicts.__slots__})
    sets = {n: _split(arrays[f"{n}.indptr"], arrays[f"{n}.rows"]) for n in _SETS}
    answers = [
        Answer(
            **{name: rows[n] for name, rows in sets.items()},
            counterfactual=None if other < 0 else int(other),
            strays=int(strays),
            seconds=float(seconds),
        )
        for n, (other, strays, seconds) in enumerate(
            zip(arrays["counterfactual"], arrays["strays"], arrays["seconds"], strict=True)
        )
    ]
    return Outcome(cell, answers, verdicts)


def _split(indptr: NDArray[np.int64], rows: NDArray[np.int32]) -> Sequence[NDArray[np.int32]]:
    return [rows[low:high] for low, high in pairwise(indptr)]
