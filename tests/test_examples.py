"""The notebooks of `examples/` run, cell by cell (the one that asks a service: tests/serve)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALONE = [
    path for path in sorted((ROOT / "examples").glob("*.ipynb")) if path.stem != "ask-the-service"
]


@pytest.mark.slow
@pytest.mark.parametrize("path", ALONE, ids=lambda p: p.stem)
def test_a_notebook_runs(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(path), "exec"), scope)  # our own notebooks
    said = capsys.readouterr().out
    assert "as promised" in said
    assert "not as promised" not in said


def test_notebooks_are_kept_without_outputs() -> None:
    for path in (ROOT / "examples").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert not [c for c in cells if c.get("outputs") or c.get("execution_count")], path.name
