"""Tables: means, tests and marks from cells made by hand."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from cerec.files import write_arrays
from cerec_bench.cells import Cell
from cerec_bench.plans.systems import Fit, columns, keys_of, summarise
from cerec_bench.report.charts import Series, bar_chart, line_chart, scatter_chart
from cerec_bench.report.files import write_report
from cerec_bench.report.pages import Page
from cerec_bench.report.tables import Grid, compared, from_json, long_csv, to_json
from cerec_bench.statistics import Line, holm, signed_rank

NAMES = ["recall@20", "ndcg@20", "hr@20"]
RNG = np.random.default_rng(0)
BASE = RNG.uniform(0.2, 0.6, 60)
USERS = {
    "linear-0": BASE + 0.02,
    "linear-1": BASE + 0.04,
    "bpr-0": BASE - 0.05,
    "bpr-1": BASE - 0.01,
    "popularity-0": BASE - 0.15,
}


def per_user(key: str) -> dict[str, np.ndarray]:
    values = USERS[key].copy()
    values[3] = np.nan
    return {"recall@20": values, "ndcg@20": values / 2, "hr@20": values * 0 + 1.0}


def fit(folder: Path, key: str, seconds: float = 1.0, **about: object) -> Fit:
    model, _, seed = key.rpartition("-")
    took = {"seconds": seconds, "cpu_seconds": seconds, "peak_mb": 100 + seconds, **about}
    if model == "ease":
        cell = Cell(folder / f"{key}.json", {}, {}, took, "EASE is too large")
        return Fit(model, "seed", {}, 0, cell)
    if seed == "t":
        return Fit(model, "trial", {}, 0, Cell(folder / f"{key}.json", {}, {"valid": 0.4}, took))
    write_arrays(folder / f"{key}.safetensors", per_user(key))
    means = {name: float(np.nanmean(v)) for name, v in per_user(key).items()}
    found = {"valid": 0.5, "test": {**means, "coverage@20": 0.5}, "epochs": 4}
    return Fit(model, "seed", {"dim": 8}, int(seed), Cell(folder / f"{key}.json", {}, found, took))


@pytest.fixture
def lines(tmp_path: Path) -> list[Line]:
    keys = ("popularity-0", "ease-0", "bpr-0", "linear-0", "linear-1")
    fits = [fit(tmp_path, key) for key in keys]
    fits += [fit(tmp_path, "bpr-t", peak_mb=500.0), fit(tmp_path, "bpr-1", 3.0)]
    return summarise(fits, NAMES, reference="linear")


def test_means_spread_and_cost(lines: list[Line]) -> None:
    by_name = {line.name: line for line in lines}
    figure = by_name["bpr"].figures["recall@20"]
    base = float(np.delete(BASE, 3).mean())
    assert figure.mean == pytest.approx(base - 0.03)
    assert figure.sd == pytest.approx(0.04 / np.sqrt(2))
    assert figure.low < figure.mean < figure.high
    assert by_name["bpr"].other["trials"] == 1
    assert by_name["bpr"].other["seeds"] == 2
    assert by_name["bpr"].other["seconds"] == pytest.approx(2.0)
    assert by_name["bpr"].other["peak_mb"] == 500.0
    assert by_name["ease"].error == "EASE is too large"
    assert by_name["linear"].other["coverage@20"] == 0.5


def test_tests_are_over_users_and_corrected(lines: list[Line]) -> None:
    by_name = {line.name: line for line in lines}
    gaps = {}
    for model, keys in (("popularity", ["popularity-0"]), ("bpr", ["bpr-0", "bpr-1"])):
        ours = np.mean([USERS["linear-0"], USERS["linear-1"]], axis=0)
        gaps[model] = np.delete(np.mean([USERS[k] for k in keys], axis=0) - ours, 3)
    raw = {model: signed_rank(gap) for model, gap in gaps.items()}
    corrected = holm([raw["popularity"][0], raw["bpr"][0]])
    for model, p in zip(("popularity", "bpr"), corrected, strict=True):
        figure = by_name[model].figures["recall@20"]
        assert figure.p == pytest.approx(p)
        assert figure.effect == pytest.approx(raw[model][1]) == -1.0
    assert by_name["linear"].figures["recall@20"].p is None
    assert by_name["bpr"].figures["hr@20"].p == 1.0  # nobody differs


def test_marks(lines: list[Line]) -> None:
    grid = compared(lines, columns([20]), "a caption")
    by_title = {row[0]: row[1] for row in grid.rows}
    assert re.fullmatch(r"\*\*0\.\d{4} ± 0\.\d{4}\*\*", by_title["Linear"])  # the best
    assert re.fullmatch(r"\*0\.\d{4} ± 0\.\d{4}\*\\\*", by_title["BPR-MF"])  # second, differs
    assert re.fullmatch(r"0\.\d{4}\\\*", by_title["Popularity"])
    assert by_title["EASE"] == "-"


def test_forms(lines: list[Line]) -> None:
    table = list(csv.DictReader(io.StringIO(long_csv({"demo": lines}))))
    assert {row["name"] for row in table} == {"popularity", "ease", "bpr", "linear"}
    assert next(r for r in table if r["name"] == "ease")["error"] == "EASE is too large"
    grid = compared(lines, columns([20]), "a & b")
    latex = grid.latex()
    assert r"\caption{a \& b}" in latex
    assert latex.count(r" \\") == 5
    assert re.search(r"Linear & \\textbf\{0\.\d{4} \$\\pm\$ 0\.\d{4}\} &", latex)
    assert re.search(r"BPR-MF & \\emph\{0\.\d{4} .*?\}\$\^\{\*\}\$ &", latex)
    assert "| Recall@20 | NDCG@20 | HR@20 | tried |" in grid.markdown()
    assert "*" not in grid.csv().splitlines()[2]
    assert keys_of([20, 40])[3] == "recall@40"
    told = json.dumps(to_json(lines, {"data": "demo"}), allow_nan=False)
    again = from_json(json.loads(told))
    assert json.dumps(to_json(again, {"data": "demo"})) == told


def test_a_report_is_files(lines: list[Line], tmp_path: Path) -> None:
    grid = compared(lines, columns([20]))
    made = write_report(tmp_path, {"demo": (lines, {"data": "demo"})}, [grid])
    assert {path.name for path in made} == {"table.md", "table.csv", "table.tex", "demo.json"}
    assert all(path.stat().st_size > 100 for path in made)
    assert "EASE: EASE is too large." in (tmp_path / "table.md").read_text()
    assert json.loads((tmp_path / "demo.json").read_text())["about"] == {"data": "demo"}


def test_charts_are_the_same_file_again(lines: list[Line], tmp_path: Path) -> None:
    curve = Series("one", [1.0, 2.0], [0.1, 0.2], [0.0, 0.1], [0.2, 0.3])
    for name in ("a", "b"):
        line_chart([curve], "x", "y", tmp_path / f"line-{name}.svg")
        bar_chart(lines, NAMES[:1], tmp_path / f"bar-{name}.svg")
        scatter_chart(lines, [("recall@20", "ndcg@20")], tmp_path / f"scatter-{name}.svg")
    for kind in ("line", "bar", "scatter"):
        text = (tmp_path / f"{kind}-a.svg").read_text()
        assert "<svg" in text
        assert text == (tmp_path / f"{kind}-b.svg").read_text()


def test_a_page_is_a_screen_and_links_to_the_full_tables(tmp_path: Path) -> None:
    grid = Grid("", ["", "n"], [[f"row {n}", str(n)] for n in range(40)])
    page = Page("long", "Is it long?", "No.", [grid, grid], ["Counted."], notes=["A note."])
    path = page.write(tmp_path / "results" / "long", tmp_path / "docs")
    text = path.read_text()
    assert text.startswith("# Is it long?\n\nNo.\n\n| ")
    assert text.count("| row") == 14
    assert text.rstrip().endswith("[Full tables](../results/long/tables.md)")
    full = (tmp_path / "results" / "long" / "tables.md").read_text()
    assert full.count("| row") == 80
    assert "- A note." in full
