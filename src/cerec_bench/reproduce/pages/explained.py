"""Columns for figures of explanations, shared by pages."""

from __future__ import annotations

from typing import Any

from cerec_bench.reproduce.pages.parts import over_seeds
from cerec_bench.reproduce.plan import Table
from cerec_bench.reproduce.store import Result


def mean_size(found: Table) -> float:
    """Mean number of changes of a verified explanation."""
    sizes = found["sizes"]
    return sum(int(s) * n for s, n in sizes.items()) / max(sum(sizes.values()), 1)


def share_of_size(found: Table, size: int) -> float:
    """Share of verified explanations with so many changes."""
    return float(found["sizes"].get(str(size), 0) / max(sum(found["sizes"].values()), 1))


HEAD = ["verified", "by the beam alone", "mean changes", "as small as the best", "similarity"]


def row(seeds: list[Result]) -> list[str]:
    """The cells of `HEAD` for one variant."""

    def of(name: str) -> Any:
        return lambda found: 100 * found["explanations"][name]

    def beam(found: Table) -> float:
        e = found["explanations"]
        return float(100 * e["found_by_beam"] / max(e["status"].get("verified", 0), 1))

    return [
        over_seeds(seeds, of("coverage"), 1),
        over_seeds(seeds, beam, 1),
        over_seeds(seeds, lambda f: mean_size(f["explanations"]), 2),
        over_seeds(seeds, lambda f: 100 * f["explanations"]["beside_the_best"]["same_size"], 1),
        over_seeds(seeds, lambda f: f["explanations"]["similarity"], 3),
    ]


NOTE = (
    "*Verified*, *by the beam alone* and *as small as the best* in per cent: pairs with a checked "
    "answer; of those, found among the agent's own proposals; of a sample, no larger than the best "
    "over all items. *Similarity*: cosine of the item and the counterfactual item."
)
