"""The recommender of a run as named arrays, and the subject made of them.

Four kinds are kept: `linear` (the default recommender), `factors` (user and item vectors, with
effects of their own or canonical ones), `itemitem` (weights from item to item) and `scores` (a
table, with effects of their own or fitted ones). A brought recommender that is at hand is asked
for what arrays do not hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError, DataError, RunError
from cerec.lazy import Later
from cerec.manifest import MEND
from cerec.recommend.adapters.factors import Factors, FeatureFactors
from cerec.recommend.adapters.itemitem import ItemItem
from cerec.recommend.brought import Answering, Brought, vocabulary_at
from cerec.recommend.canonical import SUPPORT, FactorScores, canonical, vocabulary_of
from cerec.recommend.fitted import FittedScores, OwnEffects, fitted
from cerec.recommend.linear.model import Linear, LinearArrays
from cerec.recommend.protocol import HasEffects
from cerec.recommend.subject import Scoring, Source, Subject
from cerec.runs.forms import refuse_misshapen, within

if TYPE_CHECKING:
    import scipy.sparse as sp

    from cerec.recommend.scorer import Scorer
else:
    sp = Later("scipy.sparse")

_NEEDED = {
    "linear": tuple(f.name for f in fields(LinearArrays)),
    "factors": ("user", "item", "value"),
    "itemitem": ("weight_ptr", "weight_item", "weight", "history_ptr", "history"),
    "scores": ("matrix",),
}
_OPTIONAL = {
    "factors": ("vocabulary", "scale", "gone_user", "gone_item"),
    "itemitem": ("basis", "value"),
    "scores": ("basis", "value", "effect", "vocabulary", "scale"),
}
_MOST_SCORES = 200_000_000  # 1.6 GB


@dataclass(frozen=True, slots=True, eq=False)
class StoredModel:
    """A finished recommender."""

    kind: str
    arrays: Mapping[str, NDArray[Any]]
    fidelity: float | None = None
    """How well fitted effects tell the scores of items they have not seen (R^2)."""
    lost: tuple[str, ...] = field(default=())
    """Methods of a brought recommender that no array holds."""

    @staticmethod
    def linear(arrays: LinearArrays) -> StoredModel:
        """The default recommender."""
        return StoredModel("linear", arrays.named())

    def subject(
        self, data: Dataset, facts: Facts, known: Ragged, brought: Brought | None = None
    ) -> Subject:
        """What is explained; `known` are the items never listed."""
        if self.kind == "linear":
            _refuse_strange(self.arrays["vocabulary"], facts)
            return linear_subject(self.arrays, data, facts, known)
        a = self.arrays
        if brought is None and self.kind == "itemitem":
            brought = Brought(data, _itemitem(a, data), known)
        vocabulary, of_item = vocabulary_of(facts, SUPPORT)
        source: Source = "canonical" if self.kind == "factors" else "fitted"
        scale, fidelity = np.ones(len(of_item)), self.fidelity
        model: Scoring
        if "vocabulary" in a:
            _refuse_strange(a["vocabulary"], facts)
            source, scale, fidelity, vocabulary = "model", a["scale"], None, a["vocabulary"]
            of_item = vocabulary_at(facts, vocabulary)
        if self.kind == "factors":
            gone: dict[str, Any] = {name: a.get(name) for name in ("gone_user", "gone_item")}
            model = FactorScores(a["user"], a["item"], a["value"], **gone)
        elif "vocabulary" in a:
            model = _own_effects(a, data, facts, brought)
        elif brought is not None and brought.has("rescore"):
            vocabulary = vocabulary[:0]  # it says itself what values do
            of_item = vocabulary_at(facts, vocabulary)
            nothing = np.zeros((len(of_item), 0)), np.zeros((0, 0))
            model = FittedScores(brought.scores, *nothing)
        else:
            matrix = a.get("matrix")
            ask = brought.scores if brought is not None else lambda users: matrix[users]  # type: ignore[index]
            basis, value = a.get("basis"), a.get("value")
            if basis is None or value is None:
                found = fitted(ask, facts, n_users=len(known))
                basis, value, fidelity = found.basis, found.value, found.fidelity
            model = FittedScores(ask, basis, value)
        if len(vocabulary) == 0:
            source = "none"
        if brought is not None:
            model = Answering(model, brought)
        return Subject(facts, known, vocabulary, of_item, scale, source, model, fidelity)

    def whole(self, brought: Brought | None) -> Mapping[str, NDArray[Any]]:
        """All arrays, those of a recommender that is at hand asked for."""
        if self.kind != "scores" or "matrix" in self.arrays or brought is None:
            return self.arrays
        n_users, n_items = brought.shape
        if n_users * n_items > _MOST_SCORES:
            raise ConfigError(
                f"{n_users:,} users x {n_items:,} items are more than {_MOST_SCORES:,} scores to "
                "save; keep the run in memory, or save one of fewer users"
            )
        more: dict[str, NDArray[Any]] = {"matrix": brought.scores(np.arange(n_users))}
        if "vocabulary" in self.arrays:
            place = self.arrays["place"]
            more["effect"] = brought.effects(np.arange(n_users), place)
        return {n: x for n, x in {**self.arrays, **more}.items() if n != "place"}


def _refuse_strange(vocabulary: NDArray[Any], facts: Facts) -> None:
    if not within(vocabulary, facts.n_values):
        raise RunError(f"the run knows values that its data lack; {MEND}")


def stored_of(scorer: Scorer, facts: Facts) -> StoredModel:
    """A trained factor model or table of scores, with effects fitted to it."""
    if scorer.matrix is None:
        return stored_factors(scorer.user, scorer.item, facts)
    return stored_scores(scorer.matrix, facts)


def stored_scores(matrix: NDArray[Any], facts: Facts) -> StoredModel:
    """A table of scores with effects fitted to it."""
    found = fitted(matrix, facts)
    arrays = {"matrix": matrix, "basis": found.basis, "value": found.value}
    return StoredModel("scores", arrays, found.fidelity)


def stored_factors(user: NDArray[Any], item: NDArray[Any], facts: Facts) -> StoredModel:
    """A factor model with canonical effects."""
    found = canonical(user, item, facts)
    return StoredModel(
        "factors", {"user": user, "item": item, "value": found.value}, found.fidelity
    )


def stored_brought(brought: Brought, data: Dataset, facts: Facts) -> StoredModel:
    """A brought recommender: its vectors or weights where it is one of our adapters."""
    r = brought.recommender
    asked = tuple(n for n in ("rescore", "scores_from") if brought.has(n))
    if isinstance(r, Factors) and not brought.has("rescore"):
        return replace(_factors(r, brought, data, facts), lost=asked)
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(r, HasEffects):
        vocabulary, place = brought.own_effects(data, facts)
        arrays |= {"vocabulary": vocabulary, "place": place, "scale": brought.scale()}
        return StoredModel("scores", arrays, None, asked)
    if not brought.has("rescore"):
        found = fitted(brought.scores, facts, n_users=len(data.users))
        arrays |= {"basis": found.basis, "value": found.value}
        if isinstance(r, ItemItem):
            return StoredModel("itemitem", {**_weights(r, brought), **arrays}, found.fidelity)
        return StoredModel("scores", arrays, found.fidelity, asked)
    return StoredModel("scores", arrays, None, asked)


def _factors(r: Factors, brought: Brought, data: Dataset, facts: Facts) -> StoredModel:
    user, gone_user = _rows(r.user, brought.user_at)
    item, gone_item = _rows(r.item, brought.item_at)
    arrays: dict[str, NDArray[Any]] = {"user": user, "item": item}
    for name, rows in (("gone_user", gone_user), ("gone_item", gone_item)):
        if len(rows):
            arrays[name] = rows
    if isinstance(r, FeatureFactors):
        vocabulary, place = brought.own_effects(data, facts)
        more = {"value": r.value[place], "vocabulary": vocabulary, "scale": brought.scale()}
        return StoredModel("factors", arrays | more)
    there = np.ones(len(item), bool)
    there[gone_item] = False
    found = canonical(user, item, facts, items=there)
    return StoredModel("factors", arrays | {"value": found.value}, found.fidelity)


def _rows(table: NDArray[Any], at: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Vectors in the order of the data, zeros for those that are not there, and which these are."""
    out = np.where((at >= 0)[:, None], table[at], np.nan).astype(table.dtype)
    gone = np.isnan(out).any(axis=1)
    out[gone] = 0.0
    return out, np.flatnonzero(gone).astype(np.int32)


def _weights(r: ItemItem, brought: Brought) -> dict[str, NDArray[Any]]:
    """Weights and histories in the order of the data."""
    at, n_items = brought.item_at, len(brought.item_at)
    own = np.flatnonzero(at >= 0)
    place = sp.csr_matrix(
        (np.ones(len(own)), (own, at[own])), shape=(n_items, len(brought.items))
    )  # data x own
    weight = sp.csr_matrix(place @ sp.csr_matrix(r.weight) @ place.T)
    weight.sort_indices()
    return {
        "weight_ptr": weight.indptr.astype(np.int64),
        "weight_item": weight.indices.astype(np.int32),
        "weight": weight.data,
        "history_ptr": brought.histories.indptr,
        "history": brought.histories.indices,
    }


def _itemitem(a: Mapping[str, NDArray[Any]], data: Dataset) -> ItemItem:
    n_users, n_items = len(data.users), len(data.items)
    weight = sp.csr_matrix((a["weight"], a["weight_item"], a["weight_ptr"]), (n_items, n_items))
    ones = np.ones(len(a["history"]))
    taken = sp.csr_matrix((ones, a["history"], a["history_ptr"]), (n_users, n_items))
    return ItemItem(weight, taken, users=data.users.ids, items=data.items.ids)


def _own_effects(
    a: Mapping[str, NDArray[Any]], data: Dataset, facts: Facts, brought: Brought | None
) -> OwnEffects:
    if brought is None:
        return OwnEffects(lambda users: a["matrix"][users], lambda users: a["effect"][users])
    place = brought.own_effects(data, facts)[1]
    return OwnEffects(brought.scores, lambda users: brought.effects(users, place))


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


def same_recommender(kept: Subject, data: Dataset, brought: Brought) -> None:
    """Refuse a recommender that is not the one a run was saved from."""
    rows = np.unique(np.linspace(0, max(len(data.users) - 1, 0), 20).astype(np.int64))
    then, now = kept.scores(rows), brought.scores(rows)
    far = ~np.isclose(then, now, rtol=1e-4, atol=1e-6, equal_nan=True)
    if far.any():
        row, item = (int(x[0]) for x in np.nonzero(far))
        raise DataError(
            f"recommender= is not the one this run was saved from: user "
            f"{data.users[int(rows[row])]!r}, item {data.items[item]!r} had the score "
            f"{then[row, item]:.6g} and has {now[row, item]:.6g}; make a run of it with "
            "cerec.explainer"
        )


def stored_from(
    kind: str,
    arrays: Mapping[str, NDArray[Any]],
    fidelity: Any,
    path: Path,
    shape: tuple[int, int],
) -> StoredModel:
    """The model whose arrays are on disk, checked: of so many users and items."""
    mine = {n.removeprefix("model."): a for n, a in arrays.items() if n.startswith("model.")}
    missing = [name for name in _NEEDED[kind] if name not in mine]
    if missing:
        raise RunError(f"{path}: holds no {missing[0]!r}; {MEND}")
    refuse_misshapen(path, kind, mine, shape)
    names = [*_NEEDED[kind], *(n for n in _OPTIONAL.get(kind, ()) if n in mine)]
    return StoredModel(kind, {name: mine[name] for name in names}, fidelity)
