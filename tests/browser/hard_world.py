"""A run with everything that breaks pages: see `NAMES`."""

from __future__ import annotations

import numpy as np

from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.runs.run import Run
from cerec.runs.stored import StoredModel

NAMES = {
    "i0": "<img src=x onerror=alert(1)><script>alert(2)</script>",
    "i1": "هذا اسم طويل من اليمين إلى اليسار مع رقم 42",
    "i2": "A very long name " * 12,
    "i3": "Unbreakable" * 20,
    "i4": "*stars* & <b>bold</b> \"quotes\" 'single' {{x}} ${y}",
    "i5": "שם בעברית",
    "i6": "東京物語 😀 ‮reversed",
}
MANY = 3000
"""Attributes of item i0."""
BARE, FULL, NEW = "i7", "full", "new"
"""An item without attributes, a user who took every item, one who took none."""


def hard_run() -> Run:
    """Ten items with hard names or none, one with thousands of attributes."""
    rng = np.random.default_rng(5)
    items = IdTable("item", [f"i{n}" for n in range(40)], NAMES)
    users = IdTable(
        "user", sorted(["a/b?c=d&e#f", "..", FULL, NEW, "plain"]), {"plain": NAMES["i1"]}
    )
    entities = IdTable(
        "entity",
        sorted(f"e{n}" for n in range(MANY)),
        {f"e{n}": name for n, name in enumerate(NAMES.values())},
    )
    relations = IdTable("relation", ["r<1>", "علاقة"], {"r<1>": "<i>relation</i>"})
    pairs = [(0, 0, e) for e in range(MANY)]
    pairs += [
        (i, r, int(e)) for i in range(1, 40) if i != 7 for r in (0, 1) for e in rng.choice(40, 3)
    ]
    head, relation, tail = np.unique(np.array(pairs, np.int32), axis=0).T
    full = users.row(FULL)
    took = [(full, i) for i in range(40)] + [
        (u, int(i))
        for u in range(5)
        if users[u] not in {FULL, NEW}
        for i in rng.choice(np.arange(8, 40), 4)
    ]
    user, item = np.unique(np.array(took, np.int32), axis=0).T
    data = Dataset(
        "<u>hard</u>",
        users,
        items,
        entities,
        relations,
        Interactions(user, item),
        Triples(head, relation, tail + np.int32(len(items))),
    )
    empty = Ragged(np.zeros(len(users) + 1, np.int64), np.zeros(0, np.int32))
    split = Split(Ragged.from_pairs(user, item, len(users)), empty, empty)
    draw = lambda n: rng.normal(size=(n, 8)).astype(np.float32)  # noqa: E731
    taste = draw(len(users))
    facts = Facts.build(data)
    factors, effect = draw(len(items)), draw(int((facts.holders.counts >= 5).sum()))
    factors[:8] += taste.mean(axis=0)  # the hard names come first in lists
    return Run(
        data, split, StoredModel("factors", {"user": taste, "item": factors, "value": effect})
    )
