"""Do a model's users care more for what they were made to like?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.synthetic.generate import WorldConfig, make_world


def likes_what_it_should(make: Callable[[Ragged, Facts], Any]) -> bool:
    """`make`: known items and facts to a learned model."""
    data = make_world(WorldConfig(users=200, items=200, interactions=6000), seed=2)
    known = Ragged.from_pairs(data.interactions.user, data.interactions.item, 200)
    about, planted = Facts.build(data), data.planted
    model = make(known, about)
    told: dict[int, list[float]] = {1: [], -1: []}
    for u, r, a, sign in zip(
        planted.user, planted.relation, planted.attribute, planted.sign, strict=True
    ):
        value = about.find(int(r), int(a))
        if value is not None:
            told[int(sign)].append(float(model.preferences(int(u), np.array([value]))[0]))
    return bool(np.mean(told[1]) > np.mean(told[-1]) + 0.1)
