"""How firmly answers hold: the parts of a margin by hand, robust answers by enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from explain_worlds import ITEMS, USERS, check_slowly, explainer, listed_pairs

from cerec.errors import ConfigError, QuestionError
from cerec.explain.changes.answers import Question
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.explain.holds import LAW, Spread, held, normal, spread
from cerec.explain.options import Options
from cerec.explain.wording import checked, firmly

K = 6


def parts(e: Explainer, user: int, item: int, values: set[int]) -> np.ndarray:
    """What every item of the history adds to the score of an item with these values."""
    m = e.subject.model.arrays  # type: ignore[attr-defined]
    history = m.history[m.history_ptr[user] : m.history_ptr[user + 1]].tolist()
    out = np.zeros(len(history))
    for n, h in enumerate(history):
        row = slice(m.pair_ptr[h], m.pair_ptr[h + 1])
        out[n] = m.strength[row][m.pair[row] == item].sum()
        mine = set(m.value[m.value_ptr[h] : m.value_ptr[h + 1]].tolist())
        for v in values:
            worth = m.scale[item] * m.unit[v] / np.sqrt(len(history))
            out[n] += worth * ((v in mine) - m.share[v])
    return out


@pytest.mark.parametrize("seed", [0, 1])
def test_the_margin_is_a_sum_over_the_history(seed: int) -> None:
    e = explainer("linear", seed)
    solver, of_item = e._by_row.solver, e.subject.of_item
    solved = solver.listed(np.arange(USERS), solver.values(Options(k=K)), Question(k=K))
    a, model = solved.answers, e.subject.model
    made = spread(solver.parts, a, K)
    taken = np.bincount(model.arrays.history, minlength=ITEMS)  # type: ignore[attr-defined]
    assert (a.status == 0).sum() > 20
    for n in np.flatnonzero(a.status == 0):
        user, item, rival = int(a.user[n]), int(a.item[n]), int(a.replacement[n])
        own = set(of_item.row(item).tolist())
        own -= set(a.lost[a.indptr[n] : a.indptr[n + 1]].tolist())
        own |= set(a.gained[a.indptr[n] : a.indptr[n + 1]].tolist())
        other = parts(e, user, rival, set(of_item.row(rival).tolist()))
        difference = other - parts(e, user, item, own)
        m = model.arrays  # type: ignore[attr-defined]
        theirs = set(of_item.row(rival).tolist())
        popular = [
            m.own[i] + m.scale[i] * m.common[list(v)].sum()
            for i, v in ((rival, theirs), (item, own))
        ]
        assert difference.sum() + popular[0] - popular[1] == pytest.approx(a.margin[n])
        assert made.thinned[n] == pytest.approx((difference**2).sum())
        firm = parts(e, user, item, set()), parts(e, user, rival, set())
        history = e.subject.known.row(user)
        expected = sum(np.abs(b) @ (1 / taken[history]) for b in firm)
        assert made.refitted[n] == pytest.approx(expected)
        assert made.size[n] == len(history)


def test_the_law_by_hand() -> None:
    """Margin .5, variance .09 * 4 = .36; .171 * .1 * 20 = .342 places of .2 / 4 = .05 each."""
    by_hand = Spread(*(np.array([x]) for x in (4.0, 0.0, 20.0, 0.2, 0.5, 4.0)))
    law = LAW._replace(at_zero=0.1, slope=0.8, returned=0.171)
    z = 0.1 + 0.8 * (0.5 + 0.342 * 0.05) / 0.6
    assert held(by_hand, law)[0] == pytest.approx(normal(z))
    assert normal(0.0) == 0.5
    assert normal(1.6448536) == pytest.approx(0.95)


def test_it_is_said_everywhere() -> None:
    e = explainer("linear")
    table = e.explain_all(k=K, by="attributes")
    pairs = list(zip(table["user"], table["item"], strict=True))
    for n, one in enumerate(e.explain_many(pairs, k=K, by="attributes")):
        assert one.holds == table["holds"][n]
        assert (one.holds is None) == (not one.found)
        if one.holds is not None:
            assert 0.0 < one.holds <= 1.0
            assert firmly(one.holds) in checked(one)
            assert Explanation.from_dict(one.to_dict()).holds == one.holds


def test_where_nothing_is_known_nothing_is_said() -> None:
    e = explainer("factors")
    for one in e.explain_many(listed_pairs(e, K)[:20], k=K):
        assert one.holds is None
        assert "missing" not in checked(one)
    with pytest.raises(ConfigError, match="robust"):
        e.explain(*listed_pairs(e, K)[0], k=K, robust=0.9)


def test_the_words() -> None:
    said = "It would {} still hold if a tenth of the data were missing: {} %."
    assert firmly(0.94) == said.format("very likely", 94)
    assert firmly(0.9999) == said.format("almost certainly", 99)
    assert firmly(0.2) == said.format("hardly", 20)


class Enumeration:
    """All sets of up to two replacements of one listed item, with how firmly each holds."""

    def __init__(self, e: Explainer, user: str, item: str) -> None:
        u, i = e.data.users.row(user), e.data.items.row(item)
        scores, effects = (x[0] for x in e.subject.both(np.array([u])))
        solver, model = e._by_row.solver, e.subject.model
        own = e.subject.of_item.row(i).tolist()
        relation, support = e.subject.relation, solver.support
        plain = solver.asked(
            np.array([u]), np.array([i]), solver.values(Options(k=K)), Question(k=K)
        )
        a = plain.answers
        rival, cutoff = int(a.replacement[0]), float(a.cutoff[0])
        base = spread(solver.parts, a, K)
        every = parts(e, u, rival, set(e.subject.of_item.row(rival).tolist()))
        single = [
            (lost, gained)
            for lost in own
            for gained in range(len(relation))
            if relation[lost] == relation[gained] and gained not in own and support[gained] >= 5
        ]
        self.holds: dict[frozenset[tuple[int, int]], float] = {}
        del model
        for size in (1, 2):
            for some in itertools.combinations(single, size):
                lost, gained = {x for x, _ in some}, {x for _, x in some}
                if len(lost) < size or len(gained) < size:
                    continue
                after = scores[i] + e.subject.scale[i] * (
                    effects[list(gained)].sum() - effects[list(lost)].sum()
                )
                if not (after < cutoff or (after == cutoff and rival < i)):
                    continue
                values = set(own) - lost | gained
                thinned = ((every - parts(e, u, i, values)) ** 2).sum()
                margin = np.array([cutoff - after])
                changed = base._replace(thinned=np.array([thinned]), margin=margin)
                self.holds[frozenset(some)] = float(held(changed, LAW)[0])


@pytest.mark.parametrize("p", [0.8, 0.95, 0.99])
def test_robust_answers_by_enumeration(p: float) -> None:
    e = explainer("linear", 2)
    certificates: dict[Any, int] = {}
    for user, item in listed_pairs(e, K)[:50]:
        one = e.explain(user, item, k=K, robust=p)
        by_hand = Enumeration(e, user, item).holds
        smallest = min((len(some) for some, x in by_hand.items() if x >= p + 1e-9), default=3)
        certificates[one.certificate] = certificates.get(one.certificate, 0) + 1
        if not one.found:
            assert "hold with a probability" in one.text or one.status != "not_found"
            continue
        check_slowly(e, one)
        assert one.holds is not None
        assert one.holds >= p
        if one.certificate == "minimum":
            assert one.size <= smallest
        if one.size == 2:  # no change can be left out
            ids = {
                (e.data.entities.row(str(c.before)), e.data.entities.row(str(c.after)))
                for c in one.changes
            }
            facts, words = e.subject.facts, e.subject.vocabulary
            for some, x in by_hand.items():
                named = {
                    (int(facts.attribute[words[b]]), int(facts.attribute[words[g]]))
                    for b, g in some
                }
                assert not (len(some) == 1 and named < ids and x >= p + 1e-9)
    assert certificates.get("minimum", 0) > 5


def test_what_robust_cannot_be_asked_with() -> None:
    e = explainer("linear")
    pair = listed_pairs(e, K)[0]
    for wrong in ({"robust": 1.5}, {"robust": 0.9, "by": "history"}, {"robust": True}):
        with pytest.raises(ConfigError, match="robust"):
            e.explain(*pair, k=K, **wrong)  # type: ignore[arg-type]
    unlisted = next(i for i in e.data.items if (pair[0], i) not in listed_pairs(e, K))
    with pytest.raises(QuestionError):
        e.explain(pair[0], why_not=unlisted, k=K, robust=0.9)
