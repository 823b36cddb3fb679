"""Controls of table III, and what a truth holds of planted tastes."""

from __future__ import annotations

import numpy as np
from explanation_worlds import learned, rows

from cerec.data.ragged import Ragged
from cerec_bench.explainers.cerec import PaperForm
from cerec_bench.explainers.controls import Control
from cerec_bench.explainers.pairs import listed_pairs, positive_pairs
from cerec_bench.explainers.truths import Tastes, Truth, examined
from cerec_bench.explainers.verdict import judge


def test_controls_name_what_the_item_lacks_and_as_many_as_the_paper() -> None:
    context = learned(3, epochs=1)
    for pairs in (listed_pairs(context, 20), positive_pairs(context, 20)):
        form = PaperForm()
        form.fit(context)
        sizes = [len(a.values) or 10 for a in form.explain(pairs)]
        count = context.facts.holders.counts
        for kind in ("random item", "by frequency", "most frequent"):
            control = Control(kind)  # type: ignore[arg-type]
            control.fit(context)
            for n, (answer, size) in enumerate(zip(control.explain(pairs), sizes, strict=True)):
                own = context.facts.of_item.row(int(pairs.item[n]))
                assert not np.isin(answer.values, own).any()
                assert len(set(answer.values.tolist())) == len(answer.values)
                if kind == "random item":
                    continue
                assert len(answer.values) == min(size, context.facts.n_values - len(own))
                left = np.setdiff1d(np.arange(len(count)), [*own, *answer.values])
                if kind == "most frequent" and len(left):
                    assert count[answer.values].min() >= count[left].max()


def test_positives_are_train_pairs_and_leave_no_list() -> None:
    context = learned(3)
    pairs = positive_pairs(context, 15)
    for user, item in zip(pairs.user, pairs.item, strict=True):
        assert item in context.train.row(user)
    control = Control("random item")
    control.fit(context)
    verdicts = judge(context, pairs, control.explain(pairs), listed=False)
    assert not verdicts.flipped.any()
    assert not verdicts.ps_all.any()


def test_shares_of_planted_tastes_by_hand() -> None:
    # user 0 likes value 0 and dislikes 1, of four; user 1 dislikes 2
    tastes = Tastes(
        Ragged.from_pairs(rows(0), rows(0), 2), Ragged.from_pairs(rows(0, 1), rows(1, 2), 2)
    )
    truth = Truth("dns", Ragged.from_pairs(rows(0, 0, 1, 1), rows(0, 1, 1, 3), 2))
    found = examined(truth, tastes, rows(0, 1), 4)
    assert found["liked"] == 0.25
    assert found["disliked"] == 0.25
    assert found["liked_by_chance"] == 0.125
    assert found["disliked_by_chance"] == 0.25
