"""The main parameters of a recommender: what lifts listed items, and what would take them out.

Every figure is a ratio of sums over the listed pairs of all users; intervals come from a bootstrap
over users, in which every user counts a Poisson(1) number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.audit.parts import Block, Parts
from cerec.audit.plain import as_html, plain
from cerec.audit.segments import Groups
from cerec.audit.tally import BOOT, Share, Tally, answered
from cerec.audit.warnings import Signs
from cerec.data.dataset import Dataset
from cerec.explain.phrases import Labels
from cerec.explain.solving import Solver
from cerec.recommend.linear.model import Linear
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Subject
from cerec.rng import generator

_TOP = 20  # values that are named
_RANGED = 2_000  # users of the range over settings
WORDS = {
    "history": "what the user took before",
    "common": "popularity that its attributes explain",
    "own": "popularity beyond that",
    "other": "everything that attributes do not explain",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that the order of lists depends on."""

    kind: str
    """`relation`, `history`, `common`, `own` or `other`."""
    id: str
    name: str
    share: Share
    """Of what lifts listed items above the average unseen one. The shares add up to 1."""
    by_rank: Mapping[str, float]
    """The share at ranks 1, 2 to 5 and so on."""
    decides: Share
    """How often the item would leave the list, were this part that of the average item."""
    needed: Share | None = None
    """How often a change within this relation alone takes the item out."""
    answered: Share | None = None
    """How often the smallest change of all is about it."""
    settings: tuple[float, float] | None = None
    """The share over settings that do as well on validation."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a relation, by what it lifts listed items."""

    relation: str
    id: str
    name: str
    share: float
    pairs: int
    """Listed pairs whose item has it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The shares within a group of users or of items."""

    by: str
    group: str
    users: int
    pairs: int
    shares: tuple[tuple[str, Share], ...]
    """(id of the parameter, share); empty where the group is too small to be shown."""
    gap: tuple[tuple[str, Share], ...]
    """How far each share lies from that of everybody."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found over the lists of all users, or of a sample of them."""

    k: int
    users: int
    pairs: int
    sampled_from: int
    source: str
    parameters: tuple[Parameter, ...]
    values: tuple[Value, ...]
    segments: tuple[Segment, ...]
    signs: tuple[Any, ...]
    suppressed: int = 0
    """Groups with too few users to be shown."""
    outcomes: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        return dict(plain(self))

    def text(self, name: str = "this recommender") -> str:
        """A page in Markdown."""
        from cerec.audit.disclosure import audit_text

        return audit_text(self, name)

    def _repr_html_(self) -> str:
        return as_html(self.text())


def measure(
    data: Dataset,
    subject: Subject,
    *,
    k: int = 20,
    users: NDArray[np.integer] | None = None,
    groups: Groups | None = None,
    least: int = 20,
    chosen: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Callable[[int], object] = lambda _: None,
) -> Findings:
    """The main parameters. `groups`: segments; `least`: users that a group must have; `chosen`:
    what the run keeps of how its settings were chosen.
    """
    rows = np.arange(len(data.users)) if users is None else np.asarray(users, np.int64)
    parts, solver = Parts(subject, k), Solver(data, subject)
    groups = groups or Groups.none(len(data.users), len(data.items))
    ranks = _ranks(parts.k)
    tally = Tally(len(ranks) + 1 + len(groups.names), len(parts.names), len(parts.relations))
    signs = Signs(data, subject, parts)
    for block in parts.blocks(rows):
        answers = answered(block, solver, parts)
        cells = _masks(block, ranks, groups)
        weights = generator(seed, f"audit/{int(block.users[0])}").poisson(
            1.0, (len(block.users), BOOT)
        )
        tally.add(block, answers, cells, weights.astype(np.float64))
        signs.add(block, answers.found)
        progress(len(block.users))
    ranged = _over_settings(parts, subject, rows, chosen)
    named = _names(data, parts)
    found = tuple(
        _parameter(n, named[n], tally, list(ranks), ranged, parts) for n in range(len(named))
    )
    segments, suppressed = _segments(tally, groups, len(ranks) + 1, named, least)
    return Findings(
        k=parts.k,
        users=len(rows),
        pairs=int(tally.total[0, tally.pairs]),
        sampled_from=len(data.users),
        source=subject.source,
        parameters=tuple(sorted(found, key=lambda p: -p.share.value)),
        values=_values(data, subject, parts, float(tally.total[0, tally.lift])),
        segments=segments,
        signs=tuple(signs.found()),
        suppressed=suppressed,
        outcomes=_outcomes(tally),
    )


def _ranks(k: int) -> dict[str, tuple[int, int]]:
    """Ranges of ranks, from 0, without the last."""
    ends = [0, 1, 5, 10, 20, 50, 100]
    cuts = [e for e in ends if e < k] + [k]
    pairs = pairwise(cuts)
    return {f"{a + 1}" if b == a + 1 else f"{a + 1} to {b}": (a, b) for a, b in pairs}


def _masks(
    block: Block, ranks: Mapping[str, tuple[int, int]], groups: Groups
) -> list[NDArray[np.bool_]]:
    """(n, k) masks: everybody, ranges of ranks, segments."""
    everybody = np.ones(block.listed.shape, bool)
    at = np.arange(block.listed.shape[1])
    out = [everybody]
    out += [everybody & ((at >= a) & (at < b)) for a, b in ranks.values()]
    return out + groups.masks(block.users, block.listed)


def _names(data: Dataset, parts: Parts) -> list[tuple[str, str, str]]:
    """Kind, id and name of every part."""
    relations = data.relations
    out = [("relation", relations.ids[r], relations.names[r]) for r in parts.relations.tolist()]
    return out + [(kind, kind, WORDS[kind]) for kind in parts.names[len(parts.relations) :]]


def _parameter(
    n: int,
    named: tuple[str, str, str],
    tally: Tally,
    ranks: list[str],
    ranged: Doubles | None,
    parts: Parts,
) -> Parameter:
    relation = n < len(parts.relations)
    return Parameter(
        *named,
        share=tally.share(0, n, tally.lift),
        by_rank={
            rank: tally.share(g, n, tally.lift).value for g, rank in enumerate(ranks, start=1)
        },
        decides=tally.share(0, tally.leaves + n, tally.pairs),
        needed=tally.share(0, tally.needed + n, tally.pairs) if relation else None,
        answered=tally.share(0, tally.changed + n, tally.pairs) if relation else None,
        settings=None if ranged is None else (float(ranged[0, n]), float(ranged[1, n])),
    )


def _segments(
    tally: Tally, groups: Groups, first: int, named: list[tuple[str, str, str]], least: int
) -> tuple[tuple[Segment, ...], int]:
    out, suppressed = [], 0
    for g, (by, group) in enumerate(groups.names, start=first):
        users, pairs = int(tally.users[g]), int(tally.total[g, tally.pairs])
        if users < least:
            suppressed += 1
            continue
        ids = [id_ for _, id_, _ in named]
        shares = tuple((x, tally.share(g, n, tally.lift)) for n, x in enumerate(ids))
        gap = tuple((x, tally.share(g, n, tally.lift, less=0)) for n, x in enumerate(ids))
        out.append(Segment(by, group, users, pairs, shares, gap))
    return tuple(out), suppressed


def _values(data: Dataset, subject: Subject, parts: Parts, lift: float) -> tuple[Value, ...]:
    """The values that lift listed items most, whichever way."""
    sums, labels = parts.sums, Labels(data, subject, silent=True)
    order = np.argsort(-np.abs(sums.part), kind="stable")[:_TOP]
    return tuple(
        Value(
            relation=data.relations.ids[int(labels.value_relation[v])],
            id=data.entities.ids[int(labels.value_attribute[v])],
            name=labels.value(v),
            share=float(sums.part[v] / lift),
            pairs=int(sums.pairs[v]),
        )
        for v in order.tolist()
        if sums.pairs[v]
    )


def _outcomes(tally: Tally) -> dict[str, int]:
    pairs, found = tally.total[0, tally.pairs], tally.total[0, tally.found]
    return {
        "pairs": int(pairs),
        "by attributes": int(found),
        "not by attributes": int(pairs - found),
    }


def _over_settings(
    parts: Parts,
    subject: Subject,
    rows: NDArray[np.int64],
    chosen: Mapping[str, Any] | None,
) -> Doubles | None:
    """(2, P) the lowest and highest share over weights of attributes that do as well."""
    model, curve = subject.model, (chosen or {}).get("curve")
    now = float((chosen or {}).get("attributes") or 0.0)
    if not isinstance(model, Linear) or not curve or now <= 0.0:
        return None
    best = max(y for _, y in curve)
    near = [float(x) for x, y in curve if y >= 0.99 * best]
    some = rows[:: max(1, len(rows) // _RANGED)]
    found = []
    for weight in {min(near), now, max(near)}:
        ratio = weight / now
        a = model.arrays
        other = replace(a, unit=a.unit * ratio, bits=a.bits - int(np.ceil(np.log2(max(ratio, 1)))))
        again = Parts(replace(subject, model=Linear(other)), parts.k)
        part, lift = 0.0, 0.0
        for block in again.blocks(some):
            part, lift = part + block.part.sum(axis=(0, 1)), lift + block.lift.sum()
        found.append(np.asarray(part) / lift)
    return np.array([np.min(found, axis=0), np.max(found, axis=0)])
