"""All figures of an audit against a slow script, on 500 pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from slow_audit import Slow

import cerec
from cerec.audit import groups_of, measure
from cerec.explain.options import Options
from cerec.explain.solver import Solver

K, USERS = 20, 25


def agrees(run: cerec.Run, items_by: str) -> None:
    """The audit of some users is what the slow script says."""
    data, subject = run.data, run.subject
    users = np.unique(np.linspace(0, len(data.users) - 1, USERS).astype(int))
    groups = groups_of(data, subject, (), (items_by,))
    solver = Solver(data, subject)
    assert not solver.values(Options(k=K)).tree.any()
    slow = Slow(run, K, set(solver.computed)).figures(users.tolist(), groups)
    found = measure(data, subject, k=K, users=users, groups=groups, least=1)
    assert (found.pairs, found.users) == (K * USERS, USERS)
    assert found.pairs == slow["pairs"]
    relations = [data.relations.ids[r] for r in sorted(set(subject.relation.tolist()))]
    place = {id_: n for n, id_ in enumerate([*relations, "history", "own"])}
    for p in found.parameters:
        n = place[p.id]
        assert p.share.value == pytest.approx(slow["share"][n], abs=1e-9), p.id
        assert p.by_rank["1"] == pytest.approx(slow["first"][n], abs=1e-9), p.id
        assert p.decides.value == pytest.approx(slow["decides"][n]), p.id
        if p.needed is not None and p.answered is not None:
            assert p.needed.value == pytest.approx(slow["needed"][n]), p.id
            assert p.answered.value == pytest.approx(slow["answered"][n]), p.id
    assert found.everybody is not None
    assert found.everybody.value == pytest.approx(slow["everybody"], abs=1e-9)
    entity = subject.facts.attribute[subject.vocabulary]
    row = {
        (data.relations.ids[r], data.entities.ids[e]): v
        for v, (r, e) in enumerate(zip(subject.relation.tolist(), entity.tolist(), strict=True))
    }
    for value in found.values:
        v = row[value.relation, value.id]
        assert value.share == pytest.approx(slow["values"][v], abs=1e-9)
        assert value.pairs == slow["holders"][v]
        others = np.abs(slow["values"][subject.relation == subject.relation[v]])
        assert (others > abs(value.share) + 1e-9).sum() < 10
    assert len(found.segments) == len(slow["groups"])
    for segment in found.segments:
        pairs, shares = slow["groups"][segment.by, segment.group]
        assert segment.pairs == pairs
        for id_, share in segment.shares:
            assert share.value == pytest.approx(shares[place[id_]], abs=1e-9)


def test_the_small_world(small_run: cerec.Run) -> None:
    agrees(small_run, "genre")


@pytest.mark.data
def test_movielens(real_data: Path) -> None:
    agrees(cerec.train(cerec.load(real_data / "ml-1m"), seed=0), "movielens.genre")
