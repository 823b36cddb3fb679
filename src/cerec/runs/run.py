"""A finished recommender with its data: recommend, explain, save."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cerec.asides import held
from cerec.checkpoint import read_history, write_history
from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.data.store import read_dataset, write_dataset
from cerec.errors import QuestionError, RunError, positive
from cerec.explain.lookup import pair_of, value_rows
from cerec.files import copy_of, read_arrays, replacing, write_arrays, write_json
from cerec.manifest import listing, refuse_changed, sealed
from cerec.recommend.brought import Brought
from cerec.recommend.rank import lists, ranks_after
from cerec.recommend.subject import Subject
from cerec.runs.audits import Audits
from cerec.runs.elsewhere import Elsewhere
from cerec.runs.folder import (
    FORMAT,
    LISTED,
    kept_beside,
    read_facts,
    read_part,
    read_split,
    refuse_target,
    split_arrays,
    versions,
)
from cerec.runs.questions import GUEST, Questions
from cerec.runs.stored import StoredModel, stored_from

if TYPE_CHECKING:
    from cerec.explain.explainer import Explainer
    from cerec.runs.new_item import NewItem
    from cerec.settings.run import RunConfig


Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One line of a list; rank 1 is best."""

    item: str
    name: str
    score: float
    rank: int


class Run(Questions, Audits, Elsewhere):
    """Data, split, recommender and agent of one training, or around a recommender made elsewhere.

    Ids in and out are the data's own. What a user has is known and never recommended: everything
    in the data, or the train part alone where the rest was held out to measure (`--holdout`).
    """

    def __init__(
        self,
        data: Dataset,
        split: Split,
        model: StoredModel,
        *,
        known: Ragged | None = None,
        config: RunConfig | Callable[[], RunConfig] | None = None,
        seed: int = 0,
        vectors: NDArray[np.float32] | None = None,
        metrics: Mapping[str, Any] | None = None,
        history: Sequence[Mapping[str, Any]] = (),
        meta: Mapping[str, Any] | None = None,
        brought: Brought | None = None,
    ) -> None:
        self.data, self.split, self.model = data, split, model
        self.known = split.train if known is None else known
        """User -> items that are never listed."""
        self._config = config
        self.seed = seed
        self.vectors = vectors
        """Node vectors of the trained agent; None when there is none."""
        self.metrics = dict(metrics or {})
        self.history = [dict(row) for row in history]
        self.meta, self.brought = dict(meta or {}), brought

    def __repr__(self) -> str:
        test = self.metrics.get("test", {})
        figures = [f"{k} {v:.4f}" for k, v in test.items() if isinstance(v, float)][:2]
        return f"Run({', '.join([repr(self.data), f'seed {self.seed}', *figures])})"

    @property
    def version(self) -> int:
        """1 for a run as it was trained; one more with every `cerec update`."""
        return int(self.meta.get("version", 1))

    @cached_property
    def config(self) -> RunConfig:
        """The settings it was made with."""
        from cerec.settings.run import RunConfig

        made = self._config
        return made if isinstance(made, RunConfig) else RunConfig() if made is None else made()

    @cached_property
    def facts(self) -> Facts:
        """What is known of each item."""
        return Facts.build(self.data)

    @cached_property
    def ckg(self) -> Ckg:
        """The collaborative knowledge graph of the train part."""
        return Ckg.build(self.data, self.split.train)

    @cached_property
    def subject(self) -> Subject:
        """The recommender as it is ranked and explained, in the order of the data."""
        return self.model.subject(self.data, self.facts, self.known, self.brought)

    @cached_property
    def explainer(self) -> Explainer:
        """Answers why, why not and what if."""
        from cerec.explain.explainer import Explainer

        self.refuse_lost()
        proposer = None
        if self.vectors is not None:
            from cerec.walk.proposals import BeamProposer

            proposer = BeamProposer(self.vectors, self.ckg, self.config.agent, self.config.encoder)
        return Explainer(self.data, self.subject, proposer, rescore=self.own_rescore)

    def recommend(self, user: object, k: int = 20) -> list[Recommendation]:
        """The first k unknown items; the whole catalogue when k is larger."""
        row, k = self.data.users.row(user), min(positive(k), max(len(self.data.items), 1))
        scores, known = self.subject.scores(np.array([row])), self.known.row(row)
        rows = lists(scores, np.array([0, len(known)]), known, k)[0]
        return self._listed(rows[rows >= 0], scores[0])

    def recommend_all(self, k: int = 20) -> Iterator[tuple[str, list[Recommendation]]]:
        """Every user with their list, in order: those of `recommend`, several times faster."""
        for users, scores, rows in self._lists(k):
            for user, score, row in zip(users.tolist(), scores, rows, strict=True):
                yield self.data.users[user], self._listed(row[row >= 0], score)

    def recommend_for(self, items: Iterable[object], k: int = 20) -> list[Recommendation]:
        """A list for someone who is not in the data, known only by a few items."""
        return self.guest(items).recommend(GUEST, k)

    def guest(self, history: Iterable[object]) -> Run:
        """The run for somebody who is not in the data and has just these items."""
        from cerec.runs.guest import guest

        return guest(self, history)

    def new_item(self, attributes: Iterable[tuple[str, str]]) -> NewItem:
        """An item that came after training, with exactly these (relation, attribute) pairs.

        `new_item(...).place(user)` says where it would stand, `.users(k)` whom it suits best.
        """
        from cerec.runs.new_item import NewItem

        values = value_rows(self.data, self.facts, attributes)
        if len(values) == 0:
            raise QuestionError(
                "a new item is known by its attributes alone; give a (relation, attribute) pair"
            )
        pairs = tuple(pair_of(self.data, self.facts, int(v)) for v in values)
        place = np.flatnonzero(np.isin(self.subject.vocabulary, values))
        return NewItem(self.data, self.subject, place, pairs)

    def _lists(self, k: int) -> Iterator[tuple[Rows, NDArray[np.float64], NDArray[np.int32]]]:
        """Blocks of users with their scores and lists."""
        k = min(positive(k), max(len(self.data.items), 1))
        for users in self.subject.blocks():
            scores = self.subject.scores(users)
            known = self.known.take(users)
            yield users, scores, lists(scores, known.indptr, known.indices, k)

    def _listed(
        self, rows: NDArray[np.integer], scores: NDArray[np.float64]
    ) -> list[Recommendation]:
        items = self.data.items
        return [
            Recommendation(items[i], items.name(i), float(scores[i]), rank)
            for rank, i in enumerate(rows.tolist(), start=1)
        ]

    def rank(self, user: object, item: object) -> int:
        """Rank of an item among all the user does not know."""
        row, at = self.data.users.row(user), self.data.items.row(item)
        scores, known = self.subject.scores(np.array([row])), self.known.row(row)
        mine = np.array([0]), np.array([at]), scores[0, [at]]
        return int(ranks_after(scores, np.array([0, len(known)]), known, *mine)[0])

    def listed_pairs(self, k: int = 20) -> Iterator[tuple[str, str]]:
        """Every user with every item of their list, in order."""
        for users, _, rows in self._lists(k):
            for user, row in zip(users.tolist(), rows, strict=True):
                for item in row[row >= 0].tolist():
                    yield self.data.users[user], self.data.items[item]

    def save(self, folder: str | Path) -> Path:
        """Write everything to a folder that `cerec.open` reads, in place of the run there.

        What else lies in that folder, such as a report, stays; so does the checkpoint of the
        training that made this run. A folder with that of another is refused.
        """
        from cerec.checkpoint import find_checkpoint

        path = Path(folder)
        refuse_target(path)
        with held(path) if path.is_dir() else nullcontext():
            kept = kept_beside(path, self.meta.get("origin"))
            if "checkpoint" not in kept and find_checkpoint(path / "checkpoint"):
                raise RunError(f"{path}: holds an unfinished training; save to another folder")
            with replacing(path, folder=True) as new:
                new.mkdir()
                self.write(new)
                for name in kept:
                    copy_of(path / name, new / name)
        return path

    def write(self, folder: Path) -> None:
        """Write the files of the run into an existing folder, `run.json` last."""
        write_dataset(self.data, folder)
        from cerec.settings.run import to_toml

        with replacing(folder / "config.toml") as target:
            target.write_text(to_toml(self.config), encoding="utf-8")
        write_arrays(folder / "split.safetensors", split_arrays(self.split))
        arrays = {f"model.{n}": a for n, a in self.model.whole(self.brought).items()}
        arrays |= {"known.indptr": self.known.indptr, "known.indices": self.known.indices}
        if self.vectors is not None:
            arrays["agent.vectors"] = self.vectors
        write_arrays(folder / "model.safetensors", arrays)
        write_history(folder / "history.csv", self.history)
        facts = {**self._facts(), "files": listing(folder, LISTED)}
        write_json(folder / "run.json", sealed(facts))

    def _facts(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "versions": versions(),
            "version": self.version,
            "seed": self.seed,
            "data": {"name": self.data.name, "fingerprint": self.data.fingerprint},
            "recommender": {"kind": self.model.kind, "fidelity": self.model.fidelity},
            "metrics": self.metrics,
            "meta": {**self.meta, "lost": list(self.lost)} if self.lost else self.meta,
        }


def open_run(folder: str | Path, *, recommender: Any = None, fitted: bool = False) -> Run:
    """The run in a folder written by `Run.save` or `cerec train`.

    `recommender` gives back one made elsewhere; `fitted` asks for effects fitted to it instead.
    """
    path = Path(folder)
    facts = read_facts(path)
    refuse_changed(path, facts["files"], remember=True)
    arrays = read_arrays(path / "model.safetensors")
    data = read_dataset(path)
    weights, shape = path / "model.safetensors", (len(data.users), len(data.items))
    meta = {name: x for name, x in facts["meta"].items() if name != "lost" or not fitted}
    run = Run(
        data,
        read_split(path / "split.safetensors", *shape),
        stored_from(**facts["recommender"], arrays=arrays, path=weights, shape=shape),
        known=read_part(weights, arrays, "known", *shape),
        config=lambda: _config(path / "config.toml"),
        seed=facts["seed"],
        vectors=arrays.get("agent.vectors"),
        metrics=facts["metrics"],
        history=read_history(path / "history.csv"),
        meta=meta,
    )
    return run if recommender is None else run.given_back(recommender)


def _config(path: Path) -> RunConfig:
    from cerec.settings.base import parse
    from cerec.settings.run import RunConfig, read_toml

    return parse(RunConfig, read_toml(path))
