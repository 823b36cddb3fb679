"""What a person is told while waiting."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from cerec.cli import console
from cerec.cli.train import figures
from cerec.explain.columns import block
from cerec.recommend import kernels


def test_the_first_use_says_that_kernels_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module, name in ((kernels, "pair_gradients"), (block, "answer_block")):
        stats = SimpleNamespace(cache_path=str(tmp_path))
        kept = SimpleNamespace(stats=stats, __module__=module.__name__, __name__=name)
        monkeypatch.setattr(module, name, kept)
    trained = tmp_path / "kernels.pair_gradients-28.py311.nbi"
    trained.touch()

    def told(*, explaining: bool) -> bool:
        console.say_compiling.cache_clear()
        for _ in range(2):
            with console.progress(explaining=explaining):
                pass
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) <= 1  # not twice in a process
        return bool(lines) and "compiling the kernels" in lines[0]

    assert not told(explaining=False)
    assert told(explaining=True)  # training has not compiled what explains
    trained.rename(tmp_path / "block.answer_block-3.nbi")
    assert not told(explaining=True)
    assert told(explaining=False)


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
