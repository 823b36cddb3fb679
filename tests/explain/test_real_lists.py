"""Explanations of real lists, checked one by one; needs the folder CEREC_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from explain_worlds import check_slowly

import cerec
from cerec.data.facts import Facts
from cerec.data.split import split
from cerec.explain.enumeration import change_sets
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.recommend.adapters import scorer_from_factors
from cerec.recommend.lines import ials

REAL = Path(os.environ.get("CEREC_DATA", "no-such-folder"))
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not REAL.is_dir(), reason="CEREC_DATA names no folder"),
]


def explainer_of(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explainer:
    monkeypatch.setenv("CEREC_CACHE", str(tmp_path))
    data = cerec.load(REAL / name)
    known, facts = split(data, seed=0).train, Facts.build(data)
    als = ials(known, len(data.items), dim=32, sweeps=5, seed=0)
    return Explainer(data, known, facts, scorer_from_factors(data, facts, als.user, als.item))


def smaller_sets_do_not_flip(explainer: Explainer, e: Explanation) -> int:
    """Try every set of fewer changes towards the counterfactual item; how many there were."""
    data, facts = explainer.data, explainer.facts
    user, item = data.users.row(e.user), data.items.row(e.item)
    own = facts.of_item.row(item)
    other = facts.of_item.row(data.items.row(e.counterfactual_item))
    effects = explainer.scorer.effects(user, np.arange(facts.n_values))
    total, rival = float(effects[own].sum()), data.items.row(e.replacement)
    relations = np.unique(facts.relation[np.union1d(own, other)])
    lost, gained = np.setdiff1d(own, other), np.setdiff1d(other, own)
    lose = [lost[facts.relation[lost] == r].tolist() for r in relations]
    gain = [gained[facts.relation[gained] == r].tolist() for r in relations]
    tried = 0
    for size in range(1, e.size):
        for out, into in change_sets(lose, gain, size):
            tried += 1
            after = total - sum(effects[v] for v in out) + sum(effects[v] for v in into)
            score = e.score_before + (after - total)
            assert (score, -item) > (e.cutoff, -rival)
    return tried


@pytest.mark.parametrize("name", ["ml-100k", "ml-1m"])
def test_real_lists_are_verified_and_smallest(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explainer = explainer_of(name, tmp_path, monkeypatch)
    data = explainer.data
    users = np.random.default_rng(0).choice(len(data.users), 15, replace=False)
    pairs = [(data.users[u], data.items[int(i)]) for u in users for i in explainer.listed(u, 20)]
    answers = list(explainer.explain_many(pairs))
    assert [(e.user, e.item) for e in answers] == pairs
    with_values = [e for e in answers if e.status != "no_attributes"]
    verified = [e for e in answers if e.status == "verified"]
    assert len(verified) >= 0.99 * len(with_values)
    for e in verified:
        check_slowly(explainer, e)
    few = [e for e in verified if e.size == 2][:40]  # of three, ml-1m has 10^8 smaller sets
    assert sum(smaller_sets_do_not_flip(explainer, e) for e in few) > 1000
