"""Every figure of an audit once more: sparse matrices, Python lists, and a sort per question.

Shares nothing with the audit or the engine: scores and effects of the recommender are its only
input. Relations whose values imply each other are left out of what is answered.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import scipy.sparse as sp

import cerec
from cerec.audit.segments import Groups

LEAST = 5  # items that must have a value before it may be gained
Figures = dict[str, Any]


class Slow:
    """Figures over the lists of some users."""

    def __init__(self, run: cerec.Run, k: int, locked: set[int]) -> None:
        s = self.subject = run.subject
        self.run, self.k, self.locked = run, k, locked
        self.relations = sorted(set(s.relation.tolist()))
        of = s.of_item
        self.has = sp.csr_matrix(
            (np.ones(of.size), of.indices, of.indptr), shape=(s.n_items, len(s.relation))
        )
        arrays = s.model.arrays
        self.own = arrays.own
        self.common = s.scale * (self.has @ arrays.common)

    def figures(self, users: list[int], groups: Groups) -> Figures:
        """As `Findings` has them, by name."""
        sums: dict[Any, Any] = defaultdict(float)
        for user in users:
            for pair in self.pairs(user):
                self.add(sums, user, pair, groups)
        return self.ratios(sums, groups)

    def pairs(self, user: int) -> list[Figures]:
        """The listed pairs of a user with all that is summed."""
        s = self.subject
        scores, effects = (x[0] for x in s.both(np.array([user])))
        unseen = np.setdiff1d(np.arange(s.n_items), s.known.row(user))
        order = unseen[np.lexsort((unseen, -scores[unseen]))]
        listed, after = order[: self.k], order[self.k]
        amount = sp.diags(s.scale) @ self.has @ sp.diags(effects)
        parts = np.column_stack([*(amount[:, s.relation == r].sum(axis=1) for r in self.relations)])
        parts = np.asarray(parts)
        rest = scores - parts.sum(axis=1) - self.own
        parts = np.column_stack([parts, rest, self.own])
        less = parts - parts[unseen].mean(axis=0)
        usual = np.asarray(amount[unseen].mean(axis=0))[0]
        may = s.support >= LEAST
        gains = {
            r: sorted(np.flatnonzero(may & (s.relation == r)).tolist(), key=lambda v: effects[v])
            for r in self.relations
        }
        out = []
        for rank, item in enumerate(listed.tolist()):
            without = scores[item] - less[item]
            alone, changed = self.answers(item, int(after), scores, effects, gains)
            values = amount[item].toarray()[0]
            out.append(
                {
                    "item": item,
                    "rank": rank,
                    "parts": less[item],
                    "common": self.common[item] - self.common[unseen].mean(),
                    "leaves": without < scores[after],
                    "alone": alone,
                    "changed": changed,
                    "values": values - usual,
                    "has": self.has[item].toarray()[0],
                }
            )
        return out

    def answers(
        self,
        item: int,
        after: int,
        scores: np.ndarray,
        effects: np.ndarray,
        gains: dict[int, list[int]],
    ) -> tuple[set[int], set[int]]:
        """Relations in which a change alone takes the item out; those of the smallest answer."""
        s = self.subject
        mine = s.of_item.row(item).tolist()

        def out(drop: float) -> bool:
            score = scores[item] + s.scale[item] * -drop
            return score < scores[after] or (score == scores[after] and after < item)

        slots, alone = [], set()
        for place, r in enumerate(self.relations):
            if r in self.locked:
                continue
            lose = sorted((v for v in mine if s.relation[v] == r), key=lambda v: -effects[v])
            own = set(mine)
            gain = [v for v in gains[r] if v not in own]
            worth = [effects[a] - effects[b] for a, b in zip(lose, gain, strict=False)]
            worth = [w for w in worth if w > 0]
            if out(sum(worth)):
                alone.add(place)
            slots += [(-w, place) for w in worth]
        slots.sort()
        drop, changed = 0.0, set()
        for worth, place in slots:
            drop -= worth
            changed.add(place)
            if out(drop):
                return alone, changed
        return alone, set()

    def add(self, sums: dict[Any, Any], user: int, pair: Figures, groups: Groups) -> None:
        """One pair to the sums of its groups."""
        cells: list[Any] = ["all", ("rank", pair["rank"])]
        n_user = len(groups.names) - len(groups.of_item)
        cells += [("group", int(g)) for g in groups.of_user[:, user]]
        cells += [
            ("group", n_user + g) for g, row in enumerate(groups.of_item) if row[pair["item"]]
        ]
        for cell in cells:
            sums[cell, "parts"] = sums[cell, "parts"] + pair["parts"]
            sums[cell, "pairs"] += 1
        sums["common"] += pair["common"]
        sums["leaves"] = sums["leaves"] + pair["leaves"]
        for name in ("alone", "changed"):
            for place in pair[name]:
                sums[name, place] += 1
        sums["values"] = sums["values"] + pair["values"]
        sums["has"] = sums["has"] + pair["has"]

    def ratios(self, sums: dict[Any, Any], groups: Groups) -> Figures:
        """From sums to figures."""

        def shares(cells: list[Any]) -> Any:
            total = sum(sums[cell, "parts"] for cell in cells if (cell, "parts") in sums)
            return total / total.sum()

        pairs = sums["all", "pairs"]
        n = range(len(self.relations))
        return {
            "pairs": pairs,
            "share": shares(["all"]),
            "first": shares([("rank", 0)]),
            "everybody": sums["common"] / sums["all", "parts"].sum(),
            "decides": sums["leaves"] / pairs,
            "needed": [sums["alone", r] / pairs for r in n],
            "answered": [sums["changed", r] / pairs for r in n],
            "values": sums["values"] / sums["all", "parts"].sum(),
            "holders": sums["has"],
            "groups": {
                name: (sums[("group", g), "pairs"], shares([("group", g)]))
                for g, name in enumerate(groups.names)
                if (("group", g), "parts") in sums
            },
        }
