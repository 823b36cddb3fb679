"""Table III: consistency of explanations."""

from __future__ import annotations

from cerec_bench.explainers.report import markdown, read_summary
from cerec_bench.reproduce.plan import Table
from cerec_bench.reproduce.store import Results, cell_path
from cerec_bench.reproduce.text import Block, Grid


def blocks(results: Results) -> list[Block]:
    """The paper's table, then ours for every truth, then what re-scoring says."""
    experiment = results.experiment
    out: list[Block] = ["## The paper's table III", _paper(experiment.paper)]
    found = {
        r.cell.set: read_summary(cell_path(results.folder, experiment, r.cell))
        for r in results.of("consistency")
    }
    if found:
        out += ["## Ours", markdown(found).strip()]
    return out


def _paper(paper: Table) -> Grid:
    sets = list(paper)
    head = ["", *(f"{name} {m} %" for name in sets for m in ("precision", "recall", "F1"))]
    models = list(dict.fromkeys(model for name in sets for model in paper[name]))
    rows = [
        [model, *(f"{value:.4f}" for name in sets for value in paper[name][model])]
        for model in models
    ]
    return Grid("Agreement with attributes drawn by dynamic negative sampling.", head, rows)
