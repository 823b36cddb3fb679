"""A run around a recommender made elsewhere: explained, saved and served like any other."""

from __future__ import annotations

from collections.abc import Callable

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split, split
from cerec.errors import ConfigError
from cerec.recommend.adapters import Factors, Score, factors_of, factors_of_model, scores_of
from cerec.runs.agents import learn_agent
from cerec.runs.evaluate import final_figures
from cerec.runs.kept import Kept, kept_factors, kept_scores
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
        kept = _kept(data, facts, user_factors, item_factors, model, score)
        subject = kept.subject(data, facts, parts.train)
        vectors, history = learn_agent(data, subject, config, seed=seed)
        return Run(
            data,
            parts,
            kept,
            config=config,
            seed=seed,
            vectors=vectors,
            metrics=final_figures(subject, parts),
            history=history,
            meta={"made": "elsewhere"},
            rescore=rescore,
        )


def _kept(
    data: Dataset,
    facts: Facts,
    user_factors: Factors | None,
    item_factors: Factors | None,
    model: object,
    score: Score | None,
) -> Kept:
    given = [user_factors is not None or item_factors is not None, model is not None]
    if sum([*given, score is not None]) != 1:
        raise ConfigError("give user_factors= and item_factors=, or model=, or score=")
    if score is not None:
        return kept_scores(scores_of(data, score), facts)
    if model is not None:
        return kept_factors(*factors_of_model(data, model), facts)
    if user_factors is None or item_factors is None:
        raise ConfigError("user_factors= and item_factors= go together")
    return kept_factors(*factors_of(data, user_factors, item_factors), facts)


def _parts(data: Dataset) -> Split:
    """What is known, and what is held out if the data came in parts."""
    pairs = data.interactions
    if pairs.part is not None:
        return split(data, SplitConfig(method="given", carve=0.0), seed=0)
    nothing = Ragged.from_pairs(pairs.user[:0], pairs.item[:0], len(data.users))
    return Split(Ragged.from_pairs(pairs.user, pairs.item, len(data.users)), nothing, nothing)
