"""The parts of the scores of whole lists, for blocks of users.

    score - mean score of the unseen items = sum over relations + history + own

A part is what the item has of it, less what the average unseen item of the user has. `own` is
the popularity that values do not explain. A model that does
not tell its inside has all that values do not explain in the place of `history`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.explain.parts import parts_of
from cerec.recommend.linear.model import Linear
from cerec.recommend.protocol import Doubles
from cerec.recommend.rank import lean, lists
from cerec.recommend.subject import Subject
from cerec.threads import in_order

Ints = NDArray[np.int32]
Bits = NDArray[np.bool_]
T = TypeVar("T")
NAMES = {
    "history": "what you took before",
    "own": "the item's own popularity",
    "other": "what attributes do not tell",
}
"""What the parts that are not of a relation are called."""
_BLOCK_BYTES = 32 << 20


class Block(NamedTuple):
    """Lists of some users and where their scores come from. P: parts, in the order of `names`."""

    users: NDArray[np.int64]
    scores: Doubles
    effects: Doubles
    listed: Ints
    """(n, k) item rows, -1 where a list is shorter."""
    cutoff: Doubles
    """(n,) score of the first item after the list; -inf where there is none."""
    part: Doubles
    """(n, k, P), zero where there is no item."""
    lift: Doubles
    """(n, k) score above that of the average unseen item: the sum of the parts."""
    value: Ints
    """(n, k) the value without which alone the item would leave, and which lifts it most; or -1."""
    against: Bits
    """(n, k) whether the value that lifts the item most does so against the user's counts."""
    common: Doubles
    """(n, k) what of the parts of attributes is the same for everybody."""
    sums: Doubles
    """(2, V) what each value lifts listed items above the average unseen item, added up, and the
    listed pairs whose item has it."""

    @property
    def there(self) -> Bits:
        """(n, k) whether there is an item."""
        return self.listed >= 0

    def leaves(self) -> Bits:
        """(n, k, P) whether the item would leave, were that part as usual."""
        shown = np.take_along_axis(self.scores, np.maximum(self.listed, 0), axis=1)
        without = shown[..., None] - self.part
        return (without < self.cutoff[:, None, None]) & self.there[..., None]


class _Facts(NamedTuple):
    at: NDArray[np.int64]
    of_item: Ints
    scale: Doubles
    total: Doubles  # (V,) scales of the items that have the value, added up
    relation: Ints  # (V,) place of its relation among the parts


class AuditParts:
    """Lists and parts of one recommender, block by block."""

    def __init__(self, subject: Subject, k: int) -> None:
        self.subject, self.k = subject, min(k, max(subject.n_items, 1))
        self.inside = parts_of(subject)
        self.relations = np.unique(subject.relation)
        """Relation rows that have values, in the order of the first parts."""
        self.place = np.searchsorted(self.relations, subject.relation).astype(np.int32)
        """(V,) place of each value's relation among the parts."""
        of = subject.of_item
        n_values = len(subject.vocabulary)
        total = np.bincount(of.indices, subject.scale[of.row_of()], n_values).astype(np.float64)
        self._facts = _Facts(of.indptr, of.indices, subject.scale, total, self.place)

        model = subject.model
        everybody = model.arrays.common if isinstance(model, Linear) else np.zeros(n_values)
        self.common = subject.scale * np.bincount(of.row_of(), everybody[of.indices], len(of))
        """(I,) what everybody makes of an item's attributes; 0 where a model does not tell."""

    def _usual_common(self, known: Ragged) -> Doubles:
        """The same of each user's average unseen item."""
        mine = np.bincount(known.row_of(), self.common[known.indices], len(known))
        return (self.common.sum() - mine) / np.maximum(len(self.common) - known.counts, 1)

    @property
    def rest(self) -> list[str]:
        """Kinds of the parts that come after those of the relations."""
        return ["history", "own"] if self.inside.told else ["other"]

    def names(self, relations: IdTable) -> list[tuple[str, str, str]]:
        """Kind, id and name of every part."""
        rows = self.relations.tolist()
        out = [("relation", relations.ids[r], relations.names[r]) for r in rows]
        return out + [(kind, kind, NAMES[kind]) for kind in self.rest]

    def each(self, users: NDArray[np.integer], work: Callable[[Block], T]) -> Iterator[T]:
        """What `work` makes of the lists of these users, block by block, on all threads."""
        s = self.subject
        per_user = 8 * (2 * s.n_items + 2 * len(s.vocabulary) + self.k * (len(self.relations) + 7))
        size = max(1, _BLOCK_BYTES // per_user)
        rows = (users[first : first + size] for first in range(0, len(users), size))
        return in_order(lambda some: work(self.block(np.asarray(some, np.int64))), rows)

    def block(self, users: NDArray[np.int64]) -> Block:
        """The lists of these users and their parts."""
        s = self.subject
        known = s.known.take(users)
        scores, effects = s.both(users)
        more = lists(scores, known.indptr, known.indices, min(self.k + 1, s.n_items))
        listed, after = np.ascontiguousarray(more[:, : self.k]), more[:, self.k :]
        cutoff = np.full(len(users), -np.inf)
        if after.shape[1]:
            at = np.flatnonzero(after[:, 0] >= 0)
            cutoff[at] = scores[at, after[at, 0]]
        shape = listed.shape
        out = Block(
            users,
            scores,
            effects,
            listed,
            cutoff,
            part=np.zeros((*shape, len(self.relations) + 2)),
            lift=np.zeros(shape),
            value=np.full(shape, -1, np.int32),
            against=np.zeros(shape, bool),
            common=self.common[np.maximum(listed, 0)] - self._usual_common(known)[:, None],
            sums=np.zeros((2, len(s.vocabulary))),
        )
        _parts(known.indptr, known.indices, self._facts, self.inside, out)
        return out if self.inside.told else out._replace(part=out.part[..., :-1])


@lean
def _usual(u, scores, effects, seen, facts, inside, usual):  # type: ignore[no-untyped-def]
    """What every value adds to the average unseen item, and that item's score and own."""
    n, mean, own = 0, 0.0, 0.0
    for v in range(len(usual)):
        usual[v] = facts.total[v]
    for j in range(scores.shape[1]):
        if seen[j] == u or scores[u, j] != scores[u, j]:
            for q in range(facts.at[j], facts.at[j + 1]):
                usual[facts.of_item[q]] -= facts.scale[j]
            continue
        n += 1
        mean += scores[u, j]
        if inside.told:
            own += inside.own[j]
    n = max(n, 1)
    for v in range(len(usual)):
        usual[v] *= effects[u, v] / n
    return mean / n, own / n


@lean
def _counted(user, facts, inside, count) -> float:  # type: ignore[no-untyped-def]
    """How many of the user's items have each value, and how many there are."""
    for v in range(len(count)):
        count[v] = 0.0
    if not inside.told:
        return 0.0
    low, high = inside.history_at[user], inside.history_at[user + 1]
    for q in range(low, high):
        h = inside.history[q]
        for p in range(facts.at[h], facts.at[h + 1]):
            count[facts.of_item[p]] += 1.0
    return float(high - low)


@lean
def _values(i, effect, facts, part, sums) -> tuple[int, float]:  # type: ignore[no-untyped-def]
    """Add an item's values to the parts and sums; the one that lifts it most, and how much."""
    most, top = 0.0, -1
    for q in range(facts.at[i], facts.at[i + 1]):
        v = facts.of_item[q]
        x = facts.scale[i] * effect[v]
        part[facts.relation[v]] += x
        sums[0, v] += x
        sums[1, v] += 1.0
        if x > most:
            most, top = x, v
    return top, most


@lean
def _rest(i, lift, own, inside, part) -> None:  # type: ignore[no-untyped-def]
    """The parts that are not of values: the last two add up to what is left of the lift."""
    n = len(part) - 2
    for a in range(n):
        lift -= part[a]
    if inside.told:
        part[n + 1] = inside.own[i] - own
        lift -= part[n + 1]
    part[n] = lift


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _parts(known_at, known, facts, inside, out):  # type: ignore[no-untyped-def]
    """Fill the block `out`."""
    scores, effects, n_rel = out.scores, out.effects, out.part.shape[2] - 2
    n_values = effects.shape[1]
    seen = np.full(scores.shape[1], -1, np.int64)
    usual, count, of_rel = np.empty(n_values), np.zeros(n_values), np.empty(n_rel)
    for u in range(len(scores)):
        seen[known[known_at[u] : known_at[u + 1]]] = u
        mean, own = _usual(u, scores, effects, seen, facts, inside, usual)
        of_rel[:] = 0.0
        for v in range(n_values):
            of_rel[facts.relation[v]] += usual[v]
        size = _counted(out.users[u], facts, inside, count)
        shown = 0
        for r in range(out.listed.shape[1]):
            i = out.listed[u, r]
            if i < 0:
                continue
            shown += 1
            part, out.lift[u, r] = out.part[u, r], scores[u, i] - mean
            part[:n_rel] = -of_rel
            top, most = _values(i, effects[u], facts, part, out.sums)
            if top >= 0 and scores[u, i] - most < out.cutoff[u]:
                out.value[u, r] = top
            if top >= 0 and inside.told:
                out.against[u, r] = count[top] < size * inside.share[top]
            _rest(i, out.lift[u, r], own, inside, part)
        for v in range(n_values):
            out.sums[0, v] -= shown * usual[v]
