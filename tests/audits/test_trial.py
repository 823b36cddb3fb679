"""An attribute on trial against trying every value of every item, one at a time."""

from __future__ import annotations

import numpy as np
import pytest

import cerec
from cerec.audit.places import dealt_out
from cerec.audit.trial import trial
from cerec.errors import QuestionError
from cerec.rng import generator

K = 5


def slow_trial(run: cerec.Run, relation: str, users: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """(V,) places now and with other values, by ranking the whole list for every change."""
    s, r = run.subject, run.data.relations.row(relation)
    values = np.flatnonzero(s.relation == r)
    odds = s.support[values].astype(float)
    now, then = np.zeros(len(values)), np.zeros(len(values))
    for u in users:
        scores, effects = s.both(np.array([u]))
        shown = scores[0].copy()
        shown[s.known.row(u)] = -np.inf
        before = set(np.argsort(-shown, kind="stable")[:K].tolist())
        total = effects[0]
        for i in range(s.n_items):
            mine = [v for v in s.of_item.row(i).tolist() if v in values]
            others = [v for v in values.tolist() if v not in mine]
            if not mine or not others or shown[i] == -np.inf:
                continue
            weight = np.array([odds[np.searchsorted(values, v)] for v in others])
            for a in mine:
                listed = []
                for v in others:
                    changed = shown.copy()
                    changed[i] += s.scale[i] * (total[v] - total[a])
                    listed.append(i in np.argsort(-changed, kind="stable")[:K].tolist())
                at = np.searchsorted(values, a)
                now[at] += (i in before) / len(mine)
                then[at] += weight @ np.array(listed, float) / weight.sum() / len(mine)
    return now, then


def test_places_are_those_of_trying_everything(small_run: cerec.Run) -> None:
    users = [0, 3]
    found = trial(small_run.data, small_run.subject, "decade", k=K, users=np.array(users))
    now, then = slow_trial(small_run, "decade", users)
    s = small_run.subject
    values = np.flatnonzero(s.relation == small_run.data.relations.row("decade"))
    entity = s.facts.attribute[s.vocabulary[values]]
    effect = {v.id: v.effect.value for v in found.values}
    for n, e in enumerate(entity.tolist()):
        expected = now[n] / then[n] - 1 if then[n] > 0 else 0.0
        assert effect[small_run.data.entities.ids[e]] == pytest.approx(expected, abs=1e-9)


def test_dealing_out_keeps_how_often_each_value_is_there(small_run: cerec.Run) -> None:
    a, s = small_run.subject.model.arrays, small_run.subject
    values = np.flatnonzero(s.relation == small_run.data.relations.row("genre"))
    dealt = dealt_out(a, values, generator(0, "test"))
    before, after = (np.bincount(x.value, minlength=len(a.share)) for x in (a, dealt))
    np.testing.assert_array_equal(before, after)
    assert not np.array_equal(a.value, dealt.value)


def test_a_relation_of_one_value_cannot_be_tried(small_run: cerec.Run) -> None:
    with pytest.raises(QuestionError, match="a trial needs two"):
        small_run.trial("born_in")


def test_models_that_do_not_say_how_have_no_controls(paper_run: cerec.Run) -> None:
    found = paper_run.trial("genre", K)
    assert found.controls == 0
    assert not found.flagged
    assert "does not say enough" in found.text()
