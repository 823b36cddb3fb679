"""The fitted model: scores, effects of values, and where a score comes from.

    s(u, i | A) = own_i + sum over h in history(u) of B[h, i] + U_u . z_i
                + g_i * sum over a in A of e(u, a)

e(u, a) holds what everybody makes of the value and what this person does. Scores add up the two
apart, so that lists need no effects of values that nobody asks for.

One kernel makes the numbers of one user, of a block and of a history that came with a request, so
they agree to the bit. I: items, V: values with enough support, d: width of the factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.linear.folding import FactorPart, Folding
from cerec.recommend.linear.itemitem import solve
from cerec.recommend.linear.values import effects_of, scores_of
from cerec.recommend.protocol import Contributions, Doubles, Pair
from cerec.threads import in_chunks


@dataclass(frozen=True, slots=True, eq=False)
class LinearArrays:
    """Everything the model knows, as arrays; a run keeps just these."""

    history_ptr: NDArray[np.int64]
    history: NDArray[np.int32]
    """User -> items, rising."""
    weight: Doubles
    """Weight of every entry of `history`; 1 where interactions carry none."""
    own: Doubles
    """(I,) the part of an item's popularity that its values do not explain."""
    common: Doubles
    """(V,) c: what everybody makes of a value."""
    pair_ptr: NDArray[np.int64]
    pair: NDArray[np.int32]
    strength: NDArray[np.float32]
    """History item -> items it speaks for, and B."""
    vocabulary: NDArray[np.int32]
    """(V,) rows of the values in the facts of the data; the others have too little support."""
    value_ptr: NDArray[np.int64]
    value: NDArray[np.int32]
    """Item -> its values, as positions in `vocabulary`."""
    scale: Doubles
    """(I,) g."""
    share: Doubles
    unit: Doubles
    """(V,) q, and the weight of one item above the usual count."""
    item_vector: Doubles
    value_vector: Doubles
    """(I, d) and (V, d): V of the fold-in and x; d = 0 without factors."""
    gram: Doubles
    """(d, d) rest V'V over the items of the fit, which the fold-in starts from."""
    factor: Doubles
    """Weight of the factors, `rest` and `pull` of the fold-in."""
    bits: NDArray[np.int64]
    """Fractional bits of the effects."""

    def named(self) -> dict[str, NDArray[np.generic]]:
        """By name, to be written."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


class Linear:
    """The default recommender, fitted; rows are those of the data it was fitted on."""

    name = "linear"

    def __init__(
        self,
        arrays: LinearArrays,
        users: Sequence[str] = (),
        items: Sequence[str] = (),
        values: Sequence[Pair] = (),
    ) -> None:
        """Ids may be left out where only rows are asked for."""
        self.arrays, self.users, self.items, self.values = arrays, users, items, values
        a = arrays
        self.histories = Ragged(a.history_ptr, a.history)
        self.taken = np.bincount(a.history, minlength=len(a.own)).astype(np.float64)
        """(I,) users of each item; those of the fit for a person who came later."""
        self.of_item = Ragged(a.value_ptr, a.value)
        up = 2.0 ** int(a.bits[0])
        self._everybody = np.rint(a.common * up) / up
        total = np.bincount(self.of_item.row_of(), self._everybody[a.value], len(a.own))
        self.base = a.own + a.scale * total
        """(I,) what everybody makes of an item, its values included."""
        weight, rest, pull = (float(x) for x in a.factor)
        settings = Folding(a.item_vector.shape[1], rest, pull, 0.0)
        self._factors = FactorPart(a.item_vector, a.value_vector, settings, a.gram)
        inner = np.zeros_like(a.item_vector)
        np.add.at(inner, self.of_item.row_of(), a.value_vector[a.value])
        self._rest = weight * (a.item_vector - a.scale[:, None] * inner)  # z
        self._item_t = np.ascontiguousarray(self._rest.T)
        self._value_t = np.ascontiguousarray((weight * a.value_vector).T)

    @property
    def n_items(self) -> int:
        """Items that can be scored."""
        return len(self.arrays.own)

    @property
    def vocabulary(self) -> NDArray[np.int32]:
        """Rows of the values that have effects, in the order of `effects`."""
        return self.arrays.vocabulary

    def known(self, user: int) -> NDArray[np.int32]:
        """Item rows the user has, which are never listed."""
        return self.histories.row(user)

    def scores(self, users: NDArray[np.integer]) -> Doubles:
        """(n, I) scores of user rows."""
        return self._answer(*self._of(users))[0]

    def effects(self, users: NDArray[np.integer]) -> Doubles:
        """(n, V) e(u, a)."""
        return self._everybody + self._effects(*self._of(users))

    def both(self, users: NDArray[np.integer]) -> tuple[Doubles, Doubles]:
        """Scores and effects at the cost of one."""
        scores, effects = self._answer(*self._of(users))
        return scores, effects + self._everybody

    def scale(self, items: NDArray[np.integer]) -> Doubles:
        """(n,) g: values that add up to `x` in effects add `g * x` to the score."""
        return self.arrays.scale[items]

    def scores_from(self, histories: Sequence[NDArray[np.integer]]) -> Doubles:
        """(n, I) scores of people known by these items alone, each of weight one."""
        return self._answer(*_people(histories))[0]

    def both_from(
        self,
        histories: Sequence[NDArray[np.integer]],
        weights: Sequence[Doubles] | None = None,
    ) -> tuple[Doubles, Doubles]:
        """Scores and effects of people known by these items alone, of weight one by default."""
        scores, effects = self._answer(*_people(histories, weights))
        return scores, effects + self._everybody

    def of_history(self, rows: NDArray[np.int32]) -> Linear:
        """The model for one person, who has these items (rising), each of weight one."""
        out = copy(self)
        out.histories = Ragged(np.array([0, len(rows)]), rows)
        out.arrays = replace(
            self.arrays, history_ptr=out.histories.indptr, history=rows, weight=np.ones(len(rows))
        )
        return out

    def contributions(self, user: int, item: int) -> Contributions:
        """The exact parts of one score."""
        history, weight = self._of(np.array([user]))
        effect = self.effects(np.array([user]))[0]
        a = self.arrays
        mine = self.of_item.row(item)
        direct = self._direct(history.indices, item)
        through = self._through(history, weight, item)
        parts = weight * (direct + through)
        return Contributions(
            tuple(zip(history.indices.tolist(), parts.tolist(), strict=True)),
            tuple((int(v), float(a.scale[item] * effect[v])) for v in mine),
            float(a.own[item]),
        )

    def of_values(self, users: NDArray[np.integer], values: NDArray[np.integer]) -> Doubles:
        """(n,) scores of an item that is these values only: nothing else is known of it."""
        a = self.arrays
        scale = 1.0 / np.sqrt(max(len(values), 1))
        effect = self.effects(users)[:, values].sum(axis=1)
        return a.own.mean() + scale * effect

    def _of(self, users: NDArray[np.integer]) -> tuple[Ragged, Doubles]:
        rows = np.asarray(users, np.int64)
        return self.histories.take(rows), self.arrays.weight[self.histories.positions(rows)]

    def _vectors(self, history: Ragged, weight: Doubles) -> Doubles:
        if self.arrays.item_vector.shape[1] == 0:
            return np.zeros((len(history), 0))
        return self._factors.users(history, weight)

    def _effects(self, history: Ragged, weight: Doubles, vectors: Doubles | None = None) -> Doubles:
        a = self.arrays
        user = self._vectors(history, weight) if vectors is None else vectors
        out = np.empty((len(history), len(a.share)))
        facts = a.value_ptr, a.value, a.share, a.unit
        args = history.indptr, history.indices, weight, *facts, user, self._value_t, int(a.bits[0])
        in_chunks(len(history), lambda start, stop: effects_of(*args, start, stop, out))
        return out

    def _answer(self, history: Ragged, weight: Doubles) -> tuple[Doubles, Doubles]:
        a = self.arrays
        user = self._vectors(history, weight)
        effect = self._effects(history, weight, user)
        out = np.empty((len(history), self.n_items))
        pairs = a.pair_ptr, a.pair, a.strength
        facts = a.value_ptr, a.value, a.scale, effect
        people = history.indptr, history.indices, weight
        args = *people, self.base, *pairs, user, self._item_t, *facts
        fours = min(64, 4 * -(-len(history) // 32))  # users that are scored together come in fours
        work = partial(scores_of, *args)
        in_chunks(len(history), lambda start, stop: work(start, stop, out), chunk=fours)
        return out, effect

    def _direct(self, history: NDArray[np.int32], item: int) -> Doubles:
        """B[h, item] for every h of a history."""
        a = self.arrays
        out = np.zeros(len(history))
        for n, h in enumerate(history.tolist()):
            start, end = a.pair_ptr[h], a.pair_ptr[h + 1]
            at = start + int(np.searchsorted(a.pair[start:end], item))
            if at < end and a.pair[at] == item:
                out[n] = a.strength[at]
        return out

    def _through(self, history: Ragged, weight: Doubles, item: int) -> Doubles:
        """The part of U_u . z_i that each item of the history has: V_h . (system of u)^-1 z_i."""
        v = self.arrays.item_vector
        if v.shape[1] == 0:
            return np.zeros(history.size)
        mine = v[history.indices]
        system = self._factors.gram + mine.T @ (mine * weight[:, None])
        system += self._factors.settings.pull * np.eye(v.shape[1])
        goal = self._rest[item].copy()
        solve(system, goal)
        return np.asarray(mine @ goal)


def _people(
    histories: Sequence[NDArray[np.integer]], weights: Sequence[Doubles] | None = None
) -> tuple[Ragged, Doubles]:
    """People known by these items alone, of weight one by default."""
    rows = [np.unique(np.asarray(h, np.int32), return_index=True) for h in histories]
    indptr = np.cumsum([0, *(len(items) for items, _ in rows)], dtype=np.int64)
    people = Ragged(indptr, np.concatenate([np.zeros(0, np.int32), *(x for x, _ in rows)]))
    if not weights:
        return people, np.ones(people.size)
    return people, np.concatenate([w[at] for (_, at), w in zip(rows, weights, strict=True)])
