"""What a person is told while waiting."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cerec.cli import console
from cerec.recommend import kernels


def test_the_first_use_says_that_kernels_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)))
    monkeypatch.setattr(kernels, "pair_gradients", kept)
    with console.progress():
        pass
    assert "compiling the kernels" in capsys.readouterr().err
    (tmp_path / "kernels.pair_gradients-28.py311.nbi").touch()
    with console.progress():
        pass
    assert capsys.readouterr().err == ""
