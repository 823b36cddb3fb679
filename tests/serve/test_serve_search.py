"""Finding rows by id or name."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cerec.serve.search import Index, fold


def test_order_by_hand() -> None:
    ids = ["1", "2", "3", "4", "heat"]
    names = ["White Heat", "Heat", "Cheat", "Heathers", "Other"]
    index = Index(ids, names, np.array([5, 1, 9, 7, 0]))
    # the id itself, then names that begin so (by weight), a word that begins so, anywhere
    assert index.find("heat") == [4, 3, 1, 0, 2]
    assert index.find("zzz") == []


def test_empty_query_lists_all_by_weight_then_row() -> None:
    assert Index(["a", "b", "c"], ["", "", ""], np.array([1, 3, 1])).find(" ") == [1, 0, 2]


def test_case_and_accents_do_not_matter() -> None:
    index = Index(["1", "2"], ["Amélie", "ΑΘΗΝΑ"], np.array([1, 1]))
    assert index.find("AMELIE") == [0]
    assert index.find("αθηνα") == [1]


def test_names_of_other_scripts_are_found() -> None:
    index = Index(["1", "2"], ["שלום עולם", "東京物語"], np.array([1, 1]))
    assert index.find("עולם") == [0]
    assert index.find("東京") == [1]


@given(st.lists(st.text(max_size=8), min_size=1, max_size=20), st.text(max_size=4))
def test_found_rows_hold_the_query_and_no_others(names: list[str], query: str) -> None:
    index = Index([f"#{n}" for n in range(len(names))], names, np.zeros(len(names), int))
    found = index.find(query)
    wanted = fold(query)
    holds = {
        n for n, name in enumerate(names) if wanted in fold(name) or f"#{n}".startswith(wanted)
    }
    assert set(found) == (holds if wanted else set(range(len(names))))
    assert len(found) == len(set(found))
