"""The value and its views: JSON, sentence, card, HTML."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from explain_worlds import random_explainer
from rich.console import Console

from cerec.explain.explanation import Change, Explanation, Named, Step
from cerec.explain.wording import sentence

DIRECTOR = Change("d", "mm", "jb", "director", "Michael Mann", "Jan de Bont")
HEAT = Explanation(
    user="7",
    item="6",
    k=20,
    status="verified",
    counterfactual_item="8",
    replacement="9",
    changes=(DIRECTOR,),
    path=(
        Step(
            Named("6", "Heat"),
            Named("g", "genre"),
            Named("a", "action"),
            Named("g", "genre"),
            Named("8", "Speed"),
        ),
    ),
    rank_before=4,
    rank_after=31,
    score_before=1.5,
    score_after=0.1 + 0.2,
    cutoff=0.7,
    certificate="minimum",
    text="",
    seconds=0.001,
    names=(Named("7", "7"), Named("6", "Heat"), Named("8", "Speed"), Named("9", "Ronin")),
    target=(("d", "jb"), ("g", "action")),
)


def said(*changes: Change, **fields: Any) -> str:
    return sentence(replace(HEAT, changes=changes or HEAT.changes, **fields))


def test_the_sentence_of_the_brief() -> None:
    assert said() == (
        "*Heat* is in your top 20 at rank 4. Had its director been Jan de Bont instead of "
        "Michael Mann, it would have fallen to rank 31 and *Ronin* would have come in."
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            [Change("g", None, "war", "genre", values_before=0)],
            "Had its genre been war, it",
        ),
        (
            [Change("g", None, "war", "genre", values_before=2)],
            "Had its genre also included war, it",
        ),
        (
            [Change("g", "war", None, "genre", values_before=2)],
            "Had its genre not included war, it",
        ),
        (
            [Change("g", x, None, "genre", values_before=3) for x in ("a", "b", "c")],
            "Had its genre not included a, b or c, it",
        ),
        (
            [Change("s", "a", "x", "starring", values_before=3)],
            "Had its starring included x instead of a, it",
        ),
        (
            [Change("s", a, b, "starring", values_before=2) for a, b in ("ax", "by")],
            "Had its starring been x and y instead of a and b, it",
        ),
        (
            [
                DIRECTOR,
                Change("g", None, "war", "genre", values_before=1),
            ],
            "Had its director been Jan de Bont instead of Michael Mann and its genre also "
            "included war, it",
        ),
        (
            [
                Change("s", "a", "x", "starring", values_before=3),
                Change("s", "b", None, "starring", values_before=3),
                DIRECTOR,
            ],
            "Had its starring included x instead of a, and not included b; and its director been "
            "Jan de Bont instead of Michael Mann, it",
        ),
    ],
)
def test_sentences_are_grammatical(changes: list[Change], words: str) -> None:
    assert words in said(*changes)


def test_many_changes_are_counted() -> None:
    subjects = [Change("s", f"a{n}", f"b{n}", "subject", values_before=9) for n in range(6)]
    text = said(DIRECTOR, *subjects)
    assert (
        "Had 7 of its attributes been more like those of *Speed* (6 values of its subject and "
        "its director), it would have fallen" in text
    )


def test_an_inverse_relation_reads_as_one() -> None:
    change = Change("w^-1", None, "rz", "notable work (inverse)", None, "Zemeckis", 0)
    assert "Had its “notable work of” been Zemeckis, it" in said(change)


def test_missing_names_and_addresses_read_well() -> None:
    names = (Named("7", "7"), Named("6", "6"), Named("9", "9"))
    bare = Change("http://dbpedia.org/ontology/musicComposer", "m.01", "m.02")
    text = said(bare, names=names)
    assert text == (
        "Item 6 is in your top 20 at rank 4. Had its music composer been m.02 instead of m.01, "
        "it would have fallen to rank 31 and item 9 would have come in."
    )


def test_other_outcomes_claim_nothing() -> None:
    empty: dict[str, Any] = {"changes": (), "rank_after": None, "score_after": None}
    for status, words in {
        "not_found": "No allowed change of its attributes, towards any item tried",
        "timed_out": "The time allowed ended",
        "no_attributes": "Nothing is known of its attributes",
    }.items():
        text = sentence(replace(HEAT, status=status, **empty))  # type: ignore[arg-type]
        assert words in text
        assert "Had" not in text
    away = sentence(replace(HEAT, status="not_recommended", rank_before=40, **empty))
    assert away == "*Heat* is not in your top 20: it is at rank 40."
    known = sentence(replace(HEAT, status="not_recommended", rank_before=None, **empty))
    assert known == "*Heat* is not recommended to you: you have it already."
    full = sentence(replace(HEAT, status="not_found", replacement=None, **empty))
    assert "holds every item" in full


def test_why_not_lifts_and_fitted_effects_are_named() -> None:
    text = said(question="why_not", rank_before=31, rank_after=18, fidelity=0.614)
    assert text == (
        "*Heat* is not in your top 20: it is at rank 31. Had its director been Jan de Bont "
        "instead of Michael Mann, it would have risen to rank 18 and *Ronin* would have dropped "
        "out. (By attribute effects fitted to this recommender; held-out R² 0.61.)"
    )
    assert "held-out R² below 0: they say nothing of it.)" in said(fidelity=-0.04)


def test_json_round_trips_exactly() -> None:
    for e in (HEAT, replace(HEAT, alternatives=(replace(HEAT, bound=1),), fidelity=0.25)):
        assert Explanation.from_dict(e.to_dict()) == e
        assert Explanation.from_dict(json.loads(e.to_json())) == e
    explainer = random_explainer(0)
    for row in explainer.listed(0, 5):
        e = explainer.explain("u00", explainer.data.items[int(row)], k=5, alternatives=2)
        assert Explanation.from_dict(json.loads(e.to_json())) == e


def test_the_card_shows_changes_path_and_check() -> None:
    console = Console(width=100, record=True, file=StringIO())
    console.print(replace(HEAT, text=said()))
    text = console.export_text()
    for words in (
        "Why Heat?",
        "Michael Mann",
        "→",
        "Heat —genre→ action ←genre— Speed",
        "no fewer changes towards Speed",
    ):
        assert words in text


def test_names_may_hold_asterisks_and_markup() -> None:
    names = (Named("7", "7"), Named("6", "M*A*S*H <b>"), *HEAT.names[2:])
    e = replace(HEAT, names=names)
    e = replace(e, text=sentence(e))
    html = e._repr_html_()
    assert "<em>M*A*S*H &lt;b&gt;</em> is in your top 20" in html
    assert "<b>" not in html.replace("→ <b>", "")
    console = Console(width=100, record=True, file=StringIO())
    console.print(e)
    assert "M*A*S*H <b> is in your top 20" in console.export_text()
