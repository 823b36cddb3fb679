"""Four forms of what a history says of a value, in one model that differs in nothing else.

    counts     (n_u(a) - n_u q_a) / sqrt((q_a + .01) n_u)        the default
    pearson    (n_u(a) - n_u q_a) / sqrt(q_a n_u)
    log-lift   log((n_u(a) + 1) / (n_u q_a + 1))
    ridge      ridge of the user's clicks on the values of the items

History and popularity are the same for all. The weights of relations and parts are chosen for each
form on validation, as the default chooses them; figures are of whole lists on validation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split, split
from cerec.data.synthetic.generate import WorldConfig
from cerec.metrics import mean, per_user
from cerec.recommend.linear.candidates import Sample, draw_sample, relation_weights
from cerec.recommend.linear.choose import POPULARITY, _Parts, _search
from cerec.recommend.linear.fit import Chosen, FitMaterial, build
from cerec.recommend.linear.itemitem import pairs_of
from cerec.recommend.linear.model import Linear
from cerec.recommend.linear.values import KAPPA
from cerec.recommend.protocol import Doubles
from cerec.recommend.rank import lists
from cerec.recommend.subject import Subject
from cerec_bench.cells import Table
from cerec_bench.firmness.truth import truth as planted
from cerec_bench.plans.experiment import Job

PENALTY, K = 10.0, 20
Form = Callable[["Counted"], Doubles]


class Counted:
    """n_u(a), n_u, q and the scaled facts of some interactions. U: users, V: values, I: items."""

    def __init__(self, m: FitMaterial) -> None:
        self.material, self.matrix, self.values = m, m.matrix, m.values
        ones = self.values.copy()
        ones.data[:] = 1.0
        self.count = np.asarray((m.matrix @ ones).toarray())  # (U, V)
        self.size = np.maximum(np.asarray(m.matrix.sum(axis=1)), 1.0)  # (U, 1)
        self.usual = self.size * m.share


def counts(c: Counted) -> Doubles:
    """The default."""
    return np.asarray((c.count - c.usual) / np.sqrt(c.material.share + KAPPA) / np.sqrt(c.size))


def pearson(c: Counted) -> Doubles:
    """Pearson residuals of the counts."""
    return np.asarray((c.count - c.usual) / np.sqrt(np.maximum(c.usual, 1e-9)))


def log_lift(c: Counted) -> Doubles:
    """How many times as many as usual, as a logarithm."""
    return np.asarray(np.log((c.count + 1.0) / (c.usual + 1.0)))


def ridge(c: Counted) -> Doubles:
    """Ridge of the clicks on the values, all users at once."""
    z = c.values
    system = (z.T @ z).toarray() + PENALTY * np.eye(z.shape[1])
    right = np.asarray((c.matrix @ z).toarray())
    return np.ascontiguousarray(np.linalg.solve(system, right.T).T)


FORMS: dict[str, Form] = {
    "counts": counts,
    "pearson": pearson,
    "log-lift": log_lift,
    "ridge": ridge,
}


class Formed:
    """The model without factors, with another form of effects."""

    def __init__(self, model: Linear, values: sp.csr_matrix, told: Doubles, bits: int) -> None:
        """`told` (U, V) effects, and base and history of `model`."""
        a, up = model.arrays, 2.0**bits
        self._model, self._values = model, values
        self._user, self._everybody = np.rint(told * up) / up, np.rint(a.common * up) / up

    def both(self, users: NDArray[np.integer]) -> tuple[Doubles, Doubles]:
        """Scores and effects."""
        mine = self._user[users]
        scores = self._model.scores(users) + np.asarray(self._values @ mine.T).T
        return scores, mine + self._everybody

    def scores(self, users: NDArray[np.integer]) -> Doubles:
        """Scores alone."""
        return self.both(users)[0]


def formed(m: FitMaterial, valid: Ragged, form: Form) -> tuple[Formed, float]:
    """The model with that form, its weights chosen on validation; and how strongly it counts."""
    pairs = pairs_of(m.gram, PENALTY)
    sample = draw_sample(m, valid, pairs, len(valid))
    told = form(Counted(m))
    sample = replace(sample, relation=_by_relation(sample, m, told))
    relation, popular = relation_weights(sample)
    said = sample.relation @ relation
    parts = _Parts(sample, np.stack([sample.history, said, popular * sample.popularity]))
    (attributes, popularity, _), _, _ = _search(parts, (0.2, POPULARITY[3], 0.0))
    model = Linear(build(m, Chosen(PENALTY, popularity=popularity * popular), pairs=pairs))
    of_relation = np.zeros(int(m.relation.max(initial=0)) + 1)
    of_relation[sample.relations] = attributes * relation
    effects = told * of_relation[m.relation]
    bits = 28 - int(np.ceil(np.log2(max(np.abs(effects).max(), 1e-9))))
    return Formed(model, m.values, effects, bits), attributes


def _by_relation(sample: Sample, m: FitMaterial, told: Doubles) -> Doubles:
    """(c, R) the part of each relation in the score of every candidate, of weight one."""
    row = np.repeat(sample.users, np.diff(sample.indptr))
    out = np.zeros((len(row), len(sample.relations)))
    mine = m.of_item.take(sample.item)
    at = mine.row_of()
    amount = m.scale[sample.item][at] * told[row[at], mine.indices]
    np.add.at(out, (at, np.searchsorted(sample.relations, m.relation[mine.indices])), amount)
    return out


def _material(data: Dataset, parts: Split | None = None) -> tuple[FitMaterial, Split]:
    parts = parts or split(data, seed=0)
    return FitMaterial(parts.train, np.ones(parts.train.size), Facts.build(data)), parts


def measure(job: Job) -> Table:
    """NDCG@20 and recall@20 on validation with each form; planted precision in generated worlds."""
    (m, parts), out = _material(job.data, job.parts), {}
    users = np.flatnonzero((parts.valid.counts > 0) & (parts.train.counts > 0))
    for name, form in FORMS.items():
        job.note(name)
        model, attributes = formed(m, parts.valid, form)
        blocks = np.array_split(users, len(users) // 128 + 1)
        found = [_lists(model, parts.train, some) for some in blocks]
        values = per_user(np.concatenate(found), parts.valid.take(users), (K,), ("recall", "ndcg"))
        out[name] = {**mean(values), "attributes": attributes}
    return out


measure.reads = ("filters", "split")  # type: ignore[attr-defined]


def truth(job: Job) -> Table:
    """Planted precision of the answers with each form, mean over generated worlds."""
    worlds, out = job.option("worlds", [201, 202]), {}
    for name, form in FORMS.items():

        def fit(data: Dataset, form: Form = form) -> Subject:
            m, parts = _material(data)
            known, values, of_item = parts.train, m.vocabulary, m.of_item
            model, _ = formed(m, parts.valid, form)
            return Subject(m.facts, known, values, of_item, m.scale, "model", model)

        job.note(name)
        rows = [planted(WorldConfig(), seed, fit=fit) for seed in worlds]
        names = ("planted", "either", "flips")
        out[name] = {n: float(np.mean([getattr(row, n) for row in rows])) for n in names}
    return out


truth.reads = ()  # type: ignore[attr-defined]


def _lists(model: Formed, known: Ragged, users: NDArray[np.integer]) -> NDArray[np.int32]:
    mine = known.take(users)
    return lists(model.scores(users), mine.indptr, mine.indices, K)
