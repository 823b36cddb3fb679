"""Numbers in prose are read from the result files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "experiments"))

import quoted  # noqa: E402  a script, found by the line above


def test_the_readme_says_what_the_files_say() -> None:
    there = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "<!-- measured -->" in there
    assert there == quoted.readme(), "run `python experiments/quoted.py`"


def test_ways_and_forms(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"lines": [{"model": "x", "f": {"mean": 0.1234}}, {"model": "y", "f": {"mean": 0.2}}],'
        ' "runs": [{"r": 1.0}, {"r": 2.0}], "a / b": {"n": 1234567}}'
    )
    text = (
        "{{a.json | lines/x/f | .2}} {{a.json | lines/y/f | %.1}} {{a.json | runs/r | +.3}} "
        "{{a.json | a / b/n | ,}} {{a.json | lines/y/f over lines/x/f | .2}}"
    )
    assert quoted.filled(text, tmp_path) == "0.12 20.0 +1.500 1,234,567 1.62"


@pytest.mark.parametrize("token", ["{{a.json | x | .1}}", "{{b.json | y | .1}}", "{{a.json|y|d}}"])
def test_a_number_that_is_not_there(tmp_path: Path, token: str) -> None:
    (tmp_path / "a.json").write_text('{"y": 1}')
    with pytest.raises(ValueError, match="no such number"):
        quoted.filled(token, tmp_path)
