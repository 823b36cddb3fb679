"""One attribute on trial: what lists would be, had each item in turn another value of it.

Each item alone gets each other value of the relation, weighed by how many items have that value;
all other items stay as they are. So a listed item leaves for some of these values, and an unlisted
one comes in for some. It is about what the recommender does, not about the world.

What everybody makes of a value counts as well as what the user does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cerec.audit.places import dealt_out, places
from cerec.audit.plain import Page, Share
from cerec.audit.segments import Groups
from cerec.audit.tally import LEVEL, drawn, ratio, share
from cerec.data.dataset import Dataset
from cerec.errors import QuestionError
from cerec.explain.lookup import row_of
from cerec.recommend.linear.model import Linear
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Subject
from cerec.rng import generator

_MOST = 200  # values that get a row of their own
_CONTROLS, _CONTROL_USERS = 39, 400
_ITEMS = 10  # that are named


@dataclass(frozen=True, slots=True)
class Exposure:
    """A value of the attribute and the places in lists that depend on it."""

    id: str
    name: str
    items: int
    catalogue: float
    """Share of the items that have the attribute."""
    now: float
    """Share of the places of those items."""
    effect: Share
    """Places its items have, over those they would have with other values, less 1: below 0, the
    value costs its items places."""
    chance: tuple[float, float]
    """Between which effects 95 % of the controls lie, for as many items; nan without controls."""
    flagged: bool
    """Whether the effect is farther out than that of any value in any control, and its interval
    leaves out 0."""


@dataclass(frozen=True, slots=True)
class Trial(Page):
    """What an attribute does to lists."""

    attribute: str
    name: str
    k: int
    users: int
    pairs: int
    """Listed pairs whose item has the attribute."""
    depends: Share
    """Share of these that would not be listed with another value."""
    values: tuple[Exposure, ...]
    segments: tuple[tuple[str, str, int, Share], ...]
    """(column, group, users, depends)"""
    leaving: tuple[tuple[str, str, float], ...]
    """(id, name, lists) of the items that lose most places with other values."""
    coming: tuple[tuple[str, str, float], ...]
    """(id, name, lists) of the items that gain most places with other values."""
    controls: int
    control_depends: float
    """`depends` where values are dealt out to items at random; nan without controls."""

    @property
    def flagged(self) -> bool:
        """Whether some value does more than chance."""
        return any(v.flagged for v in self.values)

    def text(self) -> str:
        """A page in Markdown."""
        from cerec.audit.disclosure import trial_text

        return trial_text(self)


def trial(
    data: Dataset,
    subject: Subject,
    attribute: str,
    *,
    k: int = 20,
    users: NDArray[np.integer] | None = None,
    groups: Groups | None = None,
    least: int = 20,
    seed: int = 0,
    progress: Callable[[int], object] = lambda _: None,
) -> Trial:
    """Put a relation on trial; `least`: users that a segment must have to be shown."""
    relation = row_of(data.relations, attribute)
    values = np.flatnonzero(subject.relation == relation)
    name = data.relations.names[relation]
    if len(values) < 2:
        raise QuestionError(
            f"{name!r} has {len(values)} value(s) on enough items to try; a trial needs two"
        )
    rows = np.arange(len(data.users)) if users is None else np.asarray(users, np.int64)
    found = places(subject, values, rows, k, progress)
    control, dependence = _controls(subject, values, rows, k, seed)
    weights = drawn(seed, "audit/trial", len(rows))
    effect = _effect(weights @ found.now, weights @ found.then)
    centre, spread, beyond = np.zeros(len(values)), np.ones(len(values)), np.inf
    low = high = np.full(len(values), np.nan)
    if len(control):
        centre, spread = control.mean(axis=0), np.maximum(control.std(axis=0), 1e-12)
        beyond = float(np.abs((control - centre) / spread).max())
        low, high = np.quantile(control, LEVEL, axis=0)
    entity = subject.facts.attribute[subject.vocabulary[values]]
    support, now = subject.support[values], found.now.sum(axis=0)

    def exposure(v: int) -> Exposure:
        seen = share(effect[:, v])
        out = abs(seen.value - centre[v]) > beyond * spread[v] and seen.low * seen.high > 0
        return Exposure(
            id=data.entities.ids[int(entity[v])],
            name=data.entities.names[int(entity[v])],
            items=int(support[v]),
            catalogue=float(support[v] / support.sum()),
            now=float(now[v] / max(now.sum(), 1e-12)),
            effect=seen,
            chance=(float(low[v]), float(high[v])),
            flagged=bool(out),
        )

    def depends(some: NDArray[np.bool_] | None = None) -> Share:
        w = weights if some is None else weights * some
        return share(ratio(w @ found.depends, w @ found.listed))

    shown = groups.of_users(rows, least) if groups is not None else []
    return Trial(
        attribute=data.relations.ids[relation],
        name=name,
        k=k,
        users=len(rows),
        pairs=int(found.listed.sum()),
        depends=depends(),
        values=tuple(exposure(int(v)) for v in np.argsort(-support, kind="stable")[:_MOST]),
        segments=tuple((*names, int(some.sum()), depends(some)) for names, some in shown),
        leaving=_named(data, found.leaves),
        coming=_named(data, found.comes),
        controls=len(control),
        control_depends=float(np.mean(dependence)) if len(control) else float("nan"),
    )


def _controls(
    subject: Subject, values: NDArray[np.int64], rows: NDArray[np.integer], k: int, seed: int
) -> tuple[Doubles, list[float]]:
    """(controls, V) effects where values are dealt out to items at random, and how many places
    depend on them. The model is the same; what it says of values is worked out from the same
    histories. None for models that do not tell how.
    """
    model = subject.model
    if not isinstance(model, Linear):
        return np.zeros((0, len(values))), []
    some = rows[:: max(1, len(rows) // _CONTROL_USERS)]
    out, depends = [], []
    for n in range(_CONTROLS):
        other = Linear(dealt_out(model.arrays, values, generator(seed, f"audit/control/{n}")))
        found = places(replace(subject, model=other, of_item=other.of_item), values, some, k)
        out.append(_effect(found.now.sum(axis=0), found.then.sum(axis=0)))
        depends.append(float(found.depends.sum() / max(found.listed.sum(), 1.0)))
    return np.array(out), depends


def _effect(now: Doubles, then: Doubles) -> Doubles:
    return np.where(then > 0, ratio(now, then) - 1.0, 0.0)


def _named(data: Dataset, amount: Doubles) -> tuple[tuple[str, str, float], ...]:
    items, order = data.items, np.argsort(-amount, kind="stable")[:_ITEMS]
    return tuple(
        (items.ids[i], items.names[i], float(amount[i])) for i in order.tolist() if amount[i] > 0
    )
