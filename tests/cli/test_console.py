"""What a person is told while waiting."""

from __future__ import annotations

import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

from cerec.cli import console
from cerec.cli.train import figures

COMPILING = """
import sys
import numba
from cerec.cli.console import tell_compiling

def kernel(x):
    return x + 1

kernel.__module__ = sys.argv[1]
tell_compiling()
for _ in range(2):
    numba.njit(kernel)(1)
"""


@pytest.mark.parametrize(("module", "lines"), [("cerec.some", 1), ("other", 0)])
def test_compiling_is_told_once_and_only_of_our_kernels(module: str, lines: int) -> None:
    command = [sys.executable, "-c", COMPILING, module]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr.count("compiling the kernels") == done.stderr.count("\n") == lines


def test_the_progress_line_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Console(file=StringIO(), force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(console, "err", wide)
    row = {"loss": 0.87151, "ndcg@20": 0.19404}
    notes = (figures(row, ("loss", "ndcg@20")), "far too long a note for such a line " * 3)
    for note in notes:
        with console.progress() as bar:
            bar.add_task("recommender", total=200, completed=120, note=note)
        with wide.capture() as shown:
            wide.print(bar.get_renderable())
        (line,) = shown.get().splitlines()
        assert line.startswith("recommender \u2501")
        assert "120/200 " in line
        assert line.endswith(" 0:00:00 --:--")
        assert note in line or "\u2026" in line
    assert notes[0] == "loss 0.8715  ndcg@20 0.1940"
    assert figures({**row, "ndcg@20": float("nan")}) == "loss 0.8715"  # nothing is held out
