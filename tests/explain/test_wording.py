"""Words: labels, numbers, and templates that say the same of one row and of a column."""

from __future__ import annotations

import polars as pl
import pytest

from cerec.explain import wording as w
from cerec.explain.explanation import Named, Reason


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("http://dbpedia.org/ontology/musicalArtist", "musical artist"),
        ("also_bought", "also bought"),
        ("genre", "genre"),
        ("director (inverse)", "“director of”"),
        ("belongs_to", "“belongs to”"),
        ("IMDB_rating", "IMDB rating"),
    ],
)
def test_relations_as_words(text: str, label: str) -> None:
    assert w.relation_label(text) == label


def test_a_name_that_is_its_id_stands_alone() -> None:
    assert w.item_label("Rihanna", "Rihanna") == "Rihanna"
    assert w.item_label("42", "42") == "item 42"
    assert w.at_start("item 42") == "Item 42"
    assert w.at_start("iPod touch") == "iPod touch"


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.04, "almost none"), (1.0, "1"), (1.34, "1.3"), (9.94, "9.9"), (9.96, "10"), (31.4, "31")],
)
def test_numbers_of_things(x: float, text: str) -> None:
    assert w.number_text(x) == text


@pytest.mark.parametrize("templates", [w.OPENING, w.WHY, w.COUNTS, w.CHANGE, w.OUTCOME, w.GAINED])
def test_a_column_says_what_a_row_says(templates: tuple[str, ...]) -> None:
    names = {
        *("start", "rank", "k", "relation", "value", "relation2", "value2", "h1", "h2", "h3"),
        *(
            "count",
            "have",
            "of",
            "it",
            "usual",
            "e1",
            "e2",
            "gained_count",
            "gained_usual",
            "gained",
        ),
        *("before", "after", "more", "changes", "replacement"),
    }
    fields = {name: f"<{name} {{}}*>" for name in names}
    frame = pl.DataFrame({"code": range(len(templates))}).with_columns(
        **{name: pl.lit(text) for name, text in fields.items()}
    )
    column = frame.select(w.choice("code", templates)).to_series()
    assert column.to_list() == [w.fill(template, fields) for template in templates]


def test_nothing_is_marked_up() -> None:
    for templates in (w.OPENING, w.WHY, w.COUNTS, w.CHANGE, w.OUTCOME):
        assert not any("*" in t or "`" in t for t in templates)


def test_a_comparison_tells_the_parts_that_lead() -> None:
    parts = (
        Reason("value", 0.3, "x", "Synthpop", "g", "genre"),
        Reason("history", -0.1, "7", "Yazoo"),
    )
    names = Named("1", "Talk Talk"), Named("2", "2")
    text = w.compared(*names, 0.2, parts)
    assert text == "Talk Talk stands before item 2 by 0.2: mainly genre: Synthpop (+0.3)."
    assert "behind" in w.compared(*names, -0.2, parts)
