"""Parts of scores add up, and the sentence tells those that say most."""

from __future__ import annotations

import numpy as np
import pytest
from explain_worlds import dataset, explainer, linear_subject, listed_pairs

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.explain.explainer import Explainer

K = 6


@pytest.mark.parametrize("kind", ["linear", "folded", "factors"])
def test_reasons_add_up_to_the_lead_over_the_average_unseen_item(kind: str) -> None:
    x = explainer(kind)
    for e in x.explain_many(listed_pairs(x, K), k=K, by="attributes"):
        user = x.data.users.row(e.user)
        scores = x.subject.scores(np.array([user]))[0]
        unseen = np.setdiff1d(np.arange(len(scores)), x.subject.known.row(user))
        lead = e.score_before - scores[unseen].mean()
        assert sum(r.part for r in e.reasons) == pytest.approx(lead, abs=1e-9)
        sizes = [abs(r.part) for r in e.reasons]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("kind", ["linear", "folded"])
def test_parts_are_those_the_model_tells(kind: str) -> None:
    x = explainer(kind)
    items, facts = x.data.items, x.subject.facts
    for user, item in listed_pairs(x, K)[::5]:
        told = x.subject.contributions(x.data.users.row(user), items.row(item))
        assert told is not None
        e = x.explain(user, item, k=K, by="attributes")
        mine = {r.id: r.part for r in e.reasons if r.kind == "history"}
        assert mine == pytest.approx({items[h]: part for h, part in told.history}, abs=1e-9)
        values = {(r.relation, r.id): r.part for r in e.reasons if r.kind == "value"}
        rows = [(int(x.subject.vocabulary[v]), part) for v, part in told.values]
        theirs = {
            (x.data.relations[facts.relation[v]], x.data.entities[facts.attribute[v]]): part
            for v, part in rows
        }
        assert values == pytest.approx(theirs, abs=1e-12)


def tastes() -> Explainer:
    """Ten users; user 0 has three items, all of attribute 0; attributes say everything else.

    Items 0 to 9 have attribute 0 and items 10 to 19 attribute 1, by one relation.
    """
    data = dataset([(i, 0, i // 10) for i in range(20)], (10, 20, 2, 1), {"r00": "genre"})
    user = np.concatenate([[0, 0, 0], np.repeat(np.arange(1, 10), 2)])
    item = np.concatenate([[0, 1, 2], np.arange(2, 20)])
    known = Ragged.from_pairs(user, item, 10)
    return Explainer(data, linear_subject(Facts.build(data), known))


def test_a_world_by_hand() -> None:
    """21 interactions, 11 on attribute 0: user 0 has 3 of 3, and 3 * 11 / 21 = 1.57 are usual."""
    x = tastes()
    e = x.explain("u00", "i03", k=5, by="attributes")
    (value,) = [r for r in e.reasons if r.kind == "value"]
    share = 11 / 21
    unit, common = x.subject.model.arrays.unit, x.subject.model.arrays.common  # type: ignore[attr-defined]
    expected = common[0] + unit[0] * (3 - 3 * share) / np.sqrt(3)
    assert value.part == pytest.approx(expected, abs=1e-6)  # one value: the scale is 1
    assert (value.count, value.usual) == (3, pytest.approx(3 * share))
    # of 17 unseen items 7 have attribute 0; the counts of attribute 1 are 0 against 1.43
    other = common[1] + unit[1] * (0 - 3 * (1 - share)) / np.sqrt(3)
    (usual,) = [r for r in e.reasons if r.kind == "usual values"]
    assert usual.part == pytest.approx(-(7 * expected + 10 * other) / 17, abs=1e-6)
    start = f"The Third Man is at rank {e.rank_before} mainly for its genre a00: 3 of your 3 items"
    assert e.text.startswith(start)
    assert "1.6 would be usual. Had that been a01 (none of yours, 1.4 would be usual) ins" in e.text
