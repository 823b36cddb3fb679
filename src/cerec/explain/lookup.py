"""From what people write to row numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.errors import QuestionError, UnknownIdError

Pair = tuple[str, str]
"""(relation, attribute)."""
Lock = str | Pair
"""A relation that may not change, or one value of it."""


def row_of(table: IdTable, value: object) -> int:
    """The row of an id, or of a name that only one row bears; near matches when unknown."""
    if value in table:
        return table.row(value)
    text = str(value)
    if text in table:
        return table.row(text)
    folded = text.casefold()
    found = [n for n, name in enumerate(table.names) if name.casefold() == folded]
    if len(found) == 1:
        return found[0]
    raise UnknownIdError(table.kind, text, dict.fromkeys([*table.ids, *table.names]))


def value_row(data: Dataset, facts: Facts, relation: object, attribute: object) -> int:
    """The row of a value of the vocabulary; near matches are of the same relation."""
    r = row_of(data.relations, relation)
    try:
        a = row_of(data.entities, attribute)
    except UnknownIdError:
        a = -1
    start, end = np.searchsorted(facts.relation, [r, r + 1])
    at = int(start + np.searchsorted(facts.attribute[start:end], a))
    if at < end and facts.attribute[at] == a:
        return at
    rows = facts.attribute[start:end].tolist()
    some = dict.fromkeys([*map(data.entities.name, rows), *(data.entities[x] for x in rows)])
    raise UnknownIdError(f"value of {data.relations.name(r)}", str(attribute), some) from None


def value_rows(data: Dataset, facts: Facts, pairs: Iterable[Pair]) -> NDArray[np.int32]:
    """Rows of a set of values, rising, each once."""
    rows = {value_row(data, facts, *pair) for pair in _couples(pairs)}
    return np.array(sorted(rows), np.int32)


def _couples(pairs: object) -> list[Pair]:
    """The pairs, refused where they are something else, such as a text or a mapping."""
    none = isinstance(pairs, str | Mapping) or not isinstance(pairs, Iterable)
    found: list[Pair] = []
    for pair in (pairs,) if none else pairs:  # type: ignore[attr-defined]
        parts = () if none or isinstance(pair, str) or not isinstance(pair, Iterable) else (*pair,)
        if len(parts) != 2:
            raise QuestionError(
                "attributes are (relation, attribute) pairs, such as [('genre', 'Drama')], got "
                f"{pair!r:.60}"
            )
        found.append(parts)
    return found


def locked_values(data: Dataset, facts: Facts, lock: Iterable[Lock]) -> NDArray[np.bool_]:
    """(V,) true for every value that may be neither lost nor gained."""
    out = np.zeros(facts.n_values, bool)
    for entry in lock:
        if isinstance(entry, str):
            out |= facts.relation == row_of(data.relations, entry)
        else:
            out[value_row(data, facts, *entry)] = True
    return out


def pair_of(data: Dataset, facts: Facts, value: int) -> Pair:
    """(relation, attribute) ids of a value."""
    return data.relations[int(facts.relation[value])], data.entities[int(facts.attribute[value])]
