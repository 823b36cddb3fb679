"""Groups of users and of items, for figures side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.errors import ConfigError, UnknownIdError
from cerec.explain.lookup import row_of
from cerec.recommend.subject import Subject

_MOST = 12  # groups of one column; the rest is one group
_ACTIVITY = ("short histories", "middle histories", "long histories")


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Segments; a user belongs to one of each column, an item to any number."""

    names: tuple[tuple[str, str], ...]
    """(column, group)"""
    of_user: NDArray[np.int32]
    """(columns, U) place in `names`."""
    of_item: NDArray[np.bool_]
    """(groups of items, I), the last of `names`."""

    @staticmethod
    def none(users: int, items: int) -> Groups:
        """No segments at all."""
        return Groups((), np.zeros((0, users), np.int32), np.zeros((0, items), bool))

    def of_users(
        self, rows: NDArray[np.integer], least: int
    ) -> list[tuple[tuple[str, str], NDArray[np.bool_]]]:
        """Groups with at least so many of these users: names, and who belongs to them."""
        mine = self.of_user[:, rows]
        n_user = len(self.names) - len(self.of_item)
        inside = [(self.names[g], np.asarray((mine == g).any(axis=0))) for g in range(n_user)]
        return [(names, some) for names, some in inside if int(some.sum()) >= least]


def groups_of(
    data: Dataset,
    subject: Subject,
    columns: tuple[str, ...] = (),
    relations: tuple[str, ...] = (),
) -> Groups:
    """Users by activity and by columns of their table, items by the values of relations."""
    names: list[tuple[str, str]] = []
    of_user = [_by_activity(subject, names)]
    for column in columns or tuple(data.user_columns):
        if column not in data.user_columns:
            raise UnknownIdError("column of the users' table", column, data.user_columns)
        of_user.append(_by_column(column, data.user_columns[column], names))
    of_item = [row for name in relations for row in _by_relation(data, subject, name, names)]
    shape = (0, len(data.items))
    return Groups(
        tuple(names),
        np.array(of_user, np.int32),
        np.array(of_item, bool) if of_item else np.zeros(shape, bool),
    )


def _by_activity(subject: Subject, names: list[tuple[str, str]]) -> NDArray[np.int32]:
    """Thirds of users by how much they took."""
    counts = subject.known.counts
    cuts = np.quantile(counts, [1 / 3, 2 / 3]) if len(counts) else [0, 0]
    third = np.searchsorted(cuts, counts, side="left").astype(np.int32)
    edges = [int(c) for c in cuts]
    words = (f"up to {edges[0]}", f"{edges[0] + 1} to {edges[1]}", f"more than {edges[1]}")
    first = len(names)
    names += [
        ("activity", f"{name} ({word} items)") for name, word in zip(_ACTIVITY, words, strict=True)
    ]
    return first + third


def _by_column(
    column: str, texts: NDArray[np.str_], names: list[tuple[str, str]]
) -> NDArray[np.int32]:
    """The most frequent texts, and all others together."""
    found, place, count = np.unique(texts, return_inverse=True, return_counts=True)
    order = np.argsort(-count, kind="stable")
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found))
    first, shown = len(names), [str(found[n]) or "(not known)" for n in order[:_MOST].tolist()]
    names += [(column, text) for text in shown]
    if len(found) > _MOST:
        names.append((column, "all others"))
    return (first + np.minimum(rank, _MOST)[place]).astype(np.int32)


def _by_relation(
    data: Dataset, subject: Subject, name: str, names: list[tuple[str, str]]
) -> list[NDArray[np.bool_]]:
    """The most frequent values of a relation."""
    r = row_of(data.relations, name)
    values = np.flatnonzero(subject.relation == r)
    if len(values) == 0:
        raise ConfigError(f"no value of {name!r} is on enough items to make a group of items")
    values = values[np.argsort(-subject.support[values], kind="stable")][:_MOST]
    holders = subject.of_item.transpose(len(subject.vocabulary))
    out = []
    for v in values.tolist():
        row = np.zeros(subject.n_items, bool)
        row[holders.row(v)] = True
        out.append(row)
        entity = int(subject.facts.attribute[subject.vocabulary[v]])
        names.append((data.relations.ids[r], data.entities.names[entity]))
    return out
