"""The explainers that may stand in the table, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from cerec_bench.explainers import important
from cerec_bench.explainers.accent import Accent
from cerec_bench.explainers.cerec import PaperForm, Verified
from cerec_bench.explainers.controls import Control
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


_AS_MANY = "as many values as the paper's set has for the pair"
EPOCHS = 40
"""Of the models of NeuACF and CaDSI."""


METHODS: Mapping[str, Entry] = {
    "rdexp-entities": Entry("RDExp, all entities", lambda: RandomExplainer("entities"), draws=True),
    "rdexp-values": Entry("RDExp, attributes", lambda: RandomExplainer("values"), draws=True),
    "rdexp-own": Entry("RDExp, item's own", lambda: RandomExplainer("own"), draws=True),
    "random-item": Entry(
        "Values of a random item",
        lambda: Control("random item"),
        note="all that a random item has and the item lacks",
    ),
    "by-frequency": Entry(
        "As many by frequency", lambda: Control("by frequency"), agent=True, note=_AS_MANY
    ),
    "most-frequent": Entry(
        "As many, most frequent", lambda: Control("most frequent"), agent=True, note=_AS_MANY
    ),
    **{
        name + suffix: Entry(
            title + (", item's own" if own else ""),
            partial(LastImportant, model, epochs=EPOCHS, own=own),
            note=f"the ten of {'its own' if own else 'all'} values that the user cares least for; "
            f"{EPOCHS} epochs",
        )
        for name, title, model in (
            ("neuacf", "NeuACF", important.neuacf),
            ("cadsi", "CaDSI", important.cadsi),
        )
        for suffix, own in (("", False), ("-own", True))
    },
    "greedy": Entry("Greedy search", Greedy, seeded=False, note="values taken away"),
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
        "CERec (paper)", PaperForm, agent=True, note="all of A_j \\ A_i, of the agent's item j"
    ),
    "cerec-free": Entry(
        "CERec, any values",
        lambda: Verified("attributes"),
        seeded=False,
        note="the smallest verified set of all, toward no item, without the agent",
    ),
    "cerec": Entry(
        "CERec", Verified, agent=True, note="the smallest verified set toward the agent's items"
    ),
}


def method(name: str) -> Entry:
    """The explainer of that name."""
    return by_name("explanation method", name, METHODS)
