"""A run around a recommender made elsewhere: explained, saved and served like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split, split
from cerec.errors import ConfigError
from cerec.explain.flips import flip_test
from cerec.recommend.adapters import (
    Factors,
    Score,
    scorer_from_factors,
    scorer_from_model,
    scorer_from_scores,
)
from cerec.recommend.base import Context
from cerec.recommend.context import lists_of
from cerec.recommend.scorer import Scorer
from cerec.rng import generator
from cerec.runs.evaluate import final_figures
from cerec.runs.run import Run
from cerec.runs.train import checked
from cerec.settings.data import SplitConfig
from cerec.settings.run import RunConfig
from cerec.threads import training_threads


def explainer(
    data: Dataset,
    *,
    user_factors: Factors | None = None,
    item_factors: Factors | None = None,
    model: object = None,
    score: Score | None = None,
    rescore: Callable[[str, str, list[tuple[str, str]]], float] | None = None,
    config: RunConfig | None = None,
    seed: int = 0,
) -> Run:
    """A `Run` around a finished recommender, given in one of three ways.

    - `user_factors`, `item_factors`: arrays in the order of `data.users` and `data.items`, or
      mappings from id to vector; the score is their dot product.
    - `model`: an object that holds factors in that order, such as a model of `implicit`.
    - `score`: a callable `score(user, items)` that gives one number per item.

    What an item's attributes do to its score is fitted to the recommender; how well that fits
    items it has not seen (R^2) is stored and stands with every explanation. The user's
    interactions are known (of data that came in parts: those of the train part) and are never
    listed. With `rescore(user, item, attributes)` the recommender itself says what it would score
    an item with other (relation, attribute) pairs; sets of changes are then tried by size within
    the budget, and nothing is fitted (a function is not saved with the run).

    The agent that proposes counterfactual items learns for `config.train.agent_epochs`.
    """
    config = config or RunConfig()
    seed = checked("explainer", data, config, seed)
    for name, given in (
        ("score(user, items)", score),
        ("rescore(user, item, attributes)", rescore),
    ):
        if given is not None and not callable(given):
            raise ConfigError(f"{name} must be a function, got {given!r:.60}")
    with training_threads(learning=config.train.agent_epochs > 0):
        parts, facts = _parts(data), Facts.build(data)
        scorer = _scorer(data, facts, user_factors, item_factors, model, score, seed)
        vectors, history = _learned(data, parts, facts, scorer, config, seed)
        return Run(
            data,
            parts,
            scorer,
            config=config,
            seed=seed,
            vectors=vectors,
            metrics=final_figures(scorer, parts),
            history=history,
            meta={"made": "elsewhere", "fidelity": scorer.fidelity},
            rescore=rescore,
        )


def _learned(
    data: Dataset, parts: Split, facts: Facts, scorer: Scorer, config: RunConfig, seed: int
) -> tuple[NDArray[np.float32] | None, list[dict[str, Any]]]:
    """Node vectors and history of an agent that learned on the scores; None where it cannot."""
    if not facts.n_values or not config.train.agent_epochs:
        return None, []
    from cerec.agent.agent import WalkAgent

    graph = Ckg.build(data, parts.train)
    flip = flip_test(facts, config.agent.list_length, scorer)
    agent = WalkAgent(config.agent, config.encoder, graph, facts, seed=seed, flip=flip)
    lists = lists_of(scorer, parts.train, config.agent.list_length)
    context = Context(parts.train, facts, scorer.user, scorer.item, lists, scorer.effect)
    history = []
    user, item = parts.train.row_of(), parts.train.indices
    for epoch in range(config.train.agent_epochs):
        rng = generator(seed, f"training/agent/{epoch}")
        figures = agent.learn(user, item, context, rng=rng)
        history.append({"phase": "agent", "epoch": epoch + 1, **figures})
    return agent.vectors(), history


def _scorer(
    data: Dataset,
    facts: Facts,
    user_factors: Factors | None,
    item_factors: Factors | None,
    model: object,
    score: Score | None,
    seed: int,
) -> Scorer:
    given = [user_factors is not None or item_factors is not None, model is not None]
    if sum([*given, score is not None]) != 1:
        raise ConfigError("give user_factors= and item_factors=, or model=, or score=")
    if score is not None:
        return scorer_from_scores(data, facts, score, seed=seed)
    if model is not None:
        return scorer_from_model(data, facts, model, seed=seed)
    if user_factors is None or item_factors is None:
        raise ConfigError("user_factors= and item_factors= go together")
    return scorer_from_factors(data, facts, user_factors, item_factors, seed=seed)


def _parts(data: Dataset) -> Split:
    """What is known, and what is held out if the data came in parts."""
    pairs = data.interactions
    if pairs.part is not None:
        return split(data, SplitConfig(method="given", carve=0.0), seed=0)
    nothing = Ragged.from_pairs(pairs.user[:0], pairs.item[:0], len(data.users))
    return Split(Ragged.from_pairs(pairs.user, pairs.item, len(data.users)), nothing, nothing)
