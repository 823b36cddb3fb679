"""Items that one list has and the other has not, with the change of their score, as sentences."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cerec.data.dataset import Dataset
from cerec.explain.wording import item_label, number_text
from cerec.recommend.protocol import Doubles

_CASES = 10


@dataclass(frozen=True, slots=True)
class MoveCause:
    """One part of the change of a score."""

    kind: str
    id: str
    name: str
    part: float


@dataclass(frozen=True, slots=True)
class Moved:
    """An item that one list has and the other has not."""

    user: str
    item: str
    name: str
    came: bool
    """Whether it is the second run that lists it."""
    rank_a: int
    rank_b: int
    score: float
    """Change of its score: the sum of the parts."""
    cutoff: float
    """Change of the score of the last place."""
    parts: tuple[MoveCause, ...]
    """Largest first."""
    text: str


def moved(
    data: Dataset,
    user: int,
    item: int,
    came: bool,
    ranks: tuple[int, int],
    part: Doubles,
    cutoff: float,
    names: list[tuple[str, str, str]],
) -> Moved:
    """One item of one user, with its sentence; `part` in the order of `names`."""
    order = np.argsort(-np.abs(part), kind="stable").tolist()
    parts = tuple(
        MoveCause(kind, id_, name, float(part[n]))
        for n, (kind, id_, name) in ((n, names[n]) for n in order)
        if part[n] != 0.0
    )
    found = Moved(
        user=data.users.ids[user],
        item=data.items.ids[item],
        name=data.items.names[item],
        came=came,
        rank_a=ranks[0],
        rank_b=ranks[1],
        score=float(part.sum()),
        cutoff=cutoff,
        parts=parts,
        text="",
    )
    return replace(found, text=_text(found))


def _text(m: Moved) -> str:
    label = item_label(m.item, m.name)
    never = np.iinfo(np.int64).max
    where = ["already taken" if r == never else f"rank {r}" for r in (m.rank_a, m.rank_b)]
    verb = "came into" if m.came else "left"
    start = f"{label} {verb} the list of {m.user} ({where[0]}, now {where[1]})."
    if never in (m.rank_a, m.rank_b):
        return start
    sign = 1.0 if m.came else -1.0
    pushed = [p for p in m.parts if p.part * sign > 0][:2]
    bound = -m.cutoff * sign
    if not pushed or bound > max(abs(p.part) for p in pushed):
        way = "lower" if m.came else "higher"
        return f"{start} The last place of the list has a score {number_text(abs(m.cutoff))} {way}."
    told = " and ".join(f"{p.name} {p.part:+.2g}" for p in pushed)
    return f"{start} Its score changed by {m.score:+.2g}, mainly through {told}."


def varied(cases: list[Moved]) -> list[Moved]:
    """The most telling cases, no item and no user twice as long as there are others."""
    out: list[Moved] = []
    for rule in (True, False):
        for case in cases:
            used = {x for c in out for x in (c.user, c.item)} if rule else set()
            if len(out) < _CASES and case not in out and not {case.user, case.item} & used:
                out.append(case)
    return out
