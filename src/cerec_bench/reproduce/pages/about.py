"""The page that says what was found: the paper's number, ours, and why they differ."""

from __future__ import annotations

from pathlib import Path

from cerec_bench.reproduce.pages import findings
from cerec_bench.reproduce.plan import EXPERIMENTS, names, read_experiment
from cerec_bench.reproduce.store import read_results
from cerec_bench.reproduce.text import Block, Grid, Page

INTRO = (
    "Every number on these pages was written by a command of the repository from files that stand "
    "beside the page, with seed, split, spread and sample size. Settings are chosen on validation; "
    "test is looked at once per model and decides nothing. A method that loses is shown losing."
)


REMOVED = (
    "Imagined items were tried and removed: the linear recommender is ahead of them on every set."
)


def about_page(folder: Path, *, quick: bool = False) -> Page:
    """Findings from the result files in a folder."""
    found = {
        name: read_results(folder, read_experiment(name, quick=quick))
        for name in names(EXPERIMENTS)
    }
    rows = [make(found, folder) for make in findings.ROWS]
    said = [f"- **{title}** {make(found, folder)}" for title, make in findings.FINDINGS]
    blocks: list[Block] = [
        INTRO,
        "## The paper's number, ours, why they differ",
        Grid("", ["", "paper", "ours", "why they differ"], rows, prose=True),
        "## Findings",
        "\n".join(said),
        REMOVED,
        "## Make them again",
        "`cerec bench reproduce all --quick` runs everything on a small world in a few minutes; "
        "`cerec bench reproduce all --data FOLDER --out my-results` computes what that "
        "folder lacks, all "
        "of it when it is empty; `--render-only` writes the pages alone. "
        "`experiments/recommendation.py` and "
        "`experiments/consistency.py` make the longer pages of tables II and III here.",
    ]
    return Page("about", "About the results", blocks)
