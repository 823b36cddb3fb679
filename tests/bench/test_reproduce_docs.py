"""Every number of docs/results comes from a file: the pages are written anew and compared."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from cerec_bench.reproduce.pages import about_page, page_of, write_snippets
from cerec_bench.reproduce.plan import names, read_experiment

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
EXPERIMENTS = [read_experiment(name) for name in names()]
OTHERS = {"recommendation", "consistency"}
"""Pages that an experiment of this list can write, but that a script writes with more words."""
PRINTED = {"speed"}
"""Pages that show what benchmarks printed, kept as files."""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a script of `experiments/`."""
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    return importlib.import_module


@pytest.mark.parametrize(
    "name", [e.name for e in EXPERIMENTS if e.page not in OTHERS], ids=lambda n: n
)
def test_the_page_of_an_experiment_is_what_its_results_say(name: str) -> None:
    page, _ = page_of(read_experiment(name), RESULTS)
    for file, text in page.files().items():
        path = RESULTS / file
        assert path.exists(), f"{file}: write it with cerec bench reproduce {name} --render-only"
        assert path.read_text(encoding="utf-8") == text, f"{file} is not what its results say"


def test_the_findings_are_what_the_results_say() -> None:
    text = about_page(RESULTS).markdown()
    assert (RESULTS / "about.md").read_text(encoding="utf-8") == text


def test_every_system_has_a_page_that_includes_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "recommendation").mkdir()
    figure = {"mean": 0.25, "sd": 0.01, "p": None}
    figures = {f"{m}@20": figure for m in ("recall", "ndcg", "hr")}
    lines = [{"model": m, "title": m, "seeds": 2, "figures": figures} for m in ("kgat", "linear")]
    (tmp_path / "recommendation" / "demo.json").write_text(json.dumps({"lines": lines}))
    for path in write_snippets(tmp_path, tmp_path / "made"):
        page = (ROOT / "docs" / "systems" / path.name).read_text(encoding="utf-8")
        assert f"generated/{path.name}" in page
    text = (tmp_path / "made" / "kgat.md").read_text()
    assert "| `layers` | 32 16 |" in text
    assert "| demo, kgat | 0.2500 ± 0.0100 | 0.2500 ± 0.0100 | 0.2500 ± 0.0100 | 2 |" in text
    assert "Not computed here" in (tmp_path / "made" / "neumf.md").read_text()


def test_the_pages_of_table_two_and_three_are_what_their_files_say(
    script: Callable[[str], ModuleType],
) -> None:
    if list(RESULTS.glob("consistency/*.json")):
        consistency = script("consistency")
        head = (ROOT / "experiments" / "consistency_head.md").read_text(encoding="utf-8")
        text = (RESULTS / "consistency.md").read_text(encoding="utf-8")
        assert text == consistency.page(RESULTS, head)
    if list(RESULTS.glob("recommendation/*.json")):
        text = (RESULTS / "recommendation.md").read_text(encoding="utf-8")
        assert text == script("recommendation").page()


def test_the_page_of_speeds_shows_every_benchmark_that_was_kept() -> None:
    page = (RESULTS / "speed.md").read_text(encoding="utf-8")
    shown = re.findall(r"literalinclude\} speed/(\S+)\.txt", page)
    kept = {path.stem: path.read_text(encoding="utf-8") for path in RESULTS.glob("speed/*.txt")}
    assert sorted(shown) == sorted(kept)
    record = (ROOT / "benchmarks" / "record.py").read_text(encoding="utf-8")
    for name, text in kept.items():
        command = text.partition("\n")[0].removeprefix("$ python benchmarks/")
        assert f'"{name}": "{command}"' in record


def test_every_page_of_results_is_checked_here() -> None:
    checked = {e.page for e in EXPERIMENTS} | {"about"} | PRINTED
    assert {path.stem for path in RESULTS.glob("*.md")} <= checked


@pytest.mark.parametrize("path", sorted(RESULTS.rglob("*.json")), ids=lambda p: p.stem)
def test_results_name_no_machine(path: Path) -> None:
    assert not re.search(r"/(root|home|tmp|work)/", path.read_text(encoding="utf-8"))
