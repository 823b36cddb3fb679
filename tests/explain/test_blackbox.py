"""Recommenders that are asked for every score."""

from __future__ import annotations

import time

import numpy as np
import pytest
from explain_worlds import check_slowly, explainer, listed_pairs

from cerec.errors import ConfigError, DataError
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation

K = 6


def asked(slow: float = 0.0, curve: float = 0.0) -> Explainer:
    """An additive model as a function, bent by `curve` where an item has another set of values."""
    plain = explainer("factors")

    def rescore(user: str, item: str, pairs: list[tuple[str, str]]) -> float:
        time.sleep(slow)
        score = plain.rescore(user, item, pairs)
        return score - curve * abs(len(set(pairs) - set(plain.attributes(item))) - 1) * 0.001

    def at_home(user: str, item: str, pairs: list[tuple[str, str]]) -> float:
        if set(pairs) == set(plain.attributes(item)):
            return plain.rescore(user, item, pairs)
        return rescore(user, item, pairs)

    return Explainer(plain.data, plain.subject, rescore=at_home)


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


def test_time_ends_the_search() -> None:
    x = asked(slow=0.05)
    user, item = listed_pairs(x, K)[0]
    e = x.explain(user, item, k=K, by="attributes", budget=0.02)
    assert e.status in ("timed_out", "verified")
    assert e.seconds < 1.0
    if e.status == "timed_out":
        assert "The time allowed ended" in e.text


def test_why_not_and_tables() -> None:
    x = asked()
    other = x.data.items[int(x.listed(0, K + 3)[-1])]
    e = x.explain("u00", why_not=other, k=K, by="attributes")
    assert e.question == "why_not"
    assert e.rank_after is None or e.rank_after <= K
    assert len(x.explain_all(["u00", "u01"], 3, by="attributes")) == 6


def test_what_is_no_number_is_refused() -> None:
    plain = explainer("factors")
    x = Explainer(plain.data, plain.subject, rescore=lambda *_: float("nan"))
    with pytest.raises(DataError, match="not a number"):
        x.rescore("u00", "i03", [])
    with pytest.raises(ConfigError, match="prefer must be 'decisive'"):
        x.explain("u00", "i03", prefer="near")
    assert np.isfinite(plain.rescore("u00", "i03", []))
