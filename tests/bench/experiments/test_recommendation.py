from __future__ import annotations

import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "experiments"))

import recommendation  # noqa: E402  a script, found by the line above

from cerec_bench.compare.contenders import CONTENDERS  # noqa: E402


def test_the_page_is_what_the_files_say() -> None:
    there = (ROOT / "docs" / "results" / "recommendation.md").read_text(encoding="utf-8")
    assert there == recommendation.page(), "run `python experiments/recommendation.py --page`"


def test_commands_name_systems_there_are() -> None:
    for name in recommendation.SETS:
        words = shlex.split(recommendation.command(name))
        models = words[words.index("--models") + 1].split(",")
        assert set(models) <= set(CONTENDERS)
        assert len(models) == 13
