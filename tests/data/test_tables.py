from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from cerec.data.dataset import Dataset
from cerec.data.load import load
from cerec.errors import ConfigError, DataError

INTERACTIONS = "user,item,rating,timestamp\nann,1,5,10\nbob,2,3.5,11\nbob,1,2,12\n"
ITEMS = 'item,name,genre,year\n1,Heat,Crime|Drama,1995\n2,"Say ""hi"", now",Drama,1960\n3,New,,\n'


def write(path: Path, **tables: str) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in tables.items():
        (path / f"{name}.csv").write_bytes(text.encode())
    return path


def test_two_tables_by_hand(tmp_path: Path) -> None:
    data = load(write(tmp_path, interactions=INTERACTIONS, items=ITEMS))
    assert data.users.ids == ("ann", "bob")
    assert data.items.ids == ("1", "2", "3")
    assert data.items.names == ("Heat", 'Say "hi", now', "New")
    assert data.entities.ids == ("genre:Crime", "genre:Drama", "year:1960", "year:1995")
    assert data.entities.names == ("Crime", "Drama", "1960", "1995")
    assert data.relations.ids == ("genre", "year")
    i, t = data.interactions, data.triples
    assert i.rating is not None
    assert i.time is not None
    assert (i.user.tolist(), i.item.tolist()) == ([0, 1, 1], [0, 0, 1])
    assert (i.rating.tolist(), i.time.tolist()) == ([5, 2, 3.5], [10, 12, 11])
    assert list(zip(t.head.tolist(), t.relation.tolist(), t.tail.tolist(), strict=True)) == [
        (0, 0, 3), (0, 0, 4), (0, 1, 6), (1, 0, 4), (1, 1, 5),
    ]  # fmt: skip


def test_listed_entities_triples_and_names(tmp_path: Path) -> None:
    data = load(
        write(
            tmp_path,
            interactions=INTERACTIONS,
            items=ITEMS,
            entities="entity,name\nDrama,Drama (film)\nx,Unused\n",
            triples="head,relation,tail\ngenre:Crime,kind_of,Drama\nDrama,told_in,3\n1,sequel,2\n",
            users="user,name\nann,Ann\nzoe,Zoe\n",
        )
    )
    assert data.users.names == ("Ann", "bob", "Zoe")
    assert data.entities.ids == ("Drama", "genre:Crime", "x", "year:1960", "year:1995")
    assert data.entities.names[:3] == ("Drama (film)", "Crime", "Unused")
    assert data.relations.ids == ("genre", "kind_of", "sequel", "told_in^-1", "year")
    assert data.relations.names[3] == "told in (inverse)"


def test_parts_in_files_of_their_own(tmp_path: Path) -> None:
    data = load(write(tmp_path, train="user,item\na,1\n", test="user,item\na,2\nb,1\n"))
    assert data.interactions.part is not None
    assert data.interactions.part.tolist() == [0, 2, 2]


def test_bins_are_ranges_with_round_edges(tmp_path: Path) -> None:
    items = "item,price\n" + "".join(f"{i},{p}\n" for i, p in enumerate([1, 2, 3, 4.5, 5, "", 6]))
    folder = write(tmp_path, interactions="user,item\na,0\n", items=items)
    data = load(folder, bins={"price": 3})
    assert data.entities.ids == ("price:2 to 4", "price:4 or more", "price:below 2")


def test_crlf_tabs_and_byte_order_mark(tmp_path: Path) -> None:
    plain = load(write(tmp_path / "a", interactions=INTERACTIONS, items=ITEMS))
    other = tmp_path / "b"
    other.mkdir()
    text = INTERACTIONS.replace(",", "\t").replace("\n", "\r\n")
    (other / "interactions.tsv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (other / "items.csv").write_text(ITEMS)
    assert load(other) == plain


def test_dates_become_seconds(tmp_path: Path) -> None:
    data = load(write(tmp_path, interactions="user,item,time\na,1,1970-01-02\na,2,1970-01-03\n"))
    assert data.interactions.time is not None
    assert data.interactions.time.tolist() == [86400, 172800]


def test_pandas_and_polars_frames_agree_with_files(tmp_path: Path) -> None:
    data = load(write(tmp_path, interactions=INTERACTIONS, items=ITEMS))
    pairs = {
        "user": ["ann", "bob", "bob"],
        "item": [1, 2, 1],
        "rating": [5.0, 3.5, 2.0],
        "timestamp": [10, 11, 12],
    }
    items = {
        "item": [1, 2, 3],
        "name": ["Heat", 'Say "hi", now', "New"],
        "genre": ["Crime|Drama", "Drama", None],
        "year": [1995, 1960, None],
    }
    assert Dataset.from_frames(pl.DataFrame(pairs), pl.DataFrame(items)) == data
    assert Dataset.from_frames(pd.DataFrame(pairs), pd.DataFrame(items)) == data
    items["genre"] = [["Crime", "Drama"], ["Drama"], None]
    assert Dataset.from_frames(pd.DataFrame(pairs), pd.DataFrame(items)) == data
    assert Dataset.from_frames(pairs, items) == data


@pytest.mark.parametrize(
    ("table", "text", "said"),
    [
        ("interactions", "user,item\na,1\nb\n", "interactions.csv:3: expected 2 fields"),
        ("interactions", 'user,item\n"a\n', "interactions.csv:2: expected a closing quote"),
        ("interactions", 'user,item\n"a"b,1\n', "interactions.csv:2: ',' expected after '\"', got"),
        ("interactions", "user,item,rating\na,1,x\n", "interactions.csv:2: expected a finite"),
        ("interactions", "user,item,rating\n\na,1,nan\n", "interactions.csv:3: expected a finite"),
        ("interactions", "user,item,rating\na,1,1e99\n", "interactions.csv:2: expected a finite"),
        ("interactions", "user,item\na,1\n,2\n", "interactions.csv:3: expected an id as user, got"),
        ("interactions", "user,thing\na,1\n", "interactions.csv: no column 'item', got 'user'"),
        ("interactions", "user,item,item\na,1,1\n", "interactions.csv:1: column 'item' stands"),
        ("interactions", "", "interactions.csv: is empty"),
        ("interactions", "user,item\n", "no interactions"),
        ("interactions", "user,item,part\na,1,dev\n", "interactions.csv:2: expected train, valid"),
        ("items", "item,name\n1,a\n1,b\n", "items.csv:3: expected every item once, got '1'"),
        ("triples", "head,relation,tail\n1,,2\n", "triples.csv:2: expected an id as relation"),
    ],
)  # fmt: skip
def test_damage_is_named(tmp_path: Path, table: str, text: str, said: str) -> None:
    folder = write(tmp_path, **{"interactions": INTERACTIONS, table: text})
    with pytest.raises(DataError) as caught:
        load(folder)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_options_and_formats_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, interactions=INTERACTIONS)
    with pytest.raises(ConfigError, match="did you mean 'bins'"):
        load(folder, bin={"a": 1})
    with pytest.raises(ConfigError, match="format must be one of"):
        load(folder, format="xml")
    with pytest.raises(DataError, match="no known format"):
        load(write(tmp_path / "empty"))
    with pytest.raises(DataError, match="no such folder"):
        load(tmp_path / "absent")
