"""Every compared system by name: its settings, the authors' preset, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError, near_matches
from cerec.recommend.base import Recommender
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


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """What a model may be made of: nothing here knows of validation or test."""

    known: Ragged
    """User -> train items."""
    facts: Facts
    graph: Ckg
    """The graph of the train part."""
    seed: int


@dataclass(frozen=True, slots=True)
class System:
    """One compared system."""

    title: str
    """As tables print it."""
    config: type
    """Its settings; the defaults suit two CPU cores."""
    authors: Any
    """The settings of the authors' release."""
    make: Callable[[Any, Material], Recommender]
    """Settings and material -> a new model."""
    note: str = ""
    """What a table must say beside its numbers."""


SYSTEMS: Mapping[str, System] = {
    "neumf": System(
        "NeuMF",
        neumf.NeuMFConfig,
        neumf.AUTHORS,
        lambda config, m: neumf.NeuMF(config, m.known, m.facts, seed=m.seed),
    ),
    "kgat": System(
        "KGAT",
        kgat.KGATConfig,
        kgat.AUTHORS,
        lambda config, m: kgat.KGAT(config, m.known, m.facts, m.graph, seed=m.seed),
    ),
    "kgpolicy": System(
        "KGPolicy",
        kgpolicy_sampler.KGPolicyConfig,
        kgpolicy.AUTHORS,
        lambda config, m: kgpolicy.KGPolicy(config, m.known, m.facts, m.graph, seed=m.seed),
    ),
    "kgqr": System(
        "KGQR",
        kgqr_config.KGQRConfig,
        kgqr_config.AUTHORS,
        lambda config, m: kgqr.KGQR(config, m.known, m.facts, m.graph, seed=m.seed),
        "interactive; ranked by Q in the state after the user's train items",
    ),
    "mcrec": System(
        "MCRec",
        mcrec_network.MCRecConfig,
        mcrec_network.AUTHORS,
        lambda config, m: mcrec.MCRec(config, m.known, m.facts, seed=m.seed),
        "re-ranks the first 200 items of BPR-MF, not the whole catalogue",
    ),
    "neuacf": System(
        "NeuACF",
        neuacf.NeuACFConfig,
        neuacf.AUTHORS,
        lambda config, m: neuacf.NeuACF(config, m.known, m.facts, seed=m.seed),
    ),
    "cadsi": System(
        "CaDSI",
        cadsi.CaDSIConfig,
        cadsi.AUTHORS,
        lambda config, m: cadsi.CaDSI(config, m.known, m.facts, seed=m.seed),
    ),
}


def system(name: str) -> System:
    """The system of that name; an unknown name is told with near matches."""
    if name not in SYSTEMS:
        near = near_matches(name, SYSTEMS, most=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(SYSTEMS)}"
        raise ConfigError(f"unknown system {name!r}{hint}")
    return SYSTEMS[name]
