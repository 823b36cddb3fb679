"""The films of a generated world and the facts about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged, distinct
from cerec.data.synthetic import naming
from cerec.errors import ConfigError
from cerec.rng import generator

Rows = NDArray[np.int64]
Facts = list[tuple[str, Rows, Rows]]  # relation name, items (or entities), entities

_EXTRA = ("theme", "setting", "mood", "award", "source", "style", "season", "pace")


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Films, entities and relations in the order of their ids, and facts by node."""

    films: list[str]
    entity_ids: list[str]
    entity_names: dict[str, str]
    relation_ids: list[str]
    head: NDArray[np.int32]
    relation: NDArray[np.int32]
    tail: NDArray[np.int32]
    """In the order of (head, relation, tail)."""
    value_relation: NDArray[np.int32]
    value_entity: NDArray[np.int32]
    """Relation and entity row of every value some film has, in that order."""
    holders: Ragged
    """Value -> films."""


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How many entities there are of each kind."""

    people: int
    studios: int
    keywords: int
    """Values of each further relation."""
    per_film: float
    """Values of each further relation a film has, on average."""


def draw_world(
    items: int, entities: int | None, relations: int, triples: int | None, seed: int
) -> World:
    """Facts for `items` films; sizes as in `WorldConfig`."""
    sizes = _sizes(items, entities, relations - 10, triples)
    rng = generator(seed, "world/facts")
    names = generator(seed, "world/names")
    kinds = {
        "genre": naming.listed(naming.GENRES, min(len(naming.GENRES), 2 * items)),
        "person": naming.people(sizes.people, names),
        "studio": naming.studios(sizes.studios, names),
        "country": naming.listed(naming.COUNTRIES, min(len(naming.COUNTRIES), items)),
        "decade": naming.listed(naming.DECADES, min(len(naming.DECADES), items)),
        "language": naming.listed(naming.LANGUAGES, min(len(naming.LANGUAGES), items)),
    }
    extras = [_EXTRA[k] if k < len(_EXTRA) else f"tag{k + 1}" for k in range(relations - 10)]
    for extra in extras:
        kinds[extra] = naming.keywords(sizes.keywords, names)
    start = dict(zip(kinds, np.cumsum([0, *map(len, kinds.values())]), strict=False))
    count = {kind: len(values) for kind, values in kinds.items()}
    film_facts, entity_facts = _film_facts(items, count, rng)
    film_facts += [
        (extra, *_spread(rng.poisson(sizes.per_film, items), count[extra], 0.7, rng), extra)
        for extra in extras
    ]
    numbered = [(r, head, tail + start[kind]) for r, head, tail, kind in film_facts]
    between = [
        (r, head + start[from_] + items, tail + start[to])
        for r, head, tail, from_, to in entity_facts
    ]
    return _assemble(naming.films(items, names), kinds, numbered + between)


def _sizes(items: int, entities: int | None, extras: int, triples: int | None) -> _Sizes:
    studios = max(items // 20, 3)
    per_film = 1.5
    if triples is not None:
        per_film = (triples - 11.5 * items) / max(extras * items, 1)
        if extras == 0 or per_film <= 0:
            raise ConfigError(
                f"world.triples of {triples} needs further relations to fill: set world.relations "
                f"above 10, and world.triples above {12 * items}"
            )
    if entities is None:
        return _Sizes(max(items * 3 // 5, 6), studios, min(40, items), per_film)
    rest = entities - 68 - studios
    if rest < 6 + 2 * extras:
        raise ConfigError(
            f"world.entities must be at least {74 + studios + 2 * extras} for {items} films, "
            f"got {entities}"
        )
    people = rest // 2 if extras else rest
    return _Sizes(people, studios, (rest - people) // max(extras, 1), per_film)


def _film_facts(
    items: int, count: dict[str, int], rng: np.random.Generator
) -> tuple[list[tuple[str, Rows, Rows, str]], list[tuple[str, Rows, Rows, str, str]]]:
    """Facts of films (with the kind of the value), and facts between entities."""
    one = np.ones(items, np.int64)
    film = np.arange(items)
    directors = max(min(count["person"], items // 6), 1)
    composers = max(min(count["person"], items // 10), 1)
    _, director = _spread(one, directors, 0.5, rng)
    _, composer = _spread(one, composers, 0.6, rng)
    actor_film, actor = _spread(rng.integers(2, 6, items), count["person"], 0.6, rng)
    _, studio = _spread(one, count["studio"], 0.7, rng)
    home = _zipf(count["studio"], count["country"], 0.8, rng)
    _, country = _spread(one, count["country"], 0.8, rng)
    country = np.where(rng.random(items) < 0.8, home[studio], country)
    spoken = np.arange(count["country"]) % count["language"]
    _, language = _spread(one, count["language"], 0.8, rng)
    language = np.where(rng.random(items) < 0.85, spoken[country], language)
    _, decade = _spread(one, count["decade"], 0.4, rng)
    genres = rng.integers(1, 4, items)
    genre_film, genre = _spread(genres, count["genre"], 0.6, rng)
    favourite = _zipf(directors, count["genre"], 0.6, rng)
    first = np.cumsum(genres) - genres
    genre[first] = np.where(rng.random(items) < 0.6, favourite[director], genre[first])
    # Directors are the least busy actors, composers come from the middle: some people do both.
    director = count["person"] - 1 - director
    composer = (composer + count["person"] // 2) % count["person"]
    born = _zipf(count["person"], count["country"], 0.8, rng)
    return [
        ("genre", genre_film, genre, "genre"),
        ("director", film, director, "person"),
        ("actor", actor_film, actor, "person"),
        ("composer", film, composer, "person"),
        ("studio", film, studio, "studio"),
        ("country", film, country, "country"),
        ("language", film, language, "language"),
        ("decade", film, decade, "decade"),
    ], [
        ("based_in", np.arange(count["studio"]), home, "studio", "country"),
        ("born_in", np.arange(count["person"]), born, "person", "country"),
    ]


def _zipf(n: int, values: int, skew: float, rng: np.random.Generator) -> Rows:
    """Draw n values, value k with odds (k + 1) ** -skew."""
    cdf = np.cumsum(np.arange(1, values + 1) ** -skew)
    return np.searchsorted(cdf, rng.random(n) * cdf[-1])


def _spread(
    per_film: NDArray[np.integer], values: int, skew: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """A film and a value for every slot; every value stands at least once if slots allow."""
    film = np.repeat(np.arange(len(per_film)), per_film)
    value = _zipf(len(film), values, skew, rng)
    once = rng.permutation(len(film))[:values]
    value[once] = np.arange(len(once))
    return film, value


def _assemble(films: list[str], kinds: dict[str, list[str]], facts: Facts) -> World:
    """Number entities and relations in the order of their ids, without entities nobody has."""
    n_items = len(films)
    relation_ids = sorted(relation for relation, _, _ in facts)
    head = np.concatenate([h for _, h, _ in facts])
    tail = np.concatenate([t for _, _, t in facts])
    code = [relation_ids.index(r) for r, h, _ in facts]
    relation = np.repeat(code, [len(h) for _, h, _ in facts])
    used = distinct(np.concatenate([tail, head[head >= n_items] - n_items]))
    every = [(f"{kind}:{naming.slug(v)}", v) for kind, values in kinds.items() for v in values]
    listed = sorted((every[k][0], k) for k in used.tolist())
    row = np.full(len(every), -1, np.int64)
    row[[k for _, k in listed]] = np.arange(len(listed))
    is_item = head < n_items
    head = np.where(is_item, head, row[np.maximum(head - n_items, 0)] + n_items)
    tail = row[tail]
    value, fact_value = np.unique(
        relation[is_item] * len(listed) + tail[is_item], return_inverse=True
    )
    key = distinct((head * len(relation_ids) + relation) * len(listed) + tail)
    pair = key // len(listed)
    return World(
        films=films,
        entity_ids=[i for i, _ in listed],
        entity_names={i: every[k][1] for i, k in listed},
        relation_ids=relation_ids,
        head=(pair // len(relation_ids)).astype(np.int32),
        relation=(pair % len(relation_ids)).astype(np.int32),
        tail=(key % len(listed) + n_items).astype(np.int32),
        value_relation=(value // len(listed)).astype(np.int32),
        value_entity=(value % len(listed)).astype(np.int32),
        holders=Ragged.from_pairs(fact_value, head[is_item], len(value)),
    )
