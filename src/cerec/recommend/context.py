"""What samplers and the agent see of a recommender between two epochs."""

from __future__ import annotations

import numpy as np

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import Context, EpochRecommender, Rows
from cerec.recommend.bpr import PairFactorisation
from cerec.recommend.rank import lists
from cerec.recommend.scorer import Scorer
from cerec.recommend.topk import top_k_all


def lists_of(scorer: Scorer, known: Ragged, k: int) -> Rows:
    """Top-k lists of every user, known items left out; -1 where there are fewer."""
    k = min(k, scorer.n_items)
    if scorer.matrix is not None:
        return lists(scorer.matrix, known.indptr, known.indices, k)
    return top_k_all(scorer.user, scorer.item, known, k)


def context_of(model: EpochRecommender, known: Ragged, facts: Facts, list_length: int) -> Context:
    """Vectors as of now, and the lists of the given length that the model's scores make.

    To be let go before the model moves on: the tables of a factor model are not copied.
    """
    if isinstance(model, PairFactorisation):
        return model.context(min(list_length, len(facts.of_item)))
    scorer = model.scorer()
    user, item = (scorer.user, scorer.item) if scorer.matrix is None else model.factors()
    listed = np.empty((len(user), 0), np.int32)
    if list_length:
        listed = lists_of(scorer, known, list_length)
    return Context(known, facts, user, item, listed)
