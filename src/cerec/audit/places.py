"""Every item with every other value of a relation: who would be listed, and a control by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.linear.fit import split_popularity
from cerec.recommend.linear.folding import Folding, value_vectors
from cerec.recommend.linear.model import LinearArrays
from cerec.recommend.linear.values import shares, unit_weights
from cerec.recommend.protocol import Doubles
from cerec.recommend.rank import lean, lists
from cerec.recommend.subject import Subject
from cerec.threads import in_order

_BLOCK_BYTES = 32 << 20


class _Setup(NamedTuple):
    """The attribute of every item. V: values of the relation, from 0."""

    of_item: Ragged
    odds: Doubles
    """(V,) how often each value is tried: items that have it."""
    scale: Doubles


class Places(NamedTuple):
    """By user: places now and then of each value, listed items with the attribute, and how many of
    them depend on it; by item: lists left and lists come into.
    """

    now: Doubles
    then: Doubles
    listed: Doubles
    depends: Doubles
    leaves: Doubles
    comes: Doubles


def places(
    subject: Subject,
    values: NDArray[np.int64],
    rows: NDArray[np.integer],
    k: int,
    progress: Callable[[int], object] = lambda _: None,
) -> Places:
    """What lists of these users are with each item in turn changed; `values` of one relation."""
    setup, items = _setup(subject, values), subject.n_items
    size = max(1, _BLOCK_BYTES // (8 * (items + len(subject.vocabulary))))

    def look(some: NDArray[np.integer]) -> Places:
        known, n = subject.known.take(some), len(some)
        scores, effects = subject.both(some)
        shown = lists(scores, known.indptr, known.indices, min(k + 1, items))
        total = np.ascontiguousarray(effects[:, values])
        wide = n, len(values)
        by_user = np.zeros(wide), np.zeros(wide), np.zeros(n), np.zeros(n)
        out = Places(*by_user, np.zeros(items), np.zeros(items))
        facts = setup.of_item.indptr, setup.of_item.indices, setup.odds, setup.scale
        _try(scores, known.indptr, known.indices, shown, k, total, *facts, out)
        return out

    blocks = (np.asarray(rows[n : n + size], np.int64) for n in range(0, len(rows), size))
    found = []
    for one in in_order(look, blocks):
        found.append(one)
        progress(len(one.listed))
    now, then, listed, depends, leaves, comes = zip(*found, strict=True)
    return Places(
        np.concatenate(now),
        np.concatenate(then),
        np.concatenate(listed),
        np.concatenate(depends),
        np.sum(leaves, axis=0),
        np.sum(comes, axis=0),
    )


def _setup(subject: Subject, values: NDArray[np.int64]) -> _Setup:
    place = np.full(len(subject.vocabulary), -1, np.int64)
    place[values] = np.arange(len(values))
    of = subject.of_item
    mine = place[of.indices] >= 0
    own = Ragged.from_pairs(of.row_of()[mine], place[of.indices[mine]], len(of))
    odds = np.bincount(own.indices, minlength=len(values)).astype(np.float64)
    return _Setup(own, odds, subject.scale)


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
    scores, known_at, known, shown, k, total, at, value, odds, scale, out
):
    """Every item of every user, each of its values replaced by each value it does not have."""
    n_items, n_values = scores.shape[1], len(odds)
    seen, place = np.full(n_items, -1, np.int64), np.full(n_items, -1, np.int64)
    above, ranked = np.empty(n_values + 1), np.empty(n_values)
    for u in range(len(scores)):
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
                out.now[u, a] += (1.0 if inside else 0.0) / len(mine)
                out.then[u, a] += share / len(mine)
                with_others += share / len(mine)
            if inside:
                out.listed[u] += 1.0
                out.depends[u] += 1.0 - with_others
                out.leaves[i] += 1.0 - with_others
            else:
                out.comes[i] += with_others


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
    taken = np.bincount(a.history, minlength=n_items) > 0
    common, own = split_popularity(matrix, a.own + before @ a.common, taken)
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
