"""The simple rivals by name: title, how each is fitted, and whether luck is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from cerec_bench.systems.chunks import Unfactored
from cerec_bench.systems.simple.contentknn import contentknn
from cerec_bench.systems.simple.ease import ease
from cerec_bench.systems.simple.gfcf import gfcf
from cerec_bench.systems.simple.ials import ials
from cerec_bench.systems.simple.itemknn import itemknn
from cerec_bench.systems.simple.popularity import popularity
from cerec_bench.systems.simple.rp3beta import rp3beta
from cerec_bench.systems.simple.slim import slim


@dataclass(frozen=True, slots=True)
class Rival:
    """One simple recommender; `fit(train, **settings)` gives what scores users."""

    title: str
    fit: Callable[..., Unfactored]
    seeded: bool = False
    """Whether something is drawn at random."""


RIVALS: Mapping[str, Rival] = {
    "popularity": Rival("Popularity", popularity),
    "contentknn": Rival("Content-kNN", contentknn),
    "itemknn": Rival("Item-kNN", itemknn),
    "rp3beta": Rival("RP3-beta", rp3beta),
    "ease": Rival("EASE", ease),
    "ease-weighted": Rival("EASE, users weighted", partial(ease, user_weight=0.5)),
    "slim": Rival("SLIM", slim),
    "gfcf": Rival("GF-CF", gfcf),
    "ials": Rival("iALS", ials, seeded=True),
}
