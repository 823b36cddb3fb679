"""The main parameters of a recommender: what lifts listed items, and what would take them out.

Every figure is a ratio of sums over the listed pairs of all users; intervals come from a bootstrap
over users, in which every user counts a Poisson(1) number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cerec.audit.answered import answered
from cerec.audit.parts import AuditParts, Bits, Block
from cerec.audit.plain import Page, Share
from cerec.audit.segments import Groups
from cerec.audit.tally import Tally, drawn, ratio, share
from cerec.audit.warnings import Signs
from cerec.data.dataset import Dataset
from cerec.errors import QuestionError
from cerec.explain.options import Options
from cerec.explain.phrases import Labels
from cerec.explain.solver import Solver
from cerec.recommend.linear.model import Linear
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Subject

_TOP = 10  # values of a relation that are named
_RANGED = 500  # users of the range over settings
_AS_GOOD = 0.99  # of the best setting on validation


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that the order of lists depends on."""

    kind: str
    """`relation`, `history`, `own` or `other`."""
    id: str
    name: str
    share: Share
    """Of what lifts listed items above the average unseen one. The shares add up to 1."""
    by_rank: Mapping[str, float]
    """The share at ranks 1, 2 to 5 and so on."""
    decides: Share
    """How often the item would leave the list, were this part that of the average item."""
    needed: Share | None = None
    """How often a change within this relation alone takes the item out; None for what is no
    relation, and where a relation is kept as it is."""
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


class Ranged(NamedTuple):
    """The users that were looked at with other settings, and the error of a share (95 %)."""

    users: int
    error: float


@dataclass(frozen=True, slots=True)
class Findings(Page):
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
    everybody: Share | None = None
    """What of the attributes' shares is the same for everybody: popularity that they explain. None
    where a recommender does not tell."""
    suppressed: int = 0
    """Groups with too few users to be shown."""
    least: int = 20
    """Users that a group must have."""
    ranged: Ranged | None = None
    """How the range over settings was found; None where settings were not chosen."""

    def text(self, name: str = "this recommender") -> str:
        """A page in Markdown."""
        from cerec.audit.disclosure import audit_text

        return audit_text(self, name)


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
    parts, solver = AuditParts(subject, k), Solver(data, subject)
    values = solver.values(Options(k=parts.k))
    groups = groups or Groups.none(len(data.users), len(data.items))
    ranks = _ranks(parts.k)
    starts, widths = (
        [a for a, _ in ranks.values()],
        (len(parts.relations) + len(parts.rest), len(parts.relations)),
    )
    tally, signs = Tally(starts, groups, *widths, seed), Signs(data, subject, parts)
    sums = np.zeros((2, len(subject.vocabulary)))

    def look(block: Block) -> tuple[Any, ...]:
        answers = answered(block, values, parts)
        return block, answers.found, tally.of_block(block, answers)

    ends = 0
    for block, found, (more, n_users) in parts.each(rows, look):
        ends += int(np.isfinite(block.cutoff).sum())
        tally.sums += more
        tally.users += n_users
        sums += block.sums
        signs.add(block, found)
        progress(len(block.users))
    if ends == 0:
        raise QuestionError(f"lists of {k} hold all items there are to list; ask for shorter ones")
    named, kept = parts.names(data.relations), np.isin(parts.relations, solver.computed)
    shares = [tally.share(0, "part", n, over="lift") for n in range(len(named))]
    ranges, ranged = _over_settings(parts, rows, chosen, [s.value for s in shares], seed)
    parameters = tuple(
        _parameter(n, named[n], tally, list(ranks), kept, ranges) for n in range(len(named))
    )
    segments, suppressed = _segments(tally, groups, len(ranks) + 1, named, least)
    lift, pairs = tally.sums[0, 0, [tally.column["lift"], tally.column["pairs"]]].tolist()
    return Findings(
        k=parts.k,
        users=len(rows),
        pairs=int(pairs),
        sampled_from=len(data.users),
        source=subject.source,
        parameters=tuple(sorted(parameters, key=lambda p: -p.share.value)),
        values=_values(data, subject, sums, lift),
        segments=segments,
        signs=tuple(signs.found()),
        everybody=tally.share(0, "common", over="lift") if parts.inside.told else None,
        suppressed=suppressed,
        least=least,
        ranged=ranged,
    )


def _ranks(k: int) -> dict[str, tuple[int, int]]:
    """Ranges of ranks, from 0, without the last."""
    cuts = [e for e in (0, 1, 5, 10, 20, 50, 100) if e < k] + [k]
    return {f"{a + 1}" if b == a + 1 else f"{a + 1} to {b}": (a, b) for a, b in pairwise(cuts)}


def _parameter(
    n: int,
    named: tuple[str, str, str],
    tally: Tally,
    ranks: list[str],
    kept: Bits,
    ranges: Doubles | None,
) -> Parameter:
    by_rank = [tally.share(g, "part", n, over="lift").value for g in range(1, len(ranks) + 1)]
    asked = n < len(kept) and not kept[n]
    return Parameter(
        *named,
        share=tally.share(0, "part", n, over="lift"),
        by_rank=dict(zip(ranks, by_rank, strict=True)),
        decides=tally.share(0, "leaves", n, over="pairs"),
        needed=tally.share(0, "needed", n, over="pairs") if asked else None,
        answered=tally.share(0, "changed", n, over="pairs") if asked else None,
        settings=None if ranges is None else (float(ranges[0, n]), float(ranges[1, n])),
    )


def _segments(
    tally: Tally, groups: Groups, first: int, named: list[tuple[str, str, str]], least: int
) -> tuple[tuple[Segment, ...], int]:
    out = []
    for g, (by, group) in enumerate(groups.names, start=first):
        users, pairs = int(tally.users[g]), int(tally.sums[g, 0, tally.column["pairs"]])
        if users >= least:
            ids = list(enumerate(id_ for _, id_, _ in named))
            shares = tuple((x, tally.share(g, "part", n, over="lift")) for n, x in ids)
            gap = tuple((x, tally.share(g, "part", n, over="lift", less=0)) for n, x in ids)
            out.append(Segment(by, group, users, pairs, shares, gap))
    return tuple(out), len(groups.names) - len(out)


def _values(data: Dataset, subject: Subject, sums: Doubles, lift: float) -> tuple[Value, ...]:
    """The values of each relation that lift listed items most, whichever way."""
    labels = Labels(data, subject, silent=True)
    order = np.argsort(-np.abs(sums[0]), kind="stable")
    relation = subject.relation[order]
    grouped = np.argsort(relation, kind="stable")
    sizes = np.unique(relation, return_counts=True)[1]
    turn = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = order[np.sort(grouped[turn < _TOP])]
    return tuple(
        Value(
            relation=data.relations.ids[int(labels.value_relation[v])],
            id=data.entities.ids[int(labels.value_attribute[v])],
            name=labels.value(v),
            share=float(sums[0, v] / lift),
            pairs=int(sums[1, v]),
        )
        for v in order.tolist()
        if sums[1, v]
    )


def _over_settings(
    parts: AuditParts,
    rows: NDArray[np.int64],
    chosen: Mapping[str, Any] | None,
    shares: list[float],
    seed: int,
) -> tuple[Doubles | None, Ranged | None]:
    """(2, P) the lowest and highest share over weights of attributes that do as well.

    The same sample of users is looked at with each weight, so only differences have an error.
    """
    subject, curve = parts.subject, (chosen or {}).get("curve")
    now = float((chosen or {}).get("attributes") or 0.0)
    if not isinstance(subject.model, Linear) or not curve or now <= 0.0 or len(rows) == 0:
        return None, None
    best = max(y for _, y in curve)
    near = [float(x) for x, y in curve if y >= _AS_GOOD * best]
    some = rows[:: -(-len(rows) // _RANGED)]
    weights = drawn(seed, "audit/settings", len(some))

    def shared(subject: Subject) -> Doubles:
        each = AuditParts(subject, parts.k).each(
            some, lambda b: (b.part.sum(axis=1), b.lift.sum(axis=1))
        )
        part, lift = map(np.concatenate, zip(*each, strict=True))
        return ratio(weights @ part, (weights @ lift)[:, None])

    here, more = shared(subject), [np.zeros((len(weights), len(shares)))]
    for weight in sorted({min(near), max(near)} - {now}):
        times, a = weight / now, subject.model.arrays
        model = copy(subject.model)
        bits = a.bits - int(np.ceil(np.log2(max(times, 1.0))))
        model.arrays = replace(a, unit=a.unit * times, bits=bits)
        more.append(shared(replace(subject, model=model)) - here)
    intervals = [share(d[:, n]) for d in more for n in range(len(shares))]
    moved = np.array(shares) + np.array([d[0] for d in more])
    error = max((s.high - s.low) / 2 for s in intervals)
    return np.array([moved.min(axis=0), moved.max(axis=0)]), Ranged(len(some), error)
