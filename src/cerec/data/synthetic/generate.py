"""Generated worlds with known answers: a movie world of any size, and tiny ones for tests.

The movie world draws, in this order: facts of the films, tastes of the users (the *planted*
likes and dislikes), and who watched what. A user takes items without replacement with odds

    popularity(i) * exp(sum of the user's taste over the values of i)

so what a user likes can be learned from the data, and what a user dislikes is known.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from cerec.data.dataset import TEST, TRAIN, Dataset, Interactions, Planted, Triples
from cerec.data.ids import IdTable
from cerec.data.synthetic.tastes import HABITS, Tastes, draw_interactions, draw_tastes
from cerec.data.synthetic.world import World, draw_world
from cerec.errors import ConfigError, one_of
from cerec.rng import generator
from cerec.settings.base import Count, NotNegative, settings

_START = 1_577_836_800  # 2020-01-01, in seconds
_DAY = 86_400
NAMED_RELATIONS = 10


@settings("world")
class WorldConfig:
    """The size and the character of a generated movie world."""

    users: Count = 600
    """People who watch."""
    items: Count = 800
    """Films."""
    interactions: Count = 30_000
    """Distinct user-item pairs, exactly."""
    entities: int | None = None
    """Attribute values in all, about; None: what suits the number of films."""
    relations: Annotated[int, Ge(NAMED_RELATIONS)] = NAMED_RELATIONS
    """Relations in all. The first ten have names of their own (genre, director, ...)."""
    triples: int | None = None
    """Facts in all, about; None: what suits the number of films."""
    popularity: NotNegative = 0.6
    """Exponent of the Zipf law of the films' popularity; 0: all alike."""
    taste: NotNegative = 1.0
    """How much taste counts beside popularity; 0: not at all."""
    circles: Count = 12
    """Circles of users with related tastes."""
    penalty: float | None = None
    """Adds the relation `lead`, by which a third of the films have `woman` and the others `man`;
    odds of the former are lower by this many units of the logarithm. None: no such relation."""
    strengths: dict[str, float] | None = None
    """How much the taste for each relation counts, 1 as usual; None: all as usual."""

    def __post_init__(self) -> None:
        most = self.users * self.items
        if not self.users <= self.interactions <= most:
            raise ConfigError(
                f"world.interactions must be between one per user ({self.users}) and users x items "
                f"({most}), got {self.interactions}"
            )
        for relation in self.strengths or {}:
            one_of("world.strengths", relation, HABITS)


def demo() -> Dataset:
    """The built-in world: 600 users, 800 films, 30,000 interactions. Always the same."""
    return make_world(WorldConfig(), seed=7, name="demo")


def make_world(config: WorldConfig, *, seed: int, name: str = "world") -> Dataset:
    """A movie world with planted tastes; the same for the same config and seed."""
    world = draw_world(config.items, config.entities, config.relations, config.triples, seed)
    tastes = draw_tastes(
        world, config.users, config.circles, config.taste, seed, config.strengths or {}
    )
    slower, triples = None, Triples(world.head, world.relation, world.tail)
    relations, entities = list(world.relation_ids), list(world.entity_ids)
    names = dict(world.entity_names)
    if config.penalty is not None:
        woman = generator(seed, "world/lead").random(config.items) < 1 / 3
        slower = np.where(woman, np.exp(config.penalty), 1.0)
        triples = _with_lead(triples, woman, len(relations), config.items + len(entities))
        relations, entities = [*relations, "lead"], [*entities, "lead:woman", "lead:man"]
        names |= {"lead:woman": "woman", "lead:man": "man"}
    user, item = draw_interactions(
        world, tastes, config.interactions, config.popularity, seed, slower
    )
    return Dataset(
        name=name,
        users=IdTable("user", _numbered("u", config.users)),
        items=IdTable("item", *_titled("m", world.films)),
        entities=IdTable("entity", entities, names),
        relations=IdTable("relation", relations),
        interactions=Interactions(user, item, time=_times(user, seed)),
        triples=triples,
        planted=_planted(world, tastes),
        notes=(f"generated: seed {seed}",),
    )


def _with_lead(triples: Triples, woman: NDArray[np.bool_], relation: int, entity: int) -> Triples:
    """One more fact for every film, whose value is one of two more entities."""
    film = np.arange(len(woman), dtype=np.int32)
    head = np.concatenate([triples.head, film])
    kind = np.concatenate([triples.relation, np.full(len(film), relation, np.int32)])
    tail = np.concatenate([triples.tail, np.where(woman, entity, entity + 1).astype(np.int32)])
    order = np.lexsort((tail, kind, head))
    return Triples(head[order], kind[order], tail[order])


def _numbered(letter: str, n: int) -> list[str]:
    """`u001`, ...: padded, so that text order is number order."""
    width = len(str(n))
    return [f"{letter}{k:0{width}d}" for k in range(1, n + 1)]


def _titled(letter: str, names: list[str]) -> tuple[list[str], dict[str, str]]:
    ids = _numbered(letter, len(names))
    return ids, dict(zip(ids, names, strict=True))


def _times(user: NDArray[np.int32], seed: int) -> NDArray[np.float64]:
    """Every user watches, in no particular order, over some weeks from a first day of their own."""
    rng = generator(seed, "world/time")
    first = rng.integers(0, 700, int(user.max()) + 1)
    return (_START + _DAY * first[user] + rng.integers(0, 60 * _DAY, len(user))).astype(np.float64)


def _planted(world: World, tastes: Tastes) -> Planted:
    order = np.lexsort(
        (world.value_entity[tastes.value], world.value_relation[tastes.value], tastes.user)
    )
    value = tastes.value[order]
    return Planted(
        user=tastes.user[order],
        relation=world.value_relation[value],
        attribute=world.value_entity[value],
        sign=np.sign(tastes.strength[order]).astype(np.int8),
    )


def checkerboard(n: int) -> Dataset:
    """As many users as items: user i takes every item of the same parity but item i, which is
    withheld as the test part. So the right recommendation for user i is item i, and the reason
    is its `square`, `light` or `dark`.
    """
    if n < 4:
        raise ConfigError(f"a checkerboard needs at least 4 items, got {n}")
    user, item = np.divmod(np.flatnonzero(np.add.outer(np.arange(n), np.arange(n)) % 2 == 0), n)
    part = np.where(user == item, TEST, TRAIN).astype(np.int8)
    rows = np.arange(n, dtype=np.int32)
    parity = rows % 2
    zeros = np.zeros(n, np.int32)
    ids = [str(k) for k in range(n)]
    return Dataset(
        name=f"checkerboard-{n}",
        users=IdTable("user", ids),
        items=IdTable("item", ids, {k: f"item {k}" for k in ids}),
        entities=IdTable("entity", ["dark", "light"]),
        relations=IdTable("relation", ["square"]),
        interactions=Interactions(user.astype(np.int32), item.astype(np.int32), part=part),
        triples=Triples(rows, zeros, n + parity),
        planted=Planted(
            user=np.repeat(rows, 2),
            relation=np.repeat(zeros, 2),
            attribute=np.tile(np.array([0, 1], np.int32), n),
            sign=np.where(np.repeat(parity, 2) == np.tile([0, 1], n), 1, -1).astype(np.int8),
        ),
    )
