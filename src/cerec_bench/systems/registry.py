"""Every compared system by name: its settings, the authors' preset, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from cerec.errors import ConfigError, near_matches
from cerec.recommend.base import EpochRecommender, Material
from cerec_bench.systems import (
    cadsi,
    kgat,
    kgpolicy,
    kgpolicy_sampler,
    kgqr,
    kgqr_config,
    mcrec,
    mcrec_network,
    neuacf,
    neumf,
)

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class System:
    """One compared system."""

    title: str
    """As tables print it."""
    config: type
    """Its settings; the defaults suit two CPU cores."""
    authors: Mapping[str, Any]
    """The settings of the authors' release; what is not here they do not state."""
    make: Callable[[Any, Material], EpochRecommender]
    """Settings and material -> a new model."""
    note: str = ""
    """What a table must say beside its numbers."""
    negatives: bool = True
    """Whether it learns from negatives that a sampler draws."""


NEUMF = System(
    "NeuMF",
    neumf.NeuMFConfig,
    neumf.AUTHORS,
    lambda config, m: neumf.NeuMF(config, m.known, m.facts, seed=m.seed),
)
KGAT = System(
    "KGAT",
    kgat.KGATConfig,
    kgat.AUTHORS,
    lambda config, m: kgat.KGAT(config, m.known, m.facts, m.graph, seed=m.seed),
)
KGPOLICY = System(
    "KGPolicy",
    kgpolicy_sampler.KGPolicyConfig,
    kgpolicy.AUTHORS,
    lambda config, m: kgpolicy.KGPolicy(config, m.known, m.facts, m.graph, seed=m.seed),
)
KGQR = System(
    "KGQR",
    kgqr_config.KGQRConfig,
    kgqr_config.AUTHORS,
    lambda config, m: kgqr.KGQR(config, m.known, m.facts, m.graph, seed=m.seed),
    "interactive; ranked by Q in the state after the user's train items",
    negatives=False,
)
MCREC = System(
    "MCRec",
    mcrec_network.MCRecConfig,
    mcrec_network.AUTHORS,
    lambda config, m: mcrec.MCRec(config, m.known, m.facts, seed=m.seed),
    "re-ranks the first 200 items of BPR-MF (a row of its own), not the whole catalogue",
)
NEUACF = System(
    "NeuACF",
    neuacf.NeuACFConfig,
    neuacf.AUTHORS,
    lambda config, m: neuacf.NeuACF(config, m.known, m.facts, seed=m.seed),
)
CADSI = System(
    "CaDSI",
    cadsi.CaDSIConfig,
    cadsi.AUTHORS,
    lambda config, m: cadsi.CaDSI(config, m.known, m.facts, seed=m.seed),
)
SYSTEMS: Mapping[str, System] = {
    "neumf": NEUMF,
    "kgat": KGAT,
    "kgpolicy": KGPOLICY,
    "kgqr": KGQR,
    "mcrec": MCREC,
    "neuacf": NEUACF,
    "cadsi": CADSI,
}
"""The same names are entry points of the group `cerec.recommenders`."""


def system(name: str) -> System:
    """The system of that name."""
    return by_name("system", name, SYSTEMS)


def by_name(what: str, name: str, table: Mapping[str, Entry]) -> Entry:
    """The entry of that name; the refusal of an unknown one has near matches."""
    if name not in table:
        near = near_matches(name, table, most=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(table)}"
        raise ConfigError(f"unknown {what} {name!r}; {hint}")
    return table[name]
