"""Ground truths: for every pair, the values that would turn this user away from this item.

`planted`   what the users of a generated world truly dislike
`heldout`   what tells the items a user skipped from those they took later
`dns`       what dynamic negative sampling finds (`dns_truth`), as in the paper

The first two also know what a user likes. `...-both` asks for both sides of a counterfactual: liked
values of the item, which it might lose, and disliked ones that it lacks and might gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.errors import ConfigError
from cerec.recommend.draws import holds
from cerec_bench.explainers.protocol import Pairs, Rows

TRUTHS = ("dns", "planted", "heldout", "planted-both", "heldout-both")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldoutConfig:
    """When an attribute tells what a user skipped from what the user took."""

    skipped: float = 100.0
    """Items that what a user skipped is worth."""
    prior: float = 10.0
    """Items worth of the catalogue added to either side before comparing."""
    threshold: float = 1.0
    """Standard errors by which the log-odds must differ."""

    def __post_init__(self) -> None:
        if self.skipped <= 0 or self.prior <= 0 or self.threshold < 0:
            raise ConfigError(
                "heldout needs skipped > 0, prior > 0 and threshold >= 0, "
                f"got {self.skipped}, {self.prior}, {self.threshold}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """The table (user, item, value): row p holds the values of pair p, none where none is known."""

    name: str
    of_pair: Ragged
    both: bool = False
    """Whether values that the item has, and might lose, are asked for too."""

    def rows(self, pairs: Pairs) -> tuple[Rows, Rows, Rows]:
        """User, item and value of every line of the table."""
        at = self.of_pair.row_of()
        return pairs.user[at], pairs.item[at], self.of_pair.indices


@dataclass(frozen=True, slots=True, eq=False)
class Tastes:
    """User -> values, for either side."""

    liked: Ragged
    disliked: Ragged

    def truth(self, name: str, facts: Facts, pairs: Pairs, *, both: bool) -> Truth:
        """What the tastes say of the pairs."""
        if not both:
            return Truth(name, _rows([self.disliked.row(int(u)) for u in pairs.user]))
        found = []
        for user, item in zip(pairs.user.tolist(), pairs.item.tolist(), strict=True):
            own = facts.of_item.row(item)
            to_lose = np.intersect1d(own, self.liked.row(user), assume_unique=True)
            to_gain = np.setdiff1d(self.disliked.row(user), own, assume_unique=True)
            found.append(np.union1d(to_lose, to_gain))
        return Truth(f"{name}-both", _rows(found), both=True)


def examined(truth: Truth, tastes: Tastes, user: Rows, n_values: int) -> dict[str, float]:
    """What share of a truth's values the user was made to like, and to dislike; and what share of
    all values that is, which chance would find.
    """
    rows = truth.of_pair.row_of()
    who, value = user[rows], truth.of_pair.indices
    out = {"values": float(len(value))}
    for name, side in (("liked", tastes.liked), ("disliked", tastes.disliked)):
        pairs = zip(who.tolist(), value.tolist(), strict=True)
        out[name] = float(np.mean([holds(side.indptr, side.indices, u, v) for u, v in pairs]))
        out[f"{name}_by_chance"] = float(side.counts[user].mean() / max(n_values, 1))
    return out


def planted(data: Dataset, facts: Facts) -> Tastes:
    """The tastes a generated world gave its users, of values that some item has."""
    if data.planted is None:
        raise ConfigError(
            f"{data.name}: no planted tastes; the truths 'planted' are for generated worlds such "
            "as demo, use dns or heldout"
        )
    width = max(len(data.entities), 1)
    vocabulary = facts.relation.astype(np.int64) * width + facts.attribute
    key = data.planted.relation.astype(np.int64) * width + data.planted.attribute
    value = np.searchsorted(vocabulary, key)
    there = value < len(vocabulary)
    there[there] = vocabulary[value[there]] == key[there]
    sides = [there & (data.planted.sign == sign) for sign in (1, -1)]
    liked, disliked = (
        Ragged.from_pairs(data.planted.user[s], value[s], len(data.users)) for s in sides
    )
    return Tastes(liked, disliked)


def heldout(
    train: Ragged, parts: Split, facts: Facts, config: HeldoutConfig, users: Rows
) -> Tastes:
    """What tells a user's held-out items H from the skipped ones S, for these users.

    A user is taken to have come across items in proportion to their popularity in train: S are all
    items that the user took neither before nor later, so weighted, and worth `skipped` items. A
    value that h of |H| items hold, s of |S|, and a share c of the catalogue, has log-odds
    ln((h + a c) / (|H| - h + a (1 - c))) of being taken, the same with S of being skipped, a the
    prior; the variance of their difference is 1 / (h + a c) + 1 / (s + a c). A value is disliked
    where the difference is `threshold` standard errors below zero, liked where as far above.
    """
    of_item, n_items = facts.of_item, len(facts.of_item)
    popular = np.bincount(train.indices, minlength=n_items).astype(np.float64)
    everyone = np.bincount(of_item.indices, popular[of_item.row_of()], minlength=facts.n_values)
    share = facts.holders.counts / max(n_items, 1)
    alpha, rest = config.prior * share, config.prior * (1 - share)
    sides: tuple[list[Rows], list[Rows]] = ([], [])
    for user in np.unique(users).tolist():
        taken = np.union1d(parts.valid.row(user), parts.test.row(user))
        mine = np.union1d(taken, train.row(user))
        left = popular.sum() - popular[mine].sum()
        if len(taken) == 0 or left <= 0:
            continue
        h = _held(facts, taken, np.ones(n_items))
        s = (everyone - _held(facts, mine, popular)) * (config.skipped / left)
        s = np.clip(s, 0.0, config.skipped)  # roundings
        with np.errstate(divide="ignore", invalid="ignore"):  # what all items hold tells nothing
            odds = np.log((h + alpha) / (len(taken) - h + rest))
            odds -= np.log((s + alpha) / (config.skipped - s + rest))
            score = odds / np.sqrt(1 / (h + alpha) + 1 / (s + alpha))
        for side, sign in zip(sides, (1.0, -1.0), strict=True):
            values = np.flatnonzero(sign * score >= max(config.threshold, 1e-12))
            side.append(np.stack([np.full(len(values), user), values]).astype(np.int32))
    liked, disliked = (_table(side, len(train)) for side in sides)
    return Tastes(liked, disliked)


def _held(
    facts: Facts, items: NDArray[np.integer], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(V,) the weight of those of the items that hold each value."""
    rows = [facts.of_item.row(int(i)) for i in items]
    by = np.repeat(weight[items], [len(row) for row in rows])
    values = np.concatenate([*rows, np.zeros(0, np.int32)])
    return np.asarray(np.bincount(values, by, minlength=facts.n_values), np.float64)


def _table(side: list[Rows], n_users: int) -> Ragged:
    both = np.concatenate(side, axis=1) if side else np.zeros((2, 0), np.int32)
    return Ragged.from_pairs(both[0], both[1], n_users)


def _rows(found: Sequence[NDArray[np.integer]]) -> Ragged:
    indptr = np.cumsum([0, *map(len, found)], dtype=np.int64)
    return Ragged(indptr, np.concatenate([*found, np.zeros(0, np.int32)]).astype(np.int32))
