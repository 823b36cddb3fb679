"""Pages of docs/results say what the files in results hold, and nothing more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cerec_bench.plans.experiment import read
from cerec_bench.plans.files import names, read_experiment
from cerec_bench.plans.page import write_page
from cerec_bench.report.charts import has_matplotlib
from cerec_bench.report.presets import write_presets

ROOT = Path(__file__).parents[2]
PAGES, RESULTS = ROOT / "docs" / "results", ROOT / "results"
MEASURED = [name for name in names() if (PAGES / f"{name}.md").exists()]


@pytest.mark.skipif(not has_matplotlib(), reason="charts need matplotlib")
@pytest.mark.parametrize("name", MEASURED)
def test_a_page_is_what_its_results_say(name: str, tmp_path: Path) -> None:
    done = read(read_experiment(name), RESULTS / name)
    assert done.found
    page = write_page(done, tmp_path / "results" / name, tmp_path / "docs" / "results")
    command = f"cerec bench run {name} --page-only --pages docs/results"
    assert page.read_text() == (PAGES / page.name).read_text(), f"write it with {command}"
    for path in (tmp_path / "results" / name).glob("tables.*"):
        assert path.read_text() == (RESULTS / name / path.name).read_text(), command


def test_a_page_is_a_screen() -> None:
    for name in MEASURED:
        assert len((PAGES / f"{name}.md").read_text().splitlines()) <= 50


def test_every_system_has_a_page_that_includes_its_presets(tmp_path: Path) -> None:
    for path in write_presets(tmp_path):
        page = (ROOT / "docs" / "systems" / path.name).read_text(encoding="utf-8")
        assert f"generated/{path.name}" in page
    assert "| `layers` | 32 16 |" in (tmp_path / "kgat.md").read_text()


def test_the_page_of_speeds_shows_every_benchmark_that_was_kept() -> None:
    page = (PAGES / "speed.md").read_text(encoding="utf-8")
    kept = {path.stem: path.read_text(encoding="utf-8") for path in RESULTS.glob("speed/*.txt")}
    shown = re.findall(r"results/speed/([\w-]+)\.txt", page)
    assert sorted(shown) == sorted(kept)
    record = (ROOT / "benchmarks" / "record.py").read_text(encoding="utf-8")
    for name, text in kept.items():
        command = text.partition("\n")[0].removeprefix("$ python benchmarks/")
        assert f'"{name}": "{command}"' in record


def test_results_name_no_machine() -> None:
    for path in RESULTS.rglob("*.json"):
        assert not re.search(r"/(root|home|tmp|work)/", path.read_text(encoding="utf-8")), path
