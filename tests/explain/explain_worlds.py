"""Small worlds with a recommender, for tests of explanations."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.recommend.canonical import factor_subject
from cerec.recommend.linear.fit import Chosen, FitMaterial, build
from cerec.recommend.linear.folding import Folding
from cerec.recommend.linear.model import Linear
from cerec.recommend.subject import Subject

USERS, ITEMS, ATTRIBUTES, RELATIONS = 12, 40, 6, 3


def dataset(
    triples: list[tuple[int, int, int]],
    shape: tuple[int, int, int, int],
    relations: dict[str, str] | None = None,
) -> Dataset:
    """Users, items, attributes, relations in number; triples of item, relation, attribute."""
    n_users, n_items, n_attributes, n_relations = shape
    rows = np.unique(np.array(triples, np.int32).reshape(-1, 3), axis=0)
    rows[:, 2] += n_items
    none = np.zeros(0, np.int32)
    return Dataset(
        "world",
        IdTable("user", [f"u{n:02}" for n in range(n_users)]),
        IdTable("item", [f"i{n:02}" for n in range(n_items)], {"i03": "The Third Man"}),
        IdTable("attribute", [f"a{n:02}" for n in range(n_attributes)]),
        IdTable("relation", [f"r{n:02}" for n in range(n_relations)], relations),
        Interactions(none, none),
        Triples(*(np.ascontiguousarray(column) for column in rows.T)),
    )


def world(seed: int, **more: Any) -> tuple[Dataset, Facts, Ragged]:
    """Data with three relations, facts, and what users have; item 0 has no attribute, item 1 one
    that no other item has.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, [ITEMS, RELATIONS, ATTRIBUTES - 1], (4 * ITEMS, 3))
    triples = [(int(i), int(r), int(a)) for i, r, a in drawn if i > 1]
    triples.append((1, 0, ATTRIBUTES - 1))
    data = dataset(triples, (USERS, ITEMS, ATTRIBUTES, RELATIONS), **more)
    known = Ragged.from_pairs(
        np.repeat(np.arange(USERS), 8), rng.integers(0, ITEMS, 8 * USERS), USERS
    )
    return data, Facts.build(data), known


def linear_subject(facts: Facts, known: Ragged, *, factors: bool = False) -> Subject:
    """The default recommender."""
    material = FitMaterial(known, np.ones(known.size), facts)
    weights = {int(r): 0.3 for r in np.unique(facts.relation)}
    folding = {"folding": Folding(4, 0.1, 5.0, 1.0), "factor": 0.4} if factors else {}
    chosen = Chosen(penalty=10.0, popularity=0.03, relations=weights, **folding)  # type: ignore[arg-type]
    arrays = build(material, chosen)
    model = Linear(arrays)
    return Subject(
        facts=facts,
        known=known,
        vocabulary=arrays.vocabulary,
        of_item=model.of_item,
        scale=arrays.scale,
        source="model",
        model=model,
    )


@cache
def explainer(kind: str, seed: int = 0) -> Explainer:
    """An explainer around `linear`, `folded` (linear with factors) or `factors`."""
    data, facts, known = world(seed)
    if kind == "factors":
        rng = np.random.default_rng(seed + 100)
        taste = rng.normal(size=(facts.n_values, 5))
        item = np.array([taste[facts.of_item.row(i)].sum(axis=0) for i in range(ITEMS)])
        item += 0.3 * rng.normal(size=item.shape)
        return Explainer(data, factor_subject(rng.normal(size=(USERS, 5)), item, facts, known))
    return Explainer(data, linear_subject(facts, known, factors=kind == "folded"))


def listed_pairs(explainer: Explainer, k: int) -> list[tuple[str, str]]:
    """Every user with every item of their list."""
    data = explainer.data
    return [
        (user, data.items[int(i)])
        for u, user in enumerate(data.users)
        for i in explainer.listed(u, k)
    ]


def check_slowly(explainer: Explainer, e: Explanation) -> None:
    """Every claim of an answer by attributes, through `rescore` and a full ranking."""
    data, subject = explainer.data, explainer.subject
    user, item = data.users.row(e.user), data.items.row(e.item)
    scores = subject.scores(np.array([user]))[0]
    assert e.score_before == scores[item]
    attributes = set(explainer.attributes(e.item))
    gained = set()
    for change in e.changes:
        if change.before is not None:
            attributes.remove((change.relation, change.before))
        if change.after is not None:
            gained.add((change.relation, change.after))
            assert change.support is not None
            assert change.support >= 5
    assert not gained & attributes
    assert e.score_after == explainer.rescore(e.user, e.item, attributes | gained)
    if e.counterfactual_item is not None and not e.path:
        assert gained <= set(explainer.attributes(e.counterfactual_item))
    unseen = np.setdiff1d(np.arange(len(scores)), subject.known.row(user))

    def ranking(row: np.ndarray) -> list[int]:
        return sorted(unseen.tolist(), key=lambda i: (-row[i], i))

    old = ranking(scores)
    assert e.rank_before == old.index(item) + 1
    changed = scores.copy()
    changed[item] = e.score_after
    new = ranking(changed)
    assert e.rank_after == new.index(item) + 1
    came, went = set(new[: e.k]) - set(old[: e.k]), set(old[: e.k]) - set(new[: e.k])
    other = data.items.row(e.replacement)
    assert e.cutoff == scores[other]
    assert (came, went) == (({other}, {item}) if e.question == "why" else ({item}, {other}))
