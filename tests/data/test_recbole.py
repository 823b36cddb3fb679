from __future__ import annotations

from pathlib import Path

import pytest

from cerec.data.dataset import Dataset
from cerec.data.load import load
from cerec.errors import DataError

FILES = {
    "d.inter": "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
    "7\t1\t3\t100\n8\t2\t4.5\t90\n",
    "d.item": "item_id:token\tmovie_title:token_seq\tclass:token_seq\tyear:token\tprice:float\n"
    "1\tToy Story\tAnimation Comedy\t1995\t3\n2\tHeat\tCrime\t1996\t5\n3\tOdd|one\t\t\t9\n",
    "d.link": "item_id:token\tentity_id:token\n1\tm.1\n2\tm.2\n99\tm.4\n",
    "d.kg": "head_id:token\trelation_id:token\ttail_id:token\n"
    "m.1\tfilm.film.actor\tm.9\nm.9\tfilm.actor.film\tm.2\nm.1\tfilm.film.sequel\tm.2\n"
    "m.9\tborn_in\t3\n",
    "d.user": "user_id:token\tage:token\n7\t24\n9\t30\n",
}


def read(path: Path, **changed: str) -> Dataset:
    for name, text in {**FILES, **{k.replace("_", "."): v for k, v in changed.items()}}.items():
        (path / name).write_text(text)
    return load(path)


def facts(data: Dataset) -> set[tuple[str, str, str]]:
    nodes, t = [*data.items, *data.entities], data.triples
    rows = zip(t.head.tolist(), t.relation.tolist(), t.tail.tolist(), strict=True)
    return {(nodes[h], data.relations[r], nodes[x]) for h, r, x in rows}


def test_a_small_folder_by_hand(tmp_path: Path) -> None:
    data = read(tmp_path)
    assert data.users.ids == ("7", "8", "9")
    assert data.items.names == ("Toy Story", "Heat", "Odd|one")
    assert data.interactions.rating is not None
    assert data.interactions.rating.tolist() == [3, 4.5]
    assert facts(data) == {
        ("1", "class", "class:Animation"),
        ("1", "class", "class:Comedy"),
        ("2", "class", "class:Crime"),
        ("1", "year", "year:1995"),
        ("2", "year", "year:1996"),
        ("1", "film.film.actor", "m.9"),
        ("2", "film.actor.film^-1", "m.9"),
        ("1", "film.film.sequel", "2"),
        ("1", "price", "price:3"),
        ("2", "price", "price:5"),
        ("3", "price", "price:9"),
        ("m.9", "born_in", "entity:3"),  # not linked, so not the item of that id
    }
    assert (
        dict(zip(data.relations, data.relations.names, strict=True))["film.film.actor"] == "actor"
    )
    said = "; ".join(data.notes)
    assert "1 links of unknown items" in said
    assert data.user_columns["age"].tolist() == ["24", "", "30"]


def test_float_columns_in_bins(tmp_path: Path) -> None:
    read(tmp_path)
    data = load(tmp_path, bins={"price": 2})
    assert {e for e in data.entities if e.startswith("price")} == {
        "price:below 4",
        "price:4 or more",
    }


def test_an_entity_of_two_items_gives_its_facts_to_both(tmp_path: Path) -> None:
    data = read(tmp_path, d_link="item_id:token\tentity_id:token\n1\tm.1\n2\tm.1\n")
    assert {h for h, r, _ in facts(data) if r == "film.film.actor"} == {"1", "2"}


def test_benchmark_parts(tmp_path: Path) -> None:
    for part, rows in {"train": "7\t1\n", "valid": "7\t2\n", "test": "8\t1\n"}.items():
        (tmp_path / f"d.{part}.inter").write_text("user_id:token\titem_id:token\n" + rows)
    data = load(tmp_path)
    assert data.interactions.part is not None
    assert data.interactions.part.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("d_inter", "user_id\titem_id\n1\t2\n", "d.inter:1: expected columns like"),
        ("d_inter", "user_id:token\titem_id:token\n1\n", "d.inter:2: expected 2 fields"),
        ("d_item", "item_id:token\tx:number\n1\t2\n", "d.item:1: expected columns like"),
        ("d_kg", "head_id:token\ttail_id:token\n1\t2\n", "d.kg: no column 'relation'"),
    ],
)
def test_damage_is_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, **{name: text})
    assert said in str(caught.value)


@pytest.mark.data
def test_movielens_has_the_published_figures(real_data: Path) -> None:
    data = load(real_data / "ml-100k", cache=False)
    assert (len(data.users), len(data.items), len(data.interactions)) == (943, 1_682, 100_000)
    columns = [data.relations.row(c) for c in ("class", "release_year")]
    graph = ~(data.triples.relation == columns[0]) & ~(data.triples.relation == columns[1])
    assert graph.sum() == 91_631
    own = {r.removesuffix("^-1") for r in data.relations} - {"class", "release_year"}
    assert len(own) == 24
    values = [e for e in data.entities if e.startswith(("class:", "release_year:"))]
    assert len(data.entities) - len(values) == 33_030
    assert "ml-100k.kg: 91,631 triples, 24 relations, 33,030 entities" in " ".join(data.notes)
