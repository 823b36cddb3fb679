"""What looks wrong with a recommender, seen over all lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.audit.parts import AuditParts, Block
from cerec.audit.plain import plural
from cerec.data.dataset import Dataset
from cerec.recommend.subject import Subject

_OFTEN = 20  # listed pairs that an item or value must have before anything is said of it
_HALF, _TWICE, _SOME = 0.5, 2.0, 0.05


@dataclass(frozen=True, slots=True)
class Sign:
    """Something to look at."""

    kind: str
    about: str
    amount: float
    """The share that the text quotes."""
    text: str


class Signs:
    """Gathers signs from blocks of lists."""

    def __init__(self, data: Dataset, subject: Subject, parts: AuditParts) -> None:
        self._data, self._subject, self._parts = data, subject, parts
        n_values, n_items = len(subject.vocabulary), subject.n_items
        self._users, self._pairs, self._popular = 0, 0, 0
        self._ruled = np.zeros(n_values, np.int64)
        self._top, self._against = np.zeros(n_values, np.int64), np.zeros(n_values, np.int64)
        self._listed, self._moved = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64)

    def add(self, block: Block, found: NDArray[np.bool_]) -> None:
        """`found` (n, k): whether attributes have an answer."""
        there, items = block.there, block.listed
        self._users += len(block.users)
        self._pairs += int(there.sum())
        for row, value in zip(there, block.value, strict=True):
            mine = value[row & (value >= 0)]
            if len(mine):
                count = np.bincount(mine)
                self._ruled[count.argmax()] += count.max() > _HALF * row.sum()
        led = there & (block.value >= 0)
        np.add.at(self._top, block.value[led], 1)
        np.add.at(self._against, block.value[led & block.against], 1)
        np.add.at(self._listed, items[there], 1)
        np.add.at(self._moved, items[there & found], 1)
        if self._parts.inside.told:
            popular = block.part[..., -1]
            self._popular += int((there & (popular > block.lift - popular)).sum())

    def found(self) -> list[Sign]:
        """All signs, the largest first within each kind."""
        return [
            *self._one_value(),
            *self._disguised(),
            *self._absent(),
            *self._counter(),
            *self._immovable(),
            *self._popularity(),
        ]

    def _one_value(self) -> list[Sign]:
        share = self._ruled / max(self._users, 1)
        rows = [v for v in np.argsort(-share, kind="stable")[:5].tolist() if share[v] >= _SOME]
        return [
            Sign(
                "one value decides",
                self._name(v),
                float(share[v]),
                f"{self._name(v)} alone keeps over half of the list of {share[v]:.0%} of users",
            )
            for v in rows
        ]

    def _disguised(self) -> list[Sign]:
        facts, data, out = self._subject.facts, self._data, []
        for r in self._parts.relations.tolist():
            values = np.flatnonzero(facts.relation == r)
            single = facts.holders.counts[values] == 1
            if len(values) > _OFTEN and single.mean() > _HALF:
                name, share = data.relations.names[r], float(single.mean())
                text = (
                    f"{name}: {share:.0%} of its {len(values):,} values are on one item only; "
                    "such values name the item and tell nothing of others"
                )
                out.append(Sign("ids in disguise", name, share, text))
        return out

    def _absent(self) -> list[Sign]:
        s, data, out = self._subject, self._data, []
        of, n_items = s.facts.of_item, s.n_items
        relation = s.facts.relation[of.indices]
        row = of.row_of()
        for r in np.unique(s.facts.relation).tolist():
            lacks = np.ones(n_items, bool)
            lacks[row[relation == r]] = False
            usual = float(lacks.mean())
            if not _SOME <= usual <= 1 - _SOME or self._pairs == 0:
                continue
            shown = float(self._listed[lacks].sum() / self._pairs)
            ratio = shown / usual
            if ratio >= _TWICE or ratio <= 1 / _TWICE:
                name = data.relations.names[r]
                text = (
                    f"{usual:.0%} of items have no {name}, but {shown:.0%} of what is listed: "
                    "missing data may decide"
                )
                out.append(Sign("absence decides", name, shown, text))
        return out

    def _counter(self) -> list[Sign]:
        share = self._against / np.maximum(self._top, 1)
        rows = np.flatnonzero((self._top >= _OFTEN) & (share > _HALF))
        rows = rows[np.argsort(-self._top[rows], kind="stable")][:5]
        return [
            Sign(
                "against its support",
                self._name(v),
                float(share[v]),
                f"{self._name(v)} lifts items most where users have less of it than is usual "
                f"({share[v]:.0%} of {self._top[v]:,} times)",
            )
            for v in rows.tolist()
        ]

    def _immovable(self) -> list[Sign]:
        often = self._listed >= _OFTEN
        stuck = np.flatnonzero(often & (self._moved == 0))
        if len(stuck) == 0:
            return []
        share = float(self._listed[stuck].sum() / max(self._pairs, 1))
        some = ", ".join(self._data.items.name(int(i)) for i in stuck[:3])
        text = (
            f"{plural(len(stuck), 'item')} listed {_OFTEN} times or more: no change of attributes "
            f"takes any of them out of any list ({share:.0%} of all places): {some}"
        )
        return [Sign("no change moves it", some, share, text)]

    def _popularity(self) -> list[Sign]:
        share = self._popular / max(self._pairs, 1)
        if share < _SOME:
            return []
        text = f"{share:.0%} of what is listed is there mostly because it is popular"
        return [Sign("popularity alone", "popularity", share, text)]

    def _name(self, v: int) -> str:
        facts, row = self._subject.facts, int(self._subject.vocabulary[v])
        relation = self._data.relations.names[int(facts.relation[row])]
        return f"{relation} {self._data.entities.names[int(facts.attribute[row])]}"
