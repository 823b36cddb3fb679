"""Table I: the data."""

from __future__ import annotations

from cerec_bench.reproduce.pages.parts import title_of
from cerec_bench.reproduce.plan import Table
from cerec_bench.reproduce.store import Results
from cerec_bench.reproduce.text import Block, Grid, percent

COLUMNS = {
    "users": "users",
    "items": "items",
    "interactions": "interactions",
    "density": "density",
    "entities": "other entities",
    "relations": "relations",
    "triples": "triples",
}


def blocks(results: Results) -> list[Block]:
    """The data as it came, as it is learned from, and the paper's own table."""
    came = [[title_of(results, r.cell.set), *_row(r.found["came"])] for r in results.of("data")]
    learned = [
        [title_of(results, r.cell.set), *_row(r.found["learned"]), *_facts(r.found["learned"])]
        for r in results.of("data")
    ]
    paper = [[name, *_row(row)] for name, row in results.experiment.paper.items()]
    leaks = [
        [
            title_of(results, r.cell.set),
            f"{r.found['came'].get('train_pairs', 0):,}",
            f"{r.found['came'].get('test_pairs', 0):,}",
            f"{r.found['leaks'].get('leak', {}).get('pairs', 0):,}",
        ]
        for r in results.of("data")
        if r.found["came"].get("test_pairs")
    ]
    head = ["", *COLUMNS.values()]
    return [
        "Table I of the paper, and ours. *Interactions* are distinct pairs of user and item. "
        "*Other entities* are nodes of the knowledge graph that are no items, as in the paper; a "
        "relation counts once whichever way it is read.",
        Grid("The paper's table.", head, paper),
        Grid("Ours, as the files came.", head, came),
        Grid(
            "What experiments learn from, after the filters of "
            "`src/cerec_bench/reproduce/experiments/sets.toml` (attributes with fewer "
            "than 10 facts and "
            "relations with fewer than 50 go, as in the paper). *Values* are pairs of relation and "
            "attribute that items have; *facts* say which item has which.",
            [*head, "values", "facts"],
            learned,
        ),
        "Why they differ. *Last-FM*: users, items and graph are the paper's; its 3,034,796 "
        "interactions count repeated listening, distinct pairs are about half. *Yelp2018*: only a "
        "part of the files could be had. *Amazon-book*: its graph could not be had.",
        Grid(
            "Pairs that stand in both the train and the test file, of sets that come in files. "
            "`cerec data check FOLDER` tells the same of any folder.",
            ["", "train pairs", "test pairs", "in both"],
            leaks,
        )
        if leaks
        else "No set here comes in train and test files.",
    ]


def _row(figures: Table) -> list[str]:
    out = []
    for name in COLUMNS:
        if name == "density":
            cells = figures["users"] * figures["items"]
            out.append(percent(figures["interactions"] / cells if cells else None, 3))
        else:
            out.append(f"{figures[name]:,}")
    return out


def _facts(figures: Table) -> list[str]:
    return [f"{figures['values']:,}", f"{figures['facts_of_items']:,}"]
