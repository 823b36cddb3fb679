"""Small worlds with a recommender, for tests of explanations."""

from __future__ import annotations

from typing import Any

import numpy as np

from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.recommend.scorer import Pooling, Scorer, rank_of, top_k
from cerec_bench.search.explainer import Explainer
from cerec_bench.search.explanation import Explanation


def dataset(triples: list[tuple[int, int, int]], shape: tuple[int, int, int, int]) -> Dataset:
    """Users, items, attributes, relations in number; triples of item, relation, attribute."""
    n_users, n_items, n_attributes, n_relations = shape
    rows = np.unique(np.array(triples, np.int32).reshape(-1, 3), axis=0)
    rows[:, 2] += n_items
    none = np.zeros(0, np.int32)
    return Dataset(
        "world",
        IdTable("user", [f"u{n:02}" for n in range(n_users)]),
        IdTable("item", [f"i{n:02}" for n in range(n_items)]),
        IdTable("attribute", [f"a{n:02}" for n in range(n_attributes)]),
        IdTable("relation", [f"r{n:02}" for n in range(n_relations)]),
        Interactions(none, none),
        Triples(*(np.ascontiguousarray(column) for column in rows.T)),
    )


def random_explainer(
    seed: int, pooling: Pooling = "mean", *, items: int = 24, coarse: bool = False, **more: Any
) -> Explainer:
    """Three relations of five attributes, four users; `coarse` factors make many ties."""
    rng = np.random.default_rng(seed)
    facts = [(*rng.integers(0, [items, 3, 5]),) for _ in range(4 * items)]
    data = dataset(facts, (4, items, 5, 3))  # type: ignore[arg-type]
    vocabulary = Facts.build(data)

    def factors(n: int) -> np.ndarray:
        drawn = rng.integers(-2, 3, (n, 3)) / 2 if coarse else rng.normal(size=(n, 3))
        return drawn.astype(np.float32)

    user = factors(4)
    scorer = Scorer(user, factors(items), factors(vocabulary.n_values), user, pooling)
    known = Ragged.from_pairs(rng.integers(0, 4, 12), rng.integers(0, items, 12), 4)
    return Explainer(data, known, vocabulary, scorer, **more)


def check_slowly(explainer: Explainer, e: Explanation) -> None:
    """Every claim of a verified explanation, through `rescore` and a full ranking."""
    data, k = explainer.data, e.k
    user, item = data.users.row(e.user), data.items.row(e.item)
    seen = explainer.known.row(user)
    scores = explainer.scorer.scores(user)
    assert e.score_before == scores[item]
    assert e.rank_before == rank_of(scores, item, seen)
    attributes = set(explainer.attributes(e.item))
    for change in e.changes:
        if change.before is not None:
            attributes.remove((change.relation, change.before))
    for change in e.changes:
        if change.after is not None:
            assert (change.relation, change.after) not in attributes
            attributes.add((change.relation, change.after))
            assert (change.relation, change.after) in explainer.attributes(e.counterfactual_item)
    assert e.score_after == explainer.rescore(e.user, e.item, attributes)
    old = [data.items[i] for i in top_k(scores, k, seen)]
    changed = scores.copy()
    changed[item] = e.score_after
    assert e.rank_after == rank_of(changed, item, seen)
    new = [data.items[i] for i in top_k(changed, k, seen)]
    came, went = set(new) - set(old), set(old) - set(new)
    assert e.cutoff == scores[data.items.row(e.replacement)]
    expected = ({e.replacement}, {e.item})
    assert (came, went) == (expected if e.question == "why" else expected[::-1])
