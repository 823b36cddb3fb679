"""Recommenders that are asked for every score."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest
from explain_worlds import check_slowly, explainer, listed_pairs

from cerec.errors import ConfigError
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation

K = 6


def asked(slow: float = 0.0, curve: float = 0.0) -> Explainer:
    """An additive model as a function, bent by `curve` where an item has another set of values."""
    plain = explainer("factors")

    def rescore(user: int, item: int, sets: Sequence[Sequence[tuple[str, str]]]) -> np.ndarray:
        who, what = plain.data.users[user], plain.data.items[item]
        own = set(plain.attributes(what))
        time.sleep(slow * len(sets))
        out = [plain.rescore(who, what, pairs) for pairs in sets]
        bent = [0 if set(p) == own else abs(len(set(p) - own) - 1) for p in sets]
        return np.array(out) - curve * 0.001 * np.array(bent)

    return Explainer(plain.data, plain.subject, rescore=rescore)


def some(x: Explainer, **wishes: object) -> list[Explanation]:
    return list(x.explain_many(listed_pairs(x, K)[:18], k=K, by="attributes", **wishes))  # type: ignore[arg-type]


def test_the_function_is_searched_as_its_effects_would_be() -> None:
    plain = some(explainer("factors"))
    for e, best in zip(some(asked()), plain, strict=True):
        if e.found:
            assert e.status == "verified"
            check_slowly(explainer("factors"), e)
        if best.found and best.size <= 2:  # it may lose rare values too, so it may be smaller
            assert 1 <= e.size <= best.size
            assert e.certificate == "minimum"


def test_a_function_that_is_not_additive_is_believed() -> None:
    x = asked(curve=1.0)
    found = [e for e in some(x) if e.found]
    assert found
    for e in found:
        values = set(x.attributes(e.item)) - {(c.relation, c.before) for c in e.changes}
        values |= {(c.relation, c.after) for c in e.changes}  # type: ignore[arg-type]
        assert e.score_after == x.rescore(e.user, e.item, values)
        assert e.rank_after is not None
        assert e.rank_after > K


@pytest.mark.parametrize("slow", [0.002, 0.05])
def test_the_time_allowed_is_kept(slow: float) -> None:
    x = asked(slow=slow)
    user, item = next((u, i) for u, i in listed_pairs(x, K) if len(x.attributes(i)) > 2)
    x.explain(user, item, k=K, budget=0.1)  # compiles
    for u, i in listed_pairs(x, K)[:8]:
        e = x.explain(u, i, k=K, by="attributes", budget=0.3)
        assert e.seconds < 0.36 + slow  # a set that is being scored is not cut short
        assert ("The time allowed ended" in e.text) == (e.status == "timed_out")


def test_sets_are_asked_for_in_batches() -> None:
    x, calls = asked(), []
    inner = x._by_row._rescore
    x._by_row._rescore = lambda u, i, sets: (calls.append(len(sets)), inner(u, i, sets))[1]
    user, item = next((u, i) for u, i in listed_pairs(x, K) if len(x.attributes(i)) > 2)
    x.explain(user, item, k=K, by="attributes")
    assert calls[0] == 1
    assert max(calls) >= 4
    assert x._by_row.asked == sum(calls)


def test_why_not_and_tables() -> None:
    x = asked()
    other = x.data.items[int(x.listed(0, K + 3)[-1])]
    e = x.explain("u00", why_not=other, k=K, by="attributes")
    assert e.question == "why_not"
    assert e.rank_after is None or e.rank_after <= K
    assert len(x.explain_all(["u00", "u01"], 3, by="attributes")) == 6


def test_what_only_additive_effects_answer_is_refused() -> None:
    with pytest.raises(ConfigError, match="prefer must be 'decisive'"):
        asked().explain("u00", "i03", prefer="near")
