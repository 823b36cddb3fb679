"""One attribute on trial: what lists would be, had each item in turn another value of it.

Each item alone gets each other value of the relation, weighed by how many items have that value;
all other items stay as they are. So a listed item leaves for some of these values, and an unlisted
one comes in for some. It is about what the recommender does, not about the world.

What everybody makes of a value counts as well as what the user does: `e(u, a) + c_a`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.audit.parameters import Share
from cerec.audit.plain import as_html, plain
from cerec.audit.segments import Groups
from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.errors import QuestionError
from cerec.explain.lookup import row_of
from cerec.recommend.linear.fit import split_popularity
from cerec.recommend.linear.folding import Folding, value_vectors
from cerec.recommend.linear.model import Linear, LinearArrays
from cerec.recommend.linear.values import shares, unit_weights
from cerec.recommend.protocol import Doubles
from cerec.recommend.rank import lean, lists
from cerec.recommend.subject import Subject
from cerec.rng import generator

_BOOT, _LEVEL = 200, (0.025, 0.975)
_MOST = 200  # values that get a row of their own
_CONTROLS, _CONTROL_USERS = 39, 400
_ITEMS = 10  # that are named
_BLOCK_BYTES = 32 << 20


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
    """Whether the effect is farther out than that of any value in any control."""


@dataclass(frozen=True, slots=True)
class Trial:
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

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        return dict(plain(self))

    def text(self) -> str:
        """A page in Markdown."""
        from cerec.audit.disclosure import trial_text

        return trial_text(self)

    def _repr_html_(self) -> str:
        return as_html(self.text())


class _Setup(NamedTuple):
    """The attribute of every item. V: values of the relation, from 0."""

    of_item: Ragged
    odds: Doubles
    """(V,) how often each value is tried: items that have it."""
    place: NDArray[np.int64]
    """(V,) rows of the values in effects."""
    common: Doubles
    """(V,) what everybody makes of them."""
    scale: Doubles


class _Sums(NamedTuple):
    """By user: places now and then of each value, listed items with the attribute, and how many of
    them depend on it; by item: lists left and lists come into.
    """

    now: Doubles
    then: Doubles
    listed: Doubles
    depends: Doubles
    leaves: Doubles
    comes: Doubles


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
    progress: Callable[[int], None] = lambda _: None,
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
    found = _tried(subject, values, rows, k, progress)
    control, dependence = _controls(subject, values, rows, k, seed)
    weights = generator(seed, "audit/trial").poisson(1.0, (_BOOT, len(rows))).astype(np.float64)
    rank = np.argsort(-subject.support[values], kind="stable")[:_MOST]
    entity = subject.facts.attribute[subject.vocabulary[values]]
    effect = _effect(found.now.sum(axis=0), found.then.sum(axis=0))
    boot = _effect(weights @ found.now, weights @ found.then)
    centre, spread, beyond = np.zeros(len(values)), np.ones(len(values)), np.inf
    if len(control):
        centre, spread = control.mean(axis=0), np.maximum(control.std(axis=0), 1e-12)
        beyond = float(np.abs((control - centre) / spread).max())
    total, support = float(found.now.sum()), subject.support[values]

    def exposure(v: int) -> Exposure:
        low, high = np.quantile(control[:, v], _LEVEL) if len(control) else (np.nan, np.nan)
        return Exposure(
            id=data.entities.ids[int(entity[v])],
            name=data.entities.names[int(entity[v])],
            items=int(support[v]),
            catalogue=float(support[v] / support.sum()),
            now=float(found.now[:, v].sum() / max(total, 1e-12)),
            effect=_share(float(effect[v]), boot[:, v]),
            chance=(float(low), float(high)),
            flagged=bool(abs(effect[v] - centre[v]) > beyond * spread[v]),
        )

    return Trial(
        attribute=data.relations.ids[relation],
        name=name,
        k=k,
        users=len(rows),
        pairs=int(found.listed.sum()),
        depends=_ratio(found, weights),
        values=tuple(exposure(int(v)) for v in rank),
        segments=_segments(found, weights, groups, rows, least),
        leaving=_named(data, found.leaves),
        coming=_named(data, found.comes),
        controls=len(control),
        control_depends=float(np.mean(dependence)) if len(control) else float("nan"),
    )


def _tried(
    subject: Subject,
    values: NDArray[np.int64],
    rows: NDArray[np.integer],
    k: int,
    progress: Callable[[int], None] = lambda _: None,
) -> _Sums:
    setup, n = _setup(subject, values), len(rows)
    wide, items = len(values), subject.n_items
    out = _Sums(
        np.zeros((n, wide)),
        np.zeros((n, wide)),
        np.zeros(n),
        np.zeros(n),
        np.zeros(items),
        np.zeros(items),
    )
    size = max(1, _BLOCK_BYTES // (8 * (items + len(subject.vocabulary))))
    for first in range(0, n, size):
        some = np.asarray(rows[first : first + size], np.int64)
        known = subject.known.take(some)
        scores, effects = subject.both(some)
        shown = lists(scores, known.indptr, known.indices, min(k + 1, items))
        total = effects[:, values] + setup.common
        facts = setup.of_item.indptr, setup.of_item.indices, setup.odds, setup.scale
        _try(scores, known.indptr, known.indices, shown, k, total, *facts, first, out)
        progress(len(some))
    return out


def _setup(subject: Subject, values: NDArray[np.int64]) -> _Setup:
    place = np.full(len(subject.vocabulary), -1, np.int64)
    place[values] = np.arange(len(values))
    of = subject.of_item
    mine = place[of.indices] >= 0
    own = Ragged.from_pairs(of.row_of()[mine], place[of.indices[mine]], len(of))
    model = subject.model
    common = model.arrays.common[values] if isinstance(model, Linear) else np.zeros(len(values))
    odds = np.bincount(own.indices, minlength=len(values)).astype(np.float64)
    return _Setup(own, odds, values, common, subject.scale)


@lean
def _bounds(u, scores, shown, k, place):  # type: ignore[no-untyped-def]
    """Scores of the last place of the list and of the first item after it; marks the list."""
    last, after = -np.inf, -np.inf
    for r in range(shown.shape[1]):
        i = shown[u, r]
        if i >= 0 and r < k:
            place[i] = u
            last = scores[u, i] if r == k - 1 else -np.inf
        elif i >= 0:
            after = scores[u, i]
    return last, after


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _odds(total, odds, ranked, above) -> None:  # type: ignore[no-untyped-def]
    """Effects in rising order, and the odds of the values from the n-th on."""
    order = np.argsort(total)
    above[len(odds)] = 0.0
    for m in range(len(odds) - 1, -1, -1):
        above[m] = above[m + 1] + odds[order[m]]
        ranked[m] = total[order[m]]


@lean
def _listed_with(a, mine, gap, inside, total, odds, rest, ranked, above) -> float:  # type: ignore[no-untyped-def]
    """How often an item is listed with another value in place of `a`; `gap`: what its score lacks
    of the bound, in units of effects. A listed item stays at an equal score.
    """
    least = total[a] + gap
    m = np.searchsorted(ranked, least) if inside else np.searchsorted(ranked, least, side="right")
    share = above[m]
    for v in mine:
        if total[v] > least or (inside and total[v] == least):
            share -= odds[v]
    return min(max(share / rest, 0.0), 1.0)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _try(  # type: ignore[no-untyped-def]
    scores, known_at, known, shown, k, total, at, value, odds, scale, first, out
):
    """Every item of every user, each of its values replaced by each value it does not have."""
    n_items, n_values = scores.shape[1], len(odds)
    seen, place = np.full(n_items, -1, np.int64), np.full(n_items, -1, np.int64)
    above, ranked = np.empty(n_values + 1), np.empty(n_values)
    for u in range(len(scores)):
        row = first + u
        seen[known[known_at[u] : known_at[u + 1]]] = u
        last, after = _bounds(u, scores, shown, k, place)
        _odds(total[u], odds, ranked, above)
        for i in range(n_items):
            mine = value[at[i] : at[i + 1]]
            rest = above[0] - odds[mine].sum()
            if len(mine) == 0 or rest <= 0.0 or seen[i] == u or scores[u, i] != scores[u, i]:
                continue
            inside = place[i] == u
            gap = ((after if inside else last) - scores[u, i]) / scale[i]
            with_others = 0.0
            for a in mine:
                share = _listed_with(a, mine, gap, inside, total[u], odds, rest, ranked, above)
                out.now[row, a] += (1.0 if inside else 0.0) / len(mine)
                out.then[row, a] += share / len(mine)
                with_others += share / len(mine)
            if inside:
                out.listed[row] += 1.0
                out.depends[row] += 1.0 - with_others
                out.leaves[i] += 1.0 - with_others
            else:
                out.comes[i] += with_others


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
        dealt = dealt_out(model.arrays, values, generator(seed, f"audit/control/{n}"))
        other = Linear(dealt)
        again = replace(subject, model=other, of_item=other.of_item)
        found = _tried(again, values, some, k)
        out.append(_effect(found.now.sum(axis=0), found.then.sum(axis=0)))
        depends.append(float(found.depends.sum() / max(found.listed.sum(), 1.0)))
    return np.array(out), depends


def dealt_out(a: LinearArrays, values: NDArray[np.int64], rng: np.random.Generator) -> LinearArrays:
    """The same model after the items that have these values were dealt each other's."""
    n_items, n_values = len(a.own), len(a.share)
    of = Ragged(a.value_ptr, a.value)
    mine = np.isin(a.value, values)
    item = of.row_of()
    holders = np.unique(item[mine])
    moved = np.arange(n_items)
    moved[holders] = rng.permutation(holders)
    row = np.concatenate([item[~mine], moved[item[mine]]])
    dealt = Ragged.from_pairs(row, np.concatenate([a.value[~mine], a.value[mine]]), n_items)
    scaled = np.repeat(a.scale, dealt.counts)
    matrix = sp.csr_matrix((scaled, dealt.indices, dealt.indptr), shape=(n_items, n_values))
    before = sp.csr_matrix(
        (np.repeat(a.scale, of.counts), of.indices, of.indptr), shape=(n_items, n_values)
    )
    common, own = split_popularity(matrix, a.own + before @ a.common)
    share = shares(Ragged(a.history_ptr, a.history), a.weight, dealt, n_values)
    unit = a.unit / unit_weights(a.share) * unit_weights(share)
    vectors = a.value_vector
    if a.item_vector.shape[1]:
        _, rest, pull = a.factor.tolist()
        settings = Folding(a.item_vector.shape[1], rest, pull, 5.0)
        vectors = value_vectors(matrix, a.item_vector, settings)
    return replace(
        a,
        own=own,
        common=common,
        value_ptr=dealt.indptr,
        value=dealt.indices,
        share=share,
        unit=unit,
        value_vector=vectors,
        bits=a.bits - 2,
    )


def _effect(now: Doubles, then: Doubles) -> Doubles:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(then > 0, now / then - 1.0, 0.0)


def _share(value: float, boot: Doubles) -> Share:
    low, high = np.quantile(boot, _LEVEL)
    return Share(value, float(low), float(high))


def _ratio(found: _Sums, weights: Doubles, some: NDArray[np.bool_] | None = None) -> Share:
    depends, listed = found.depends, found.listed
    if some is not None:
        depends, listed = depends * some, listed * some
    boot = (weights @ depends) / np.maximum(weights @ listed, 1e-12)
    return _share(float(depends.sum() / max(listed.sum(), 1e-12)), boot)


def _segments(
    found: _Sums, weights: Doubles, groups: Groups | None, rows: NDArray[np.integer], least: int
) -> tuple[tuple[str, str, int, Share], ...]:
    if groups is None:
        return ()
    out = []
    for g, (column, group) in enumerate(groups.names[: len(groups.names) - len(groups.of_item)]):
        some = (groups.of_user[:, rows] == g).any(axis=0)
        if int(some.sum()) >= least:
            out.append((column, group, int(some.sum()), _ratio(found, weights, some)))
    return tuple(out)


def _named(data: Dataset, amount: Doubles) -> tuple[tuple[str, str, float], ...]:
    order = np.argsort(-amount, kind="stable")[:_ITEMS]
    items = data.items
    return tuple(
        (items.ids[i], items.names[i], float(amount[i])) for i in order.tolist() if amount[i] > 0
    )
