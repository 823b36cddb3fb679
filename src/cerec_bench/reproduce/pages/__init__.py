"""Pages made of results alone: nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cerec_bench.reproduce.pages import (
    ablations,
    agent,
    cases,
    consistency,
    data,
    depth,
    flips,
    recommendation,
)
from cerec_bench.reproduce.pages.about import about_page
from cerec_bench.reproduce.pages.parts import closing
from cerec_bench.reproduce.pages.systems import write_snippets
from cerec_bench.reproduce.plan import Experiment
from cerec_bench.reproduce.store import Results, read_results
from cerec_bench.reproduce.text import Block, Page

PAGES: dict[str, Callable[[Results], list[Block]]] = {
    "data": data.blocks,
    "depth": depth.blocks,
    "agent": agent.blocks,
    "ablations": ablations.blocks,
    "cases": cases.blocks,
    "flips": flips.blocks,
    "recommendation": recommendation.blocks,
    "consistency": consistency.blocks,
}
"""What stands on each page, above what is missing."""

__all__ = ["PAGES", "about_page", "page_of", "render", "write_snippets"]


def page_of(experiment: Experiment, folder: Path) -> tuple[Page, int]:
    """The page of an experiment from the results in a folder, and how many cells are missing."""
    results = read_results(folder, experiment)
    blocks = [*PAGES[experiment.page](results), *closing(results)]
    return Page(experiment.page, experiment.title, blocks), len(results.missing)


def render(experiment: Experiment, folder: Path) -> tuple[Path, int]:
    """Write the page; its path, and how many cells are missing."""
    page, missing = page_of(experiment, folder)
    return page.write(folder)[0], missing
