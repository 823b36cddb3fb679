"""The report on data: every finding on data made to have it, none on clean data."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hand import dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.check import check
from cerec.data.dataset import TEST, TRAIN, VALID, Dataset, Interactions
from cerec.data.findings import SEVERITIES
from cerec.data.split import split
from cerec.data.synthetic.generate import checkerboard, demo

FACTS = [
    ("a", "genre", "war"),
    ("b", "genre", "war"),
    ("b", "genre", "noir"),
    ("c", "genre", "noir"),
]
PAIRS = [("u", "a"), ("u", "b"), ("v", "b"), ("v", "c")]


def kinds(report) -> list[str]:
    return [f.kind for f in report.findings]


def test_clean_data_has_no_findings() -> None:
    report = check(dataset(PAIRS, FACTS))
    assert kinds(report) == []
    assert report.usable


def test_figures_by_hand() -> None:
    report = check(dataset([*PAIRS, ("u", "a")], [*FACTS, ("war", "like", "noir")]))
    assert report.figures == {
        "users": 2,
        "items": 3,
        "interactions": 4,
        "entities": 2,
        "relations": 2,
        "triples": 5,
        "rows": 5,
        "density": 4 / 6,
        "values": 2,
        "facts_of_items": 4,
    }
    by_kind = {q.of: q for q in report.degrees}
    assert by_kind["items of a user"].median == 2
    assert (by_kind["values of an item"].least, by_kind["values of an item"].most) == (1, 2)
    assert by_kind["users of an item"].mean == 1.33
    genre, like = report.relations
    assert (genre.id, genre.triples, genre.items, genre.values) == ("genre", 4, 3, 2)
    assert genre.example == "b -> noir"
    assert (like.items, like.example) == (0, "war -> noir")
    assert report.find("duplicate_interactions").count == 1


def test_a_leak_is_reported_with_its_share() -> None:
    pairs = [("u", "a"), ("u", "a"), ("u", "b"), ("v", "b"), ("v", "c")]
    report = check(dataset(pairs, FACTS, part=[TRAIN, TEST, TEST, TRAIN, VALID]))
    leak = report.find("leak")
    assert (leak.severity, leak.count, leak.share) == ("warning", 1, 0.5)
    assert leak.examples == ("u - a",)
    assert "1 pairs stand in both train and test (50.0% of test)" in leak.what
    assert report.find("leak_valid") is None
    assert report.figures["test_pairs"] == 2


def test_a_leak_into_validation_has_a_name_of_its_own() -> None:
    report = check(dataset([("u", "a"), ("u", "a")], FACTS[:1], part=[TRAIN, VALID]))
    assert report.find("leak_valid").count == 1


def test_users_without_train_items() -> None:
    report = check(dataset(PAIRS, FACTS, part=[TRAIN, TRAIN, TEST, TEST]))
    found = report.find("users_without_train")
    assert (found.count, found.examples) == (1, ("v",))
    assert report.find("test_items_without_train").examples == ("c",)


def test_data_without_train_cannot_be_used() -> None:
    report = check(dataset(PAIRS, FACTS, part=[TEST] * 4))
    assert kinds(report)[0] == "no_train"
    assert not report.usable


def test_data_without_interactions_cannot_be_used() -> None:
    data = dataset(PAIRS, FACTS)
    none = np.zeros(0, np.int32)
    report = check(replace(data, interactions=Interactions(none, none)))
    assert kinds(report)[0] == "no_interactions"
    assert not report.usable


def test_a_split_is_checked_in_place_of_the_given_parts() -> None:
    data = demo()
    report = check(data, split(data, seed=0))
    assert report.figures["train_pairs"] + report.figures["valid_pairs"] + report.figures[
        "test_pairs"
    ] == len(data.interactions)
    assert report.find("leak") is None
    assert report.find("users_without_train") is None


def test_items_without_attributes() -> None:
    found = check(dataset([*PAIRS, ("v", "d")], FACTS)).find("items_without_attributes")
    assert (found.severity, found.count, found.examples) == ("warning", 1, ("d",))


def test_no_facts_at_all() -> None:
    report = check(dataset(PAIRS))
    assert kinds(report) == ["no_facts"]
    assert report.usable


def test_values_that_say_nothing() -> None:
    facts = [*FACTS, *((i, "kind", "film") for i in "abc"), ("a", "actor", "ada")]
    report = check(dataset(PAIRS, facts))
    assert report.find("values_on_one_item").examples == ("actor: ada",)
    hubs = report.find("hub_values")
    assert (hubs.severity, hubs.examples) == ("warning", ("kind: film",))


def test_relations_like_ids_and_computed_ones() -> None:
    items = [f"i{n:02}" for n in range(40)]
    facts = [(i, "url", f"www.{i}") for i in items]
    facts += [(i, "kind", "x" if n % 2 else "y") for n, i in enumerate(items)]
    facts += [("i03", "award", "prize"), ("i04", "also_bought", "z")]
    report = check(dataset([("u", i) for i in items], facts))
    assert "'url'" in report.find("ids_in_disguise").what
    assert report.find("computed_relations").remedy.endswith("['also_bought'].")
    ranks = [SEVERITIES.index(f.severity) for f in report.findings]
    assert ranks == sorted(ranks)


def test_items_of_one_name() -> None:
    pairs, items = {"user": ["u", "u"], "item": [1, 2]}, {"item": [1, 2], "name": ["It", "It"]}
    found = check(Dataset.from_frames(pairs, items)).find("duplicate_names")
    assert (found.count, found.examples) == (2, ("It", "It"))


def test_inverse_relations() -> None:
    data = dataset(PAIRS, [*FACTS, ("a", "sequel", "b"), ("b", "prequel", "a")])
    report = check(data)
    assert report.find("inverse_relations").examples == ("prequel = sequel",)


def test_ids_without_interactions() -> None:
    data = dataset(PAIRS, FACTS, users=["w"], items=["d"], entities=["nobody"])
    report = check(data)
    assert report.find("users_without_interactions").examples == ("w",)
    assert report.find("items_without_interactions").examples == ("d",)


def test_worst_first() -> None:
    report = check(dataset([*PAIRS, ("w", "d")], FACTS, part=[TEST] * 5))
    order = [SEVERITIES.index(f.severity) for f in report.findings]
    assert order == sorted(order)
    assert len(set(order)) > 1


def test_the_report_is_json() -> None:
    for data in (demo(), checkerboard(6), dataset(PAIRS)):
        text = json.dumps(check(data).to_dict(), allow_nan=False)
        assert json.loads(text)["usable"] is True


def test_every_finding_says_what_to_do() -> None:
    report = check(dataset([*PAIRS, ("w", "d")], FACTS, part=[TEST] * 5, entities=["x"]))
    assert len(report.findings) > 3
    assert all(f.remedy and f.what.endswith(".") for f in report.findings)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("uvw"), st.sampled_from("abc"), st.sampled_from([0, 1, 2])),
        min_size=1,
        max_size=20,
    )
)
def test_the_leak_is_the_slow_intersection(rows) -> None:
    report = check(dataset([(u, i) for u, i, _ in rows], FACTS, part=[p for *_, p in rows]))
    part = [{(u, i) for u, i, p in rows if p == code} for code in (TRAIN, VALID, TEST)]
    for kind, held in (("leak_valid", part[1]), ("leak", part[2])):
        found = report.find(kind)
        assert (found.count if found else 0) == len(part[0] & held)
    without = {u for u, _, _ in rows} - {u for u, _ in part[0]}
    found = report.find("users_without_train")
    assert (found.count if found else 0) == len(without)
    assert report.usable == bool(part[0])


@pytest.mark.parametrize("n", [4, 7])
def test_a_checkerboard_is_clean_but_for_its_split(n: int) -> None:
    report = check(checkerboard(n))
    assert report.find("leak") is None
    assert report.usable
