"""The table: means, tests and marks from cells made by hand."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from cerec_bench.compare.grid import Cell
from cerec_bench.compare.report import write_report
from cerec_bench.compare.table import (
    Line,
    cell_text,
    columns,
    ranked,
    summarise,
    to_csv,
    to_json,
    to_latex,
    to_markdown,
)
from cerec_bench.statistics import holm, signed_rank

NAMES = ["recall@20", "ndcg@20", "hr@20"]
RNG = np.random.default_rng(0)
BASE = RNG.uniform(0.2, 0.6, 60)
USERS = {
    "cerec-paper-0": BASE + 0.02,
    "cerec-paper-1": BASE + 0.04,
    "bpr-0": BASE - 0.05,
    "bpr-1": BASE - 0.01,
    "popularity-0": BASE - 0.15,
}


def per_user(key: str) -> dict[str, np.ndarray]:
    values = USERS[key].copy()
    values[3] = np.nan
    return {"recall@20": values, "ndcg@20": values / 2, "hr@20": values * 0 + 1.0}


def seed_cell(key: str, seconds: float = 1.0) -> Cell:
    model, _, seed = key.rpartition("-")
    means = {name: float(np.nanmean(v)) for name, v in per_user(key).items()}
    return Cell(
        model,
        "seed",
        {"dim": 8},
        int(seed),
        key,
        valid=0.5,
        test={**means, "coverage@20": 0.5},
        epochs=4,
        seconds=seconds,
        peak_mb=100 + seconds,
    )


def lines() -> list[Line]:
    cells = [
        seed_cell("popularity-0"),
        Cell("ease", "seed", {}, 0, "ease-0", error="EASE is too large"),
        Cell("bpr", "trial", {}, 0, "bpr-t", valid=0.4, peak_mb=500.0),
        seed_cell("bpr-0"),
        seed_cell("bpr-1", 3.0),
        seed_cell("cerec-paper-0"),
        seed_cell("cerec-paper-1"),
    ]
    return summarise(cells, per_user, NAMES, reference="cerec-paper")


def test_means_spread_and_cost() -> None:
    by_name = {line.model: line for line in lines()}
    figure = by_name["bpr"].figures["recall@20"]
    base = float(np.delete(BASE, 3).mean())
    assert figure.mean == pytest.approx(base - 0.03)
    assert figure.sd == pytest.approx(0.04 / np.sqrt(2))
    assert figure.low < figure.mean < figure.high
    assert by_name["bpr"].trials == 1
    assert by_name["bpr"].seeds == 2
    assert by_name["bpr"].seconds == pytest.approx(2.0)
    assert by_name["bpr"].peak_mb == 500.0
    assert by_name["ease"].error == "EASE is too large"
    assert by_name["cerec-paper"].other == {"coverage@20": 0.5}


def test_tests_are_over_users_and_corrected() -> None:
    by_name = {line.model: line for line in lines()}
    gaps = {}
    for model, keys in (("popularity", ["popularity-0"]), ("bpr", ["bpr-0", "bpr-1"])):
        ours = np.mean([USERS["cerec-paper-0"], USERS["cerec-paper-1"]], axis=0)
        gaps[model] = np.delete(np.mean([USERS[k] for k in keys], axis=0) - ours, 3)
    raw = {model: signed_rank(gap) for model, gap in gaps.items()}
    corrected = holm([raw["popularity"][0], raw["bpr"][0]])
    for model, p in zip(("popularity", "bpr"), corrected, strict=True):
        figure = by_name[model].figures["recall@20"]
        assert figure.p == pytest.approx(p)
        assert figure.effect == pytest.approx(raw[model][1]) == -1.0
    assert by_name["cerec-paper"].figures["recall@20"].p is None
    assert by_name["bpr"].figures["hr@20"].p == 1.0  # nobody differs


def test_marks() -> None:
    by_name = {line.model: line for line in lines()}
    assert ranked(lines(), "recall@20") == ["cerec-paper", "bpr", "popularity"]
    assert re.fullmatch(r"0\.\d{4} ± 0\.\d{4}\*", cell_text(by_name["bpr"], "recall@20"))
    assert re.fullmatch(r"0\.\d{4}\*", cell_text(by_name["popularity"], "recall@20"))
    assert not cell_text(by_name["cerec-paper"], "recall@20").endswith("*")
    assert cell_text(by_name["ease"], "recall@20") == "-"


def test_forms() -> None:
    table = list(csv.DictReader(io.StringIO(to_csv(lines()))))
    assert {row["model"] for row in table} == {"popularity", "ease", "bpr", "cerec-paper"}
    assert next(r for r in table if r["model"] == "ease")["error"] == "EASE is too large"
    latex = to_latex(lines(), NAMES)
    assert latex.count(r"\\") == 5
    assert re.search(r"CERec & \\textbf\{0\.\d{4}\} &", latex)
    assert re.search(r"BPR-MF & \\underline\{0\.\d{4}\}\$\^\{\*\}\$ &", latex)
    page = to_markdown(lines(), NAMES)
    assert page.splitlines()[0] == "|  | Recall@20 | NDCG@20 | HR@20 | seconds | MB |"
    assert "EASE: EASE is too large." in page
    json.dumps(to_json(lines(), {"data": "demo"}), allow_nan=False)
    assert columns([20, 40])[3] == "recall@40"


def test_a_report_is_files(tmp_path: Path) -> None:
    made = write_report(tmp_path, lines(), [20], {"data": "demo"})
    assert {path.name for path in made} == {
        "table.md",
        "table.csv",
        "table.tex",
        "table.json",
        "bars.svg",
    }
    assert all(path.stat().st_size > 100 for path in made)
    assert json.loads((tmp_path / "table.json").read_text())["about"] == {"data": "demo"}
    assert "<svg" in (tmp_path / "bars.svg").read_text()
