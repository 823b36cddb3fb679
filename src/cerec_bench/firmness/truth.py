"""Are the answers true? In a generated world the tastes of every user are known.

A user u of such a world takes item i at a rate whose logarithm is

    t(u, i) = sum of the strengths of u's tastes for the values of i - popularity * ln(1 + rank)

For the changes of an answer, with what is planted:

- *planted precision*: of the gained values, the share that the user dislikes;
- *gained disliked or lost liked*: of the changes, the share with one of both;
- *flips in the true world*: of the answers about items that are among the first k unseen ones by
  t, too, the share whose changes take the item out of these k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.data.synthetic.tastes import draw_tastes
from cerec.data.synthetic.world import draw_world
from cerec.explain.changes.answers import Answers
from cerec.recommend.protocol import Doubles
from cerec.recommend.rank import ranks_after
from cerec.recommend.subject import Subject
from cerec.rng import generator
from cerec_bench.firmness.stability import World, answers_of, gain_of


@dataclass(frozen=True, slots=True)
class Truth:
    """Shares over all answers of a world."""

    world: str
    pairs: int
    found: float
    planted: float
    either: float
    flips: float
    in_both: int
    """Answers about items that are in the true list as well."""

    @staticmethod
    def mean(rows: list[Truth]) -> Truth:
        """Of several worlds, each counting alike."""
        names = ("found", "planted", "either", "flips")
        shares = {n: float(np.mean([getattr(r, n) for r in rows])) for n in names}
        pairs, both = sum(r.pairs for r in rows), sum(r.in_both for r in rows)
        return Truth("mean", pairs=pairs, in_both=both, **shares)


def _default(data: Dataset) -> Subject:
    return World.of(data).subject()


def truth(
    config: WorldConfig,
    seed: int,
    *,
    k: int = 20,
    fit: Callable[[Dataset], Subject] = _default,
) -> Truth:
    """How true the answers of a recommender are in one world; those of the default, if not said."""
    data = make_world(config, seed=seed, name=f"world-{seed}")
    subject = fit(data)
    strengths = strengths_of(config, seed, subject.facts)
    rates = rates_of(config, strengths, seed, subject.facts)
    return _judged(data, subject, strengths[:, subject.vocabulary], rates, k)


def _judged(data: Dataset, subject: Subject, strengths: Doubles, rates: Doubles, k: int) -> Truth:
    a = answers_of(data, subject, np.arange(len(data.users)), k).answers
    gained, lost = a.gained >= 0, a.lost >= 0
    by = np.repeat(a.user, a.size)
    dislikes = gained & (strengths[by, a.gained] < 0)
    likes = lost & (strengths[by, a.lost] > 0)
    flips, there = _flips(subject, a, rates, strengths, k)
    return Truth(
        data.name,
        pairs=len(a),
        found=float((a.status == 0).mean()),
        planted=float(dislikes.sum() / max(gained.sum(), 1)),
        either=float((dislikes | likes).mean()),
        flips=float(flips[there].mean()),
        in_both=int(there.sum()),
    )


def _flips(
    subject: Subject, a: Answers, rates: Doubles, strengths: Doubles, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Whether each answer flips in the true world, and whether its item is listed there."""
    known, user = subject.known, a.user.astype(np.int64)
    before = rates[user, a.item]
    after = before + gain_of(a, strengths, user)
    ranks = [
        ranks_after(rates, known.indptr, known.indices, user, a.item.astype(np.int64), score)
        for score in (before, after)
    ]
    return ranks[1] > k, (ranks[0] <= k) & (a.status == 0)


def strengths_of(config: WorldConfig, seed: int, facts: Facts) -> Doubles:
    """(U, V) strength of every user's taste for every value of the facts."""
    drawn = draw_world(config.items, config.entities, config.relations, config.triples, seed)
    taste = config.users, config.circles, config.taste, seed, config.strengths or {}
    tastes = draw_tastes(drawn, *taste)
    place = {pair: v for v, pair in enumerate(zip(facts.relation, facts.attribute, strict=True))}
    value = zip(drawn.value_relation, drawn.value_entity, strict=True)
    row = np.array([place.get(pair, -1) for pair in value])[tastes.value]
    out = np.zeros((config.users, facts.n_values))
    out[tastes.user[row >= 0], row[row >= 0]] = tastes.strength[row >= 0]
    return out


def rates_of(config: WorldConfig, strengths: Doubles, seed: int, facts: Facts) -> Doubles:
    """(U, I) t(u, i)."""
    rank = generator(seed, "world/interactions").permutation(config.items)  # as they are drawn
    by_item = np.zeros((facts.n_values, config.items))
    by_item[facts.of_item.indices, facts.of_item.row_of()] = 1.0
    rates = strengths @ by_item - config.popularity * np.log1p(rank)
    return np.ascontiguousarray(rates)
