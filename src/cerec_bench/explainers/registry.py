"""The explainers that may stand in the table, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from cerec_bench.explainers import important
from cerec_bench.explainers.accent import Accent
from cerec_bench.explainers.cerec import LowestEffects, PaperForm, Verified
from cerec_bench.explainers.counter import CountER
from cerec_bench.explainers.important import LastImportant
from cerec_bench.explainers.prince import Prince
from cerec_bench.explainers.protocol import Method
from cerec_bench.explainers.rdexp import RandomExplainer
from cerec_bench.explainers.search import Greedy
from cerec_bench.systems.registry import by_name


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the table."""

    title: str
    make: Callable[[], Method]
    acts_on: Literal["values", "history"] = "values"
    """What it changes: values of the item, or what the user took. The latter names no values, so
    precision and recall do not apply to it."""
    seeded: bool = True
    """False when nothing is drawn at random: one seed tells all."""
    agent: bool = False
    """Whether it rests on CERec's agent, whose learning then counts in its time."""
    draws: bool = False
    """Whether it has a `draw(pairs, number)` and is measured over many draws of one seed."""
    note: str = ""


_AS_MANY = "as many values as CERec's answer has changes"

METHODS: Mapping[str, Entry] = {
    "rdexp-entities": Entry("RDExp, all entities", lambda: RandomExplainer("entities"), draws=True),
    "rdexp-values": Entry("RDExp, attributes", lambda: RandomExplainer("values"), draws=True),
    "rdexp-own": Entry("RDExp, item's own", lambda: RandomExplainer("own"), draws=True),
    "rdexp-values-matched": Entry(
        "RDExp, attributes, matched",
        lambda: RandomExplainer("values", match=Verified()),
        agent=True,
        draws=True,
        note=_AS_MANY,
    ),
    "rdexp-own-matched": Entry(
        "RDExp, item's own, matched",
        lambda: RandomExplainer("own", match=Verified()),
        agent=True,
        draws=True,
        note=_AS_MANY,
    ),
    "neuacf": Entry(
        "NeuACF",
        lambda: LastImportant(important.neuacf, epochs=12, own=False),
        note="the ten of all values that its user cares least for",
    ),
    "neuacf-own": Entry(
        "NeuACF, item's own",
        lambda: LastImportant(important.neuacf, epochs=12, own=True),
        note="the ten of the item's values that its user cares least for",
    ),
    "cadsi": Entry(
        "CaDSI",
        lambda: LastImportant(important.cadsi, epochs=0, own=False),
        note="the ten of all values that its user cares least for",
    ),
    "cadsi-own": Entry(
        "CaDSI, item's own",
        lambda: LastImportant(important.cadsi, epochs=0, own=True),
        note="the ten of the item's values that its user cares least for",
    ),
    "greedy": Entry("Greedy search", Greedy, seeded=False, note="values taken away"),
    "greedy-replace": Entry(
        "Greedy search, replacing",
        lambda: Greedy(replace=True),
        seeded=False,
        note="replaced by any value of the relation, towards no item in particular",
    ),
    "counter": Entry("CountER", CountER, note="values taken away"),
    "prince": Entry(
        "PRINCE",
        Prince,
        acts_on="history",
        seeded=False,
        note="minimal for PageRank, which need not rank as the recommender does",
    ),
    "accent": Entry("ACCENT", Accent, acts_on="history", seeded=False),
    "cerec-paper": Entry(
        "CERec, the paper's set", PaperForm, agent=True, note="all of A_j \\ A_i is gained"
    ),
    "cerec-swap": Entry(
        "CERec, whole swap",
        lambda: PaperForm(swap=True),
        agent=True,
        note="the item takes all attributes of j: A_j \\ A_i gained, A_i \\ A_j lost",
    ),
    "effects": Entry(
        "Lowest effects",
        LowestEffects,
        seeded=False,
        note="the ten values with the lowest effect for the user; no search, no item j",
    ),
    "cerec-free": Entry(
        "CERec, any values",
        lambda: Verified("attributes"),
        seeded=False,
        note="the smallest verified set of all, toward no item, without the agent",
    ),
    "cerec-item": Entry(
        "CERec, any item",
        lambda: Verified("attributes", "item"),
        seeded=False,
        note="the smallest verified set that one real item has, without the agent",
    ),
    "cerec": Entry(
        "CERec", Verified, agent=True, note="the smallest verified set toward the agent's items"
    ),
}


def method(name: str) -> Entry:
    """The explainer of that name."""
    return by_name("explanation method", name, METHODS)
