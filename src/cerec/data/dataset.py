"""The checked tables everything else is built from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.ids import IdTable
from cerec.errors import DataError

TRAIN, VALID, TEST = 0, 1, 2
"""Codes of `Interactions.part`, for data that arrives already split."""


@dataclass(frozen=True, slots=True, eq=False)
class Interactions:
    """User-item pairs as parallel arrays, in the order of (user, item, time)."""

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    rating: NDArray[np.float32] | None = None
    time: NDArray[np.float64] | None = None
    part: NDArray[np.int8] | None = None
    """TRAIN, VALID or TEST for data that came in parts; None when it came whole."""

    def __len__(self) -> int:
        return len(self.user)


@dataclass(frozen=True, slots=True, eq=False)
class Triples:
    """Facts `head relation tail`; nodes below `n_items` are items, the others entities.

    Between an item and an attribute the item is always the head. Sorted by (head, relation,
    tail), without repeats.
    """

    head: NDArray[np.int32]
    relation: NDArray[np.int32]
    tail: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.head)


@dataclass(frozen=True, slots=True, eq=False)
class Planted:
    """What a generated world knows of its users: (user, relation, attribute) that they truly like
    (`sign` +1) or dislike (-1), as parallel arrays of rows.
    """

    user: NDArray[np.int32]
    relation: NDArray[np.int32]
    attribute: NDArray[np.int32]
    sign: NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Users, items, other entities and relations; who took what; facts about the items."""

    name: str
    users: IdTable
    items: IdTable
    entities: IdTable
    """Attribute values and other non-item nodes."""
    relations: IdTable
    interactions: Interactions
    triples: Triples
    planted: Planted | None = None
    user_columns: Mapping[str, NDArray[np.str_]] = field(default_factory=dict)
    """Column of the users' table -> a text for every user, empty where it is not known."""
    notes: tuple[str, ...] = field(default=())
    """What readers and filters dropped or changed, for people."""

    def __post_init__(self) -> None:
        n_nodes = len(self.items) + len(self.entities)
        _check_range("interactions.user", self.interactions.user, len(self.users))
        _check_range("interactions.item", self.interactions.item, len(self.items))
        _check_range("triples.head", self.triples.head, n_nodes)
        _check_range("triples.tail", self.triples.tail, n_nodes)
        _check_range("triples.relation", self.triples.relation, len(self.relations))
        for name, column in self.user_columns.items():
            if len(column) != len(self.users):
                raise DataError(
                    f"users: column {name!r} has {len(column)} values for {len(self.users)} users; "
                    "give every user one, empty where it is not known"
                )

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}: {len(self.users):,} users, {len(self.items):,} items, "
            f"{len(self.interactions):,} interactions, {len(self.entities):,} other entities, "
            f"{len(self.relations)} relations, {len(self.triples):,} triples)"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @classmethod
    def from_frames(cls, interactions: Any, items: Any = None, **more: Any) -> Dataset:
        """A dataset of pandas or polars frames; see `cerec.data.frames.from_frames`."""
        from cerec.data.frames import from_frames

        return from_frames(interactions, items, **more)

    @property
    def fingerprint(self) -> str:
        """A hash of everything but `name` and `notes`; equal data have equal fingerprints."""
        digest = hashlib.sha256()
        for table in (self.users, self.items, self.entities, self.relations):
            digest.update("\x1f".join([*table.ids, "", *table.names]).encode())
            digest.update(b"\x1e")
        for part in (self.interactions, self.triples, self.planted):
            for column in _columns(part):
                digest.update(b"-" if column is None else np.ascontiguousarray(column).tobytes())
                digest.update(b"\x1d")
        for name, texts in sorted(self.user_columns.items()):
            digest.update("\x1f".join([name, *texts.tolist()]).encode())
        return digest.hexdigest()[:32]


def _columns(part: Interactions | Triples | Planted | None) -> list[NDArray[Any] | None]:
    return [] if part is None else [getattr(part, name) for name in part.__slots__]


def _check_range(what: str, rows: NDArray[np.int32], below: int) -> None:
    if len(rows) and (int(rows.min()) < 0 or int(rows.max()) >= below):
        raise DataError(
            f"{what} holds rows {rows.min()}..{rows.max()}, expected 0..{below - 1}: "
            "build tables with the readers or Dataset.from_frames"
        )
