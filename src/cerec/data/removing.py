"""The single filters: each gives smaller data and says what it removed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset, Triples
from cerec.data.ids import IdTable
from cerec.data.inverses import find_inverses
from cerec.data.ragged import distinct
from cerec.data.restrict import Mask, restrict
from cerec.errors import ConfigError, DataError, near_matches

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


def drop_low_ratings(data: Dataset, least: float) -> tuple[Dataset, list[Removed]]:
    """Interactions rated below `least` go."""
    if data.interactions.rating is None:
        raise DataError(
            f"{data.name}: filters.min_rating needs ratings and the data has none; "
            "leave it out, or load a rating column"
        )
    keep = data.interactions.rating >= least
    return _report(data, restrict(data, interactions=keep), f"rating below {least:g}", keep)


def drop_duplicates(data: Dataset) -> tuple[Dataset, list[Removed]]:
    """Later repeats of the same user and item in the same part go."""
    table = data.interactions
    key = table.user.astype(np.int64) * max(len(data.items), 1) + table.item
    if (np.diff(key) > 0).all():
        return data, []
    part = np.zeros(len(table), np.int8) if table.part is None else table.part
    time = np.zeros(len(table)) if table.time is None else table.time
    order = np.lexsort((time, part, key))
    again = (np.diff(key[order], prepend=-1) == 0) & (np.diff(part[order], prepend=-1) == 0)
    keep = np.ones(len(table), bool)
    keep[order[again]] = False
    return _report(data, restrict(data, interactions=keep), "duplicates", keep)


def merge_inverses(data: Dataset) -> tuple[Dataset, list[Removed]]:
    """Facts of a relation that another one says from the other end move to that one."""
    pairs = find_inverses(data)
    if not pairs:
        return data, []
    head, relation, tail = data.triples.head, data.triples.relation.copy(), data.triples.tail
    head, tail = head.copy(), tail.copy()
    for pair in pairs:
        at = data.triples.relation == pair.gone
        relation[at] = pair.kept
        if pair.turned:
            # Between an item and an attribute the item stays the head, whatever the reading.
            turn = at & ((head < len(data.items)) == (tail < len(data.items)))
            head[turn], tail[turn] = tail[turn], head[turn]
    merged = replace(data, triples=_distinct(head, relation, tail))
    keep = np.ones(len(data.relations), bool)
    keep[[pair.gone for pair in pairs]] = False
    examples = [f"{data.relations[p.gone]} into {data.relations[p.kept]}" for p in pairs]
    found = Removed("inverse relations", "relations", len(pairs), tuple(examples[:EXAMPLES]))
    repeated = len(data.triples) - len(merged.triples)
    return restrict(merged, relations=keep), [found, *_counted("inverse relations", repeated)]


def leave_out(data: Dataset, patterns: Iterable[str]) -> tuple[Dataset, list[Removed]]:
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
    return _shrink(data, "relations left out", relations=keep)


def k_core(data: Dataset, k: int) -> tuple[Dataset, list[Removed]]:
    """Users and items with fewer than k distinct partners go, until none is left."""
    n_items = max(len(data.items), 1)
    key = distinct(data.interactions.user.astype(np.int64) * n_items + data.interactions.item)
    user, item = key // n_items, key % n_items
    while True:
        user_count = np.bincount(user, minlength=len(data.users))
        item_count = np.bincount(item, minlength=len(data.items))
        keep = (user_count[user] >= k) & (item_count[item] >= k)
        if keep.all():
            return _shrink(data, f"{k}-core", users=user_count >= k, items=item_count >= k)
        user, item = user[keep], item[keep]


def drop_rare(data: Dataset, entity: int, relation: int) -> tuple[Dataset, list[Removed]]:
    """Entities with fewer than `entity` facts and relations with fewer than `relation` go."""
    n_items, fact = len(data.items), data.triples
    n_nodes = n_items + len(data.entities)
    alive = np.ones(len(fact), bool)
    while True:
        uses = np.bincount(fact.relation[alive], minlength=len(data.relations))
        ends = np.concatenate([fact.head[alive], fact.tail[alive]])
        node_ok = np.bincount(ends, minlength=n_nodes) >= entity
        node_ok[:n_items] = True
        keep = (uses >= relation)[fact.relation] & node_ok[fact.head] & node_ok[fact.tail]
        if not (alive & ~keep).any():
            name = f"fewer than {entity} facts of an entity or {relation} of a relation"
            return _shrink(data, name, entities=node_ok[n_items:], relations=uses >= relation)
        alive &= keep


def drop_items_without_attributes(data: Dataset) -> tuple[Dataset, list[Removed]]:
    """Items without a fact that ends in an entity go."""
    n_items = len(data.items)
    described = np.zeros(n_items, bool)
    described[data.triples.head[(data.triples.head < n_items) & (data.triples.tail >= n_items)]] = 1
    return _shrink(data, "no attributes", items=described)


def _distinct(
    head: NDArray[np.int32], relation: NDArray[np.int32], tail: NDArray[np.int32]
) -> Triples:
    order = np.lexsort((tail, relation, head))
    columns = [column[order] for column in (head, relation, tail)]
    new = np.ones(len(order), bool)
    new[1:] = np.any([np.diff(column) != 0 for column in columns], axis=0)
    return Triples(*(column[new] for column in columns))


def _shrink(
    data: Dataset,
    step: str,
    *,
    users: Mask | None = None,
    items: Mask | None = None,
    entities: Mask | None = None,
    relations: Mask | None = None,
) -> tuple[Dataset, list[Removed]]:
    """Remove rows, then the entities and relations that thereby lost their last fact."""
    small = restrict(data, users=users, items=items, entities=entities, relations=relations)
    bare_entity, bare_relation = _bare(data)
    lost_entity, lost_relation = _bare(small)
    # An entity or relation that had no fact from the start is not this step's to remove.
    was_bare = {data.entities[k] for k in np.flatnonzero(bare_entity).tolist()}
    still = np.array([i in was_bare for i in small.entities], bool)
    unused = {data.relations[k] for k in np.flatnonzero(bare_relation).tolist()}
    empty = np.array([i in unused for i in small.relations], bool)
    small = restrict(small, entities=~lost_entity | still, relations=~lost_relation | empty)
    return small, _differences(data, small, step)


def _bare(data: Dataset) -> tuple[Mask, Mask]:
    """Entities and relations without a single fact."""
    n_nodes = len(data.items) + len(data.entities)
    ends = np.concatenate([data.triples.head, data.triples.tail])
    nodes = np.bincount(ends, minlength=n_nodes)
    uses = np.bincount(data.triples.relation, minlength=len(data.relations))
    return nodes[len(data.items) :] == 0, uses == 0


def _differences(before: Dataset, after: Dataset, step: str) -> list[Removed]:
    found = []
    for kind in ("users", "items", "entities", "relations"):
        old: IdTable = getattr(before, kind)
        new: IdTable = getattr(after, kind)
        if len(old) != len(new):
            gone = [name for i, name in zip(old.ids, old.names, strict=True) if i not in new]
            found.append(Removed(step, kind, len(gone), tuple(gone[:EXAMPLES])))
    found += _counted(step, len(before.triples) - len(after.triples))
    return found + _counted(
        step, len(before.interactions) - len(after.interactions), "interactions"
    )


def _counted(step: str, count: int, kind: str = "triples") -> list[Removed]:
    return [Removed(step, kind, count, ())] if count else []


def _report(
    before: Dataset, after: Dataset, step: str, keep: Mask
) -> tuple[Dataset, list[Removed]]:
    """The removal of interactions, with some of them by name."""
    gone = np.flatnonzero(~keep)
    if not len(gone):
        return before, []
    table = before.interactions
    examples = tuple(
        f"{before.users.name(table.user[k])} - {before.items.name(table.item[k])}"
        for k in gone[:EXAMPLES]
    )
    return after, [Removed(step, "interactions", len(gone), examples)]
