"""What samplers and the agent see of a recommender between two epochs."""

from __future__ import annotations

import numpy as np

from cerec.graph.facts import Facts
from cerec.ragged import Ragged
from cerec.recommend.base import Context, Recommender
from cerec.recommend.topk import top_k_all


def context_of(model: Recommender, known: Ragged, facts: Facts, list_length: int) -> Context:
    """Vectors as of now, with lists of the given length made from them."""
    user, item = model.factors()
    lists = np.empty((len(user), 0), np.int32)
    if list_length:
        lists = top_k_all(user, item, known, min(list_length, len(item)))
    return Context(known, facts, user, item, lists)
