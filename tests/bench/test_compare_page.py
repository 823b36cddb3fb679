"""The page in the paper's layout, from a small finished table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cerec_bench.compare.page import (
    Published,
    accuracy,
    beside,
    published_section,
    read_published,
    set_section,
)

PAPER = Path(__file__).parents[2] / "docs" / "results" / "recommendation" / "paper.csv"


def line(model: str, means: tuple[float, float], p: float | None, **changes: Any) -> dict[str, Any]:
    figures = {
        f"{m}@{k}": {"mean": x, "sd": 0.01, "p": p, "effect": None if p is None else 0.5}
        for k, x in zip((20, 40), means, strict=True)
        for m in ("recall", "ndcg", "hr")
    }
    names = ("mrr", "map", "precision", "ndcg_kgat", "coverage", "novelty", "popularity")
    return {
        "model": model,
        "title": model.upper(),
        "note": "",
        "error": "",
        "figures": figures,
        "other": {f"{name}@20": 0.25 for name in names},
        "params": {"dim": 32, "learning_rate": 0.0123456, "layers": [32, 16]},
        "seeds": 2,
        "trials": 3,
        "timed_out": 1,
        "cpu_seconds": 1.5,
        "peak_mb": 100.0,
        "epochs": 12.0,
        **changes,
    }


def table() -> dict[str, Any]:
    refused = {"figures": {}, "other": {}, "error": "too large", "seeds": 0}
    return {
        "about": {
            "data": "demo",
            "users": 10,
            "items": 20,
            "ks": [20, 40],
            "seeds": 2,
            "trials": 3,
            "split": {"train": 5, "valid": 2, "test": 3},
            "fit": {"epochs": 9, "every": 1, "patience": 2, "seconds": 30.0},
        },
        "lines": [
            line("a", (0.1, 0.4), 0.01),
            line("b", (0.2, 0.3), None, note="re-ranks"),
            line("c", (0, 0), None, **refused),
        ],
    }


def test_rows_are_systems_and_lengths() -> None:
    head, *rows = accuracy(table())
    assert head == ["", "K", "Recall", "NDCG", "HR"]
    assert [row[:2] for row in rows] == [
        ["A", "20"],
        ["", "40"],
        ["B", "20"],
        ["", "40"],
        ["C", "20"],
        ["", "40"],
    ]
    assert rows[0][2] == r"*0.1000 ± 0.0100*\*"  # second, and unlike the reference
    assert rows[1][2] == r"**0.4000 ± 0.0100**\*"
    assert rows[2][2] == "**0.2000 ± 0.0100**"
    assert rows[4][2] == "—"


def test_the_papers_numbers_stand_in_brackets() -> None:
    theirs = Published("x", "B", 20, {"recall": 0.5, "ndcg": 0.6, "hr": 0.7})
    rows = accuracy(table(), [theirs])
    assert rows[3][2:] == [f"**0.2000 ± 0.0100** ({x:.4f})" for x in (0.5, 0.6, 0.7)]
    assert "(" not in rows[4][2]


def test_a_section_tells_budget_cost_and_refusals() -> None:
    text = set_section(table())
    assert "3 settings tried by each, then 2 seeds" in text
    assert "after 30 s of CPU" in text
    assert "- B: re-ranks.\n- C: too large." in text
    assert "dim 32, learning_rate 0.0123, layers (32 16)" in text
    assert beside(table(), 20)[1][8:] == ["0.01", "+0.50", "2", "12", "1", "1.5", "100"]
    assert beside(table(), 20)[3][1:] == ["—"] * 14


def test_the_papers_table_is_whole() -> None:
    rows = read_published(PAPER)
    assert len(rows) == 3 * 6 * 4
    first = next(r for r in rows if (r.set, r.model, r.k) == ("last-fm", "CERec", 20))
    assert first.values == pytest.approx({"recall": 0.1015, "ndcg": 0.0900, "hr": 0.3867})
    assert published_section(rows).count("\n") == 1 + 6 * 4
