"""The value and its views: JSON, card, HTML."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

from explain_worlds import explainer, listed_pairs
from rich.console import Console

from cerec.explain.explanation import FORMAT, Explanation, Named, Step

K = 6


def shown(e: Explanation) -> str:
    out = StringIO()
    Console(file=out, width=120, force_terminal=False).print(e)
    return out.getvalue()


def answers() -> list[Explanation]:
    x = explainer("linear")
    pairs = listed_pairs(x, K)[:20]
    return list(x.explain_many(pairs, k=K, by="both", alternatives=1, relations=True))


def test_json_gives_back_an_equal_value() -> None:
    step = Step(*(Named(str(n), f"<{n}>") for n in range(5)))
    for e in answers():
        whole = replace(e, path=(step,), notes=("a note",), holds=0.5)
        plain = json.loads(whole.to_json())
        assert plain["format"] == FORMAT
        assert Explanation.from_dict(plain) == whole


def test_a_card_shows_bars_that_add_up() -> None:
    for e in answers():
        text = shown(e)
        assert "above the average item" in text
        assert e.status.replace("_", " ") in text
        if e.alternatives:
            assert "Another answer (2)" in text
        if e.by_relation:
            assert "alone" in text
        if e.beside is not None:
            assert "By your history" in text or "By its attributes" in text


def test_html_escapes_what_comes_from_data() -> None:
    e = next(e for e in answers() if e.found and e.changes)
    named = tuple(Named(n.id, f"<b>{n.id}") for n in e.names)
    evil = replace(
        e,
        names=named,
        text=f"<b>{e.item} is at rank 1.",
        changes=tuple(replace(c, after_name="<script>") for c in e.changes),
        notes=("<i>",),
    )
    html = evil._repr_html_()
    assert "<script>" not in html
    assert "<b>i" not in html
    assert "&lt;i&gt;" in html
    assert "above the average item" in html


def test_text_is_what_printing_shows() -> None:
    e = answers()[0]
    assert str(e) == e.text
    assert "*" not in e.text
