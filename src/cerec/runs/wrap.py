"""A run around a recommender made elsewhere: explained, saved and served like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.checkpoint import Row
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split, split
from cerec.errors import DataError
from cerec.recommend.brought import Brought
from cerec.recommend.checks import check as compare
from cerec.runs.agents import learn_agent
from cerec.runs.evaluate import final_figures
from cerec.runs.run import Run
from cerec.runs.stored import stored_brought
from cerec.runs.train import checked
from cerec.settings.data import SplitConfig
from cerec.settings.run import RunConfig
from cerec.threads import training_threads

_CHECKED = 5.0  # seconds for scoring the users that are compared


def explainer(
    data: Dataset,
    *,
    recommender: Any,
    check: bool = True,
    agent: bool = False,
    on_row: Callable[[Row], None] | None = None,
    config: RunConfig | None = None,
    seed: int = 0,
) -> Run:
    """A `Run` around a finished recommender: one of `cerec.adapters`, or any object of the protocol
    (`cerec.recommend.protocol`), with ids in its own order.

        R = cerec.adapters.Factors(U, V, users=user_ids, items=item_ids)
        run = cerec.explainer(data, recommender=R)

    `check`: refuse a recommender whose own lists are not ours, or whose scores do not fit its ids;
    `run.check()` says what was compared. What is never listed is what the recommender says, else
    what the data hold (of data in parts: the train part).

    An item with other attributes is scored by the recommender itself where it can `rescore`, or by
    its own effects. Else effects are fitted to its vectors or scores, and answers say so.

    `agent`: train the agent that names counterfactual items, for `config.train.agent_epochs`;
    `on_row` gets a row for every epoch.
    """
    config = config or RunConfig()
    seed = checked("explainer", data, config, seed)
    parts, facts = _parts(data), Facts.build(data)
    brought = Brought(data, recommender, parts.train)
    with training_threads(learning=agent):
        if check and (found := compare(data, facts, brought, seconds=_CHECKED)).problem:
            raise DataError(f"{found}; or pass check=False")
        stored = stored_brought(brought, data, facts)
        subject = stored.subject(data, facts, brought.known, brought)
        learned: tuple[NDArray[np.float32] | None, list[Row]] = None, []
        if agent:
            learned = learn_agent(data, subject, config, seed=seed, on_row=on_row)
        return Run(
            data,
            parts,
            stored,
            known=brought.known,
            config=config,
            seed=seed,
            vectors=learned[0],
            metrics=final_figures(subject, parts),
            history=learned[1],
            meta={"made": "elsewhere"},
            brought=brought,
        )


def _parts(data: Dataset) -> Split:
    """What is known, and what is held out if the data came in parts."""
    pairs = data.interactions
    if pairs.part is not None:
        return split(data, SplitConfig(method="given", carve=0.0), seed=0)
    nothing = Ragged.from_pairs(pairs.user[:0], pairs.item[:0], len(data.users))
    return Split(Ragged.from_pairs(pairs.user, pairs.item, len(data.users)), nothing, nothing)
