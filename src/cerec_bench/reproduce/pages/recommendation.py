"""Table II: recommendation, in the paper's layout."""

from __future__ import annotations

from cerec_bench.compare.page import (
    Published,
    accuracy,
    beside,
    chosen,
    published_section,
    read_published,
)
from cerec_bench.reproduce.pages.parts import title_of
from cerec_bench.reproduce.plan import Table
from cerec_bench.reproduce.store import Results
from cerec_bench.reproduce.text import Block, Grid

THEIRS = {"last-fm": "last-fm", "yelp2018-partial": "yelp2018"}
"""Sets that are (part of) a set of the paper's, by its name in `paper.csv`."""


def blocks(results: Results) -> list[Block]:
    """One section per set, the paper's numbers beside ours where the set is the same."""
    out: list[Block] = [
        "All systems on one split, settings chosen on validation with the same number of trials "
        "for each, then several seeds on test, over the whole catalogue. Best bold, second in "
        "italics. A star: differs from CERec over users, p < 0.05 (Wilcoxon signed-rank, "
        "Holm-corrected). [How](../guide/compare.md).",
    ]
    published = _published(results)
    for result in results.of("table"):
        theirs = [row for row in published if row.set == THEIRS.get(result.cell.set)]
        out += _section(title_of(results, result.cell.set), result.found, theirs)
    if published:
        out += ["## The paper's table II", published_section(published)]
    return out


def _section(title: str, table: Table, theirs: list[Published]) -> list[Block]:
    about = table["about"]
    head, *rows = accuracy(table, theirs)
    caption = (
        f"{about['users']:,} users, {about['items']:,} items; {about['trials']} settings tried by "
        f"each, then {about['seeds']} seeds; mean ± standard deviation over seeds."
    )
    taken, *took = beside(table, about["ks"][0])
    asked, *won = chosen(table)
    out: list[Block] = [
        f"## {title}",
        Grid(caption, head, rows),
        Grid(f"At {about['ks'][0]}, beside accuracy, and what a fit took.", taken, took),
        Grid("Chosen settings; the others are the defaults.", asked, won, prose=True),
    ]
    notes = [
        f"- {line['title']}: {line['error'] or line['note']}."
        for line in table["lines"]
        if line["error"] or line["note"]
    ]
    return [*out, "\n".join(notes)] if notes else out


def _published(results: Results) -> list[Published]:
    path = results.folder / results.experiment.page / "paper.csv"
    return read_published(path) if path.exists() else []
