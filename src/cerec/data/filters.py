"""What to leave out of the data before training: the settings `filters`, applied in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from cerec.data.assemble import sorted_triples
from cerec.data.dataset import Dataset
from cerec.data.inverses import find_inverses
from cerec.data.ragged import distinct
from cerec.data.restrict import Mask, restrict
from cerec.errors import ConfigError, DataError, near_matches

if TYPE_CHECKING:
    from cerec.settings.data import FilterConfig

EXAMPLES = 5
"""How many of the removed things are named."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What one filter removed of one kind of thing."""

    step: str
    kind: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        text = f"{self.step}: {self.count:,} {self.kind} removed"
        if not self.examples:
            return text
        more = "; ..." if self.count > len(self.examples) else ""
        return f"{text} ({'; '.join(self.examples)}{more})"


Step = tuple[str, Callable[[Dataset], Dataset]]
"""What a filter says of itself, and what it makes of the data."""


def apply(data: Dataset, config: FilterConfig | None = None) -> tuple[Dataset, tuple[Removed, ...]]:
    """Filter `data`, in the order of the settings; what went is returned and added to the notes.

    k-core, rare entities and relations, and items without attributes depend on each other and
    are repeated until nothing changes: the result meets all the thresholds at once.
    """
    if config is None:
        from cerec.settings.data import FilterConfig

        config = FilterConfig()
    removed: dict[tuple[str, str], Removed] = {}
    once, repeated = _steps(config)
    for step in once:
        data, _ = _done(data, step, removed)
    changed = bool(repeated)
    while changed:
        changed = False
        for step in repeated:
            data, less = _done(data, step, removed)
            changed |= less
    found = tuple(removed.values())
    return replace(data, notes=(*data.notes, *map(str, found))), found


def _steps(config: FilterConfig) -> tuple[list[Step], list[Step]]:
    """The filters applied once, and those repeated until nothing changes."""
    once: list[Step] = []
    if (least := config.min_rating) is not None:
        once.append((f"rating below {least:g}", lambda data: _rated(data, least)))
    if config.duplicates:
        once.append(("duplicates", _without_duplicates))
    if config.merge_inverses:
        once.append(("inverse relations", _merged))
    if config.leave_out:
        once.append(("relations left out", lambda data: _left_out(data, config.leave_out)))
    repeated: list[Step] = []
    if k := config.k_core:
        repeated.append((f"{k}-core", lambda data: _core(data, k)))
    if config.min_entity or config.min_relation:
        n, m = config.min_entity, config.min_relation
        name = f"fewer than {n} facts of an entity or {m} of a relation"
        repeated.append((name, lambda data: _without_rare(data, n, m)))
    if config.require_attributes:
        repeated.append(("no attributes", _described))
    return once, repeated


def _done(
    data: Dataset, step: Step, removed: dict[tuple[str, str], Removed]
) -> tuple[Dataset, bool]:
    """The data after a step, and whether it removed anything, which is added to `removed`."""
    name, change = step
    small, less = change(data), False
    for kind in ("users", "items", "entities", "relations", "triples", "interactions"):
        old, new = getattr(data, kind), getattr(small, kind)
        if count := len(old) - len(new):
            less = True
            earlier = removed.get((name, kind), Removed(name, kind, 0, ()))
            examples = list(earlier.examples)
            if kind not in ("triples", "interactions"):
                examples += [n for i, n in zip(old.ids, old.names, strict=True) if i not in new]
            told = tuple(examples[:EXAMPLES])
            removed[name, kind] = Removed(name, kind, earlier.count + count, told)
    return small if less else data, less


def _rated(data: Dataset, least: float) -> Dataset:
    """Interactions rated below `least` go."""
    if data.interactions.rating is None:
        raise DataError(
            f"{data.name}: filters.min_rating needs ratings and the data has none; "
            "leave it out, or load a rating column"
        )
    return restrict(data, interactions=data.interactions.rating >= least)


def _without_duplicates(data: Dataset) -> Dataset:
    """Later repeats of the same user and item in the same part go."""
    table = data.interactions
    key = table.user.astype(np.int64) * max(len(data.items), 1) + table.item
    if (np.diff(key) > 0).all():
        return data
    part = np.zeros(len(table), np.int8) if table.part is None else table.part
    time = np.zeros(len(table)) if table.time is None else table.time
    order = np.lexsort((time, part, key))
    again = (np.diff(key[order], prepend=-1) == 0) & (np.diff(part[order], prepend=-1) == 0)
    keep = np.ones(len(table), bool)
    keep[order[again]] = False
    return restrict(data, interactions=keep)


def _merged(data: Dataset) -> Dataset:
    """Facts of a relation that another one says from the other end move to that one."""
    pairs = find_inverses(data)
    if not pairs:
        return data
    head, tail, n_items = data.triples.head.copy(), data.triples.tail.copy(), len(data.items)
    relation = data.triples.relation.copy()
    for pair in pairs:
        at = data.triples.relation == pair.gone
        relation[at] = pair.kept
        if pair.turned:
            # Between an item and an attribute the item stays the head, whatever the reading.
            turn = at & ((head < n_items) == (tail < n_items))
            head[turn], tail[turn] = tail[turn], head[turn]
    n_nodes = n_items + len(data.entities)
    triples = sorted_triples(head, relation, tail, n_nodes, len(data.relations))
    keep = np.ones(len(data.relations), bool)
    keep[[pair.gone for pair in pairs]] = False
    return restrict(replace(data, triples=triples), relations=keep)


def _left_out(data: Dataset, patterns: Iterable[str]) -> Dataset:
    """Relations whose id or name matches a pattern go, with entities known by no other fact."""
    keep = np.ones(len(data.relations), bool)
    named = list(zip(data.relations.ids, data.relations.names, strict=True))
    for pattern in patterns:
        hit = [fnmatchcase(i, pattern) or fnmatchcase(n, pattern) for i, n in named]
        if not any(hit):
            near = near_matches(pattern, [*data.relations.ids, *data.relations.names])
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise ConfigError(f"filters.leave_out {pattern!r} matches no relation{hint}")
        keep &= ~np.array(hit)
    return _used(restrict(data, relations=keep))


def _core(data: Dataset, k: int) -> Dataset:
    """Users and items with fewer than k distinct partners go, until none is left."""
    n_items = max(len(data.items), 1)
    key = distinct(data.interactions.user.astype(np.int64) * n_items + data.interactions.item)
    user, item = key // n_items, key % n_items
    while True:
        user_count = np.bincount(user, minlength=len(data.users))
        item_count = np.bincount(item, minlength=len(data.items))
        keep = (user_count[user] >= k) & (item_count[item] >= k)
        if keep.all():
            return _used(restrict(data, users=user_count >= k, items=item_count >= k))
        user, item = user[keep], item[keep]


def _without_rare(data: Dataset, entity: int, relation: int) -> Dataset:
    """Entities with fewer than `entity` facts and relations with fewer than `relation` go."""
    n_items, fact = len(data.items), data.triples
    alive = np.ones(len(fact), bool)
    while True:
        uses = np.bincount(fact.relation[alive], minlength=len(data.relations))
        ends = np.concatenate([fact.head[alive], fact.tail[alive]])
        node_ok = np.bincount(ends, minlength=n_items + len(data.entities)) >= entity
        node_ok[:n_items] = True
        keep = (uses >= relation)[fact.relation] & node_ok[fact.head] & node_ok[fact.tail]
        if not (alive & ~keep).any():
            small = restrict(data, entities=node_ok[n_items:], relations=uses >= relation)
            return _used(small)
        alive &= keep


def _described(data: Dataset) -> Dataset:
    """Items without a fact that ends in an entity go."""
    n_items = len(data.items)
    described: Mask = np.zeros(n_items, bool)
    fact = (data.triples.head < n_items) & (data.triples.tail >= n_items)
    described[data.triples.head[fact]] = True
    return _used(restrict(data, items=described))


def _used(data: Dataset) -> Dataset:
    """Without entities and relations that have no fact."""
    n_items, fact = len(data.items), data.triples
    ends = np.concatenate([fact.head, fact.tail])
    nodes = np.bincount(ends, minlength=n_items + len(data.entities)) > 0
    uses = np.bincount(fact.relation, minlength=len(data.relations)) > 0
    return restrict(data, entities=nodes[n_items:], relations=uses)
