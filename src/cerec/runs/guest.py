"""Somebody who is not in the data and is known by a history alone, as a run of one user."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Interactions
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.errors import ConfigError, QuestionError
from cerec.recommend.linear.model import Linear
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Scoring, Subject
from cerec.runs.questions import GUEST

if TYPE_CHECKING:
    from cerec.runs.run import Run


def guest(run: Run, history: Iterable[object]) -> Run:
    """The run for its only user `GUEST`, who has just these items, in this order."""
    if isinstance(history, str) or not isinstance(history, Iterable):
        raise ConfigError(f"history takes a list of item ids, got {history!r}")
    rows = np.array([*dict.fromkeys(run.data.items.row(i) for i in history)], np.int32)
    if len(rows) == 0:
        raise ConfigError("history needs at least one item id to know somebody by")
    subject, model = run.subject, run.subject.model
    made: Scoring
    if isinstance(model, Linear):
        made = model.of_history(np.sort(rows))
    elif hasattr(model, "both_from") or hasattr(model, "scores_from"):
        made = _Known(subject, rows)
    else:
        raise QuestionError("this recommender cannot score somebody by a history alone")
    known = Ragged(np.array([0, len(rows)]), np.sort(rows))
    data = replace(
        run.data,
        users=IdTable("user", [GUEST]),
        interactions=Interactions(known.row_of(), known.indices),
        planted=None,
        user_columns={},
    )
    none = Ragged(np.zeros(2, np.int64), np.zeros(0, np.int32))
    alone = type(run)(data, Split(known, none, none), run.model, config=run.config, meta=run.meta)
    alone.facts = run.facts
    alone.subject = replace(subject, known=known, model=made)
    return alone


class _Known:
    """A recommender of histories, asked about one of them."""

    def __init__(self, subject: Subject, rows: NDArray[np.int32]) -> None:
        self._subject, self._rows = subject, rows

    def both(self, users: NDArray[np.integer]) -> tuple[Doubles, Doubles]:
        """The same for every user there is: the one."""
        found = self._subject.both_from([self._rows] * len(users))
        if found is None:
            raise QuestionError("this recommender cannot score somebody by a history alone")
        return found
