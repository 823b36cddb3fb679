"""The recommender of a run as named arrays, and the subject made of them.

Three kinds are kept: `linear` (the default recommender), `factors` (user and item vectors with
canonical effects) and `scores` (a table of scores with fitted effects).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import RunError
from cerec.recommend.canonical import SUPPORT, FactorScores, canonical, vocabulary_of
from cerec.recommend.fitted import FittedScores, fitted
from cerec.recommend.linear.model import Linear, LinearArrays
from cerec.recommend.scorer import Scorer
from cerec.recommend.subject import Source, Subject

KINDS = ("linear", "factors", "scores")


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A finished recommender."""

    kind: str
    arrays: Mapping[str, NDArray[Any]]
    fidelity: float | None = None
    """How well fitted effects tell the scores of items they have not seen (R^2)."""

    @staticmethod
    def linear(arrays: LinearArrays) -> Kept:
        """The default recommender."""
        return Kept("linear", arrays.named())

    def subject(self, data: Dataset, facts: Facts, known: Ragged) -> Subject:
        """What is explained; `known` are the items never listed."""
        if self.kind == "linear":
            return linear_subject(self.arrays, data, facts, known)
        vocabulary, of_item = vocabulary_of(facts, SUPPORT)
        a = self.arrays
        source: Source = "canonical" if self.kind == "factors" else "fitted"
        model: FactorScores | FittedScores
        if self.kind == "factors":
            model = FactorScores(a["user"], a["item"], a["value"])
        else:
            matrix = a["matrix"]
            model = FittedScores(lambda users: matrix[users], a["basis"], a["value"])
        if len(vocabulary) == 0:
            source = "none"
        scale = np.ones(len(of_item))
        return Subject(facts, known, vocabulary, of_item, scale, source, model, self.fidelity)


def kept_of(scorer: Scorer, facts: Facts) -> Kept:
    """A trained factor model or table of scores, with effects fitted to it."""
    if scorer.matrix is None:
        return kept_factors(scorer.user, scorer.item, facts)
    return kept_scores(scorer.matrix, facts)


def kept_factors(user: NDArray[Any], item: NDArray[Any], facts: Facts) -> Kept:
    """A factor model with canonical effects."""
    found = canonical(user, item, facts)
    return Kept("factors", {"user": user, "item": item, "value": found.value}, found.fidelity)


def kept_scores(matrix: NDArray[Any], facts: Facts) -> Kept:
    """A table of scores with effects fitted to it."""
    found = fitted(matrix, facts)
    arrays = {"matrix": matrix, "basis": found.basis, "value": found.value}
    return Kept("scores", arrays, found.fidelity)


def linear_subject(
    arrays: Mapping[str, NDArray[Any]], data: Dataset, facts: Facts, known: Ragged
) -> Subject:
    """The default recommender as it is explained: its effects are what it does."""
    model = Linear(
        LinearArrays(**{f.name: arrays[f.name] for f in fields(LinearArrays)}),
        data.users,
        data.items,
    )
    a = model.arrays
    source: Source = "model" if len(a.vocabulary) else "none"
    return Subject(facts, known, a.vocabulary, model.of_item, a.scale, source, model)


def kept_from(
    kind: str,
    arrays: Mapping[str, NDArray[Any]],
    fidelity: Any,
    path: Path,
    shape: tuple[int, int],
) -> Kept:
    """What `Kept.arrays` became on disk, checked for the arrays it must have, of so many users and
    items.
    """
    needed = {
        "linear": tuple(f.name for f in fields(LinearArrays)),
        "factors": ("user", "item", "value"),
        "scores": ("matrix", "basis", "value"),
    }[kind]
    mine = {n.removeprefix("model."): a for n, a in arrays.items() if n.startswith("model.")}
    missing = [name for name in needed if name not in mine]
    if missing:
        raise RunError(f"{path}: holds no {missing[0]!r}; the run folder is damaged")
    found = {  # type: ignore[no-untyped-call]
        "linear": lambda: (len(mine["history_ptr"]) - 1, len(mine["own"])),
        "factors": lambda: (len(mine["user"]), len(mine["item"])),
        "scores": lambda: mine["matrix"].shape,
    }[kind]()
    if found != shape:
        raise RunError(
            f"{path}: is of {found[0]:,} users and {found[1]:,} items, the data has {shape[0]:,} "
            f"and {shape[1]:,}; the run folder is damaged"
        )
    return Kept(kind, {name: mine[name] for name in needed}, fidelity)
