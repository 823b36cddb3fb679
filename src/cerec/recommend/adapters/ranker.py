"""Rankers over attribute columns: LightGBM, XGBoost, scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.errors import ConfigError, DataError
from cerec.recommend.adapters.base import Ids, Known, block, table
from cerec.recommend.adapters.function import Function
from cerec.recommend.protocol import Doubles, Pair

Sets = Sequence[Sequence[Pair]]
Rows = Callable[[str, Sequence[str], Sets], Any]
"""`rows(user, items, sets)`: what `predict` takes, a row for each item with its set of pairs."""


def Ranker(
    predict: Callable[[Any], Any],
    rows: Rows,
    data: Dataset,
    *,
    users: Ids | None = None,
    items: Ids | None = None,
    known: Known = None,
) -> Function:
    """A model of rows of features; it scores items with other attributes itself, in batches.

        def rows(user, items, sets):
            return np.hstack([np.tile(of_user[user], (len(items), 1)), columns(sets)])

        R = cerec.adapters.Ranker(model.predict, rows, data)

    `rows` makes the features of one user and many items: `sets` are the items' attributes, or those
    an item might have. A classifier's `predict` is `lambda x: model.predict_proba(x)[:, 1]`.
    """
    if not callable(predict) or not callable(rows):
        raise ConfigError("Ranker takes two functions: predict(features), rows(user, items, sets)")
    own = _attributes(data)
    ids = table("item", data.items.ids if items is None else items).ids
    stray = next((i for i in ids if i not in own), None)
    if stray is not None:
        raise DataError(f"items= holds {stray!r}, which the data do not hold")
    sets = [own[i] for i in ids]

    def ask(user: str, some: Sequence[str], given: Sets) -> Doubles:
        return block("predict(features)", predict(rows(user, some, given)), (len(given),))

    def score(who: list[str]) -> Doubles:
        return np.array([ask(user, ids, sets) for user in who]).reshape(len(who), len(ids))

    def rescore(user: str, item: str, given: Sets) -> Doubles:
        return ask(user, [item] * len(given), given)

    return Function(
        score,
        users=data.users.ids if users is None else users,
        items=ids,
        known=known,
        rescore=rescore,
    )


def attribute_columns(
    data: Dataset, relations: Iterable[str] | None = None, *, least: int = 1
) -> Callable[[Sets], NDArray[np.float32]]:
    """Sets of (relation, attribute) pairs -> (n, columns), 1 where a set has the column's value.

    A column for each value that at least so many items have, of all relations or of these.
    """
    facts = Facts.build(data)
    wanted = set(data.relations.ids if relations is None else relations)
    held = facts.holders.counts
    column: dict[Pair, int] = {}
    for v in range(facts.n_values):
        relation = data.relations[int(facts.relation[v])]
        if relation in wanted and held[v] >= least:
            column[relation, data.entities[int(facts.attribute[v])]] = len(column)

    def columns(sets: Sets) -> NDArray[np.float32]:
        out = np.zeros((len(sets), len(column)), np.float32)
        for n, pairs in enumerate(sets):
            out[n, [column[p] for p in pairs if p in column]] = 1.0
        return out

    return columns


def _attributes(data: Dataset) -> dict[str, list[Pair]]:
    """Item -> its (relation, attribute) pairs."""
    facts = Facts.build(data)
    pairs = [
        (data.relations[int(r)], data.entities[int(a)])
        for r, a in zip(facts.relation, facts.attribute, strict=True)
    ]
    return {item: [pairs[v] for v in facts.of_item.row(n)] for n, item in enumerate(data.items)}
