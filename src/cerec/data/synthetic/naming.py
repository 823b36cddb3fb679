"""Invented names for generated worlds: films, people, studios and the like."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GENRES = _words(
    "Drama Comedy Thriller Romance Action Adventure Crime Fantasy Horror Mystery Western Musical "
    "Animation Documentary War Satire Noir Family"
)
COUNTRIES = _words(
    "Valdoria Kestria Norrland Amarinth Sorrelia Teluria Brask Ostmark Lunovia Perenne Quillia "
    "Ravenna Sablia Tarn Umbria Veskia Wyndmere Yarrow Zelmar Corvania Drell Elbria Fennmark "
    "Galloria"
)
LANGUAGES = _words(
    "Valdorian Kestrian Norric Amarin Sorrel Telurian Braskic Ostic Lunovian Perennic Quillan "
    "Ravennese Sablian Tarnish Umbric Veskian"
)
DECADES = _words("1930s 1940s 1950s 1960s 1970s 1980s 1990s 2000s 2010s 2020s")
_FIRST = _words(
    "Ada Anton Bela Bruno Clara Cyrus Dalia Dario Edith Emil Flora Felix Greta Gustav Hana Hugo "
    "Ines Ivan Joan Jonas Karin Kaspar Lena Leo Mara Milo Nadia Nils Olga Oskar Petra Paul Rosa "
    "Rufus Selma Simon Tessa Tobias Ursula Viktor Wanda Yara Zora Alma August Beatrix Caspian Esme"
)
_LAST = _words(
    "Abbot Aldern Ashdown Baird Barlow Beck Brandt Calder Carrow Castell Dahl Dane Drummond Ekholm "
    "Falk Farrow Finch Garrick Glass Hale Harrow Holm Ibsen Janssen Kaye Kestrel Kovar Larkin Lund "
    "Marlow Mercer Moss Nash Nightley Okoro Orlov Pell Penrose Quist Rook Rowan Sable Sorensen "
    "Tamm Thorne Underhill Vale Varga Voss Wexler Winter Wolfe Yates Zeller"
)
_ADJECTIVE = _words(
    "Silent Broken Golden Crimson Hidden Last Burning Frozen Hollow Distant Endless Painted Paper "
    "Velvet Restless Borrowed Forgotten Electric Wandering Midnight Quiet Scarlet Second Stolen "
    "Savage Tender Unspoken Wicked Bright Bitter Lonely Lost Iron Glass"
)
_NOUN = _words(
    "Harbor Orchard Garden River Mirror Station Winter Lantern Promise Empire Letter Horizon "
    "Carnival Kingdom Stranger Summer Signal Shadow Voyage Window Tower Bridge Cathedral Country "
    "Daughter Engine Feast Ghost Hour Island Journey Key Labyrinth Machine Night Ocean Parade "
    "Quarry Road Season Tide Valley Witness Year"
)
_PATTERN = ("The {a} {n}", "{a} {n}", "A {a} {n}", "My {a} {n}", "Beyond the {a} {n}")
_PLACE = _words(
    "Northlight Bluegate Redwood Silverline Millbrook Harbourside Lanternhouse Fourthwall "
    "Kingfisher Moonraker Papertiger Stonebridge Ironwood Tallship Longview Westerly Highfield "
    "Greenlamp Foxglove Starling"
)
_FIRM = _words("Pictures Films Studios Productions Cinema Entertainment Media")


def _combine(parts: Sequence[Sequence[str]], n: int, rng: np.random.Generator) -> list[str]:
    """Make n distinct combinations, one entry of each part; numerals follow when they run out."""
    total = int(np.prod([len(p) for p in parts]))
    order = rng.permutation(total)
    digits = np.unravel_index(order[np.arange(n) % total], [len(p) for p in parts])
    rows = zip(*(d.tolist() for d in digits), strict=True)
    names = [" ".join(p[i] for p, i in zip(parts, row, strict=True)) for row in rows]
    return [name if k < total else f"{name} {k // total + 1}" for k, name in enumerate(names)]


def listed(words: Sequence[str], n: int) -> list[str]:
    """The first n of a list; numerals are added when it runs out."""
    return [
        words[k % len(words)] + ("" if k < len(words) else f" {k // len(words) + 1}")
        for k in range(n)
    ]


def films(n: int, rng: np.random.Generator) -> list[str]:
    """Titles such as `The Silent Harbor`."""
    filled = [p.format(a=a, n="{n}").removesuffix(" {n}") for p in _PATTERN for a in _ADJECTIVE]
    filled = [re.sub(r"^A (?=[AEIOU])", "An ", start) for start in filled]
    return _combine([filled, _NOUN], n, rng)


def people(n: int, rng: np.random.Generator) -> list[str]:
    """Names such as `Ada Larkin`; with a middle initial when there are many."""
    if n <= len(_FIRST) * len(_LAST):
        return _combine([_FIRST, _LAST], n, rng)
    initials = [f"{chr(c)}." for c in range(ord("A"), ord("Z") + 1)]
    return _combine([_FIRST, initials, _LAST], n, rng)


def studios(n: int, rng: np.random.Generator) -> list[str]:
    """Names such as `Northlight Pictures`."""
    return _combine([_PLACE, _FIRM], n, rng)


def keywords(n: int, rng: np.random.Generator) -> list[str]:
    """Values of a further relation, such as `silent harbor`."""
    return _combine([[a.lower() for a in _ADJECTIVE], [w.lower() for w in _NOUN]], n, rng)


def slug(name: str) -> str:
    """A name as an id: lower case, without blanks or signs."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
