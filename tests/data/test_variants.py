"""Tables as people have them: read without editing a file, or refused with the remedy."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cerec.data.check import check
from cerec.data.columns import plain
from cerec.data.dataset import Dataset
from cerec.data.load import load, parse_options
from cerec.data.values import Guess, guess, ranges
from cerec.data.writer import write
from cerec.errors import ConfigError, DataError

INTERACTIONS = "user,item\nann,1\nann,2\nbob,2\nbob,3\ncy,4\n"
ITEMS = (
    "item,name,genre\n1,Heat,Crime|Drama\n2,Alien,Horror|Crime\n3,Big,Drama|Comedy\n4,Jaws,Horror\n"
)
PRICED = "item,price\n" + "".join(f"{i},{i * 3.5}\n" for i in range(1, 41))


def folder_of(path: Path, files: dict[str, str | bytes]) -> Path:
    path.mkdir(exist_ok=True)
    for name, content in files.items():
        (path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def wanted(tmp_path: Path) -> Dataset:
    return load(folder_of(tmp_path / "w", {"interactions.csv": INTERACTIONS, "items.csv": ITEMS}))


def changed(old: str, new: str) -> dict[str, str | bytes]:
    return {
        "interactions.csv": INTERACTIONS.replace(old, new),
        "items.csv": ITEMS.replace(old, new),
    }


VARIANTS: dict[str, dict[str, str | bytes]] = {
    "capital headers": {
        "Interactions.csv": INTERACTIONS.replace("user,item", "User ID,Item_ID"),
        "ITEMS.CSV": ITEMS.replace("item,name", "ItemId,Title"),
    },
    "other names": {
        "ratings.csv": INTERACTIONS.replace("user,item", "userId,movieId"),
        "movies.csv": ITEMS.replace("item,name", "movieId,title"),
    },
    "semicolons": changed(",", ";"),
    "tabs": {
        "events.tsv": INTERACTIONS.replace(",", "\t"),
        "items.tsv": ITEMS.replace(",", "\t"),
    },
    "JSON lists": {
        "interactions.csv": INTERACTIONS,
        "items.csv": 'item;name;genre\n1;Heat;["Crime", "Drama"]\n2;Alien;["Horror", "Crime"]\n'
        "3;Big;['Drama', 'Comedy']\n4;Jaws;[\"Horror\"]\n",
    },
    "comma lists": {
        "interactions.csv": INTERACTIONS,
        "items.csv": 'item,name,genre\n1,Heat,"Crime, Drama"\n2,Alien,"Horror, Crime"\n'
        '3,Big,"Drama, Comedy"\n4,Jaws,Horror\n',
    },
    "missing marks": {
        "interactions.csv": INTERACTIONS,
        "items.csv": ITEMS.replace("genre\n", "genre,mood,tone\n")
        .replace("Drama\n", "Drama,N/A,-\n")
        .replace("Horror|Crime\n", "Horror|Crime,NULL,\n")
        .replace("Comedy\n", "Comedy,,NaN\n")
        .replace("Horror\n", "Horror,n/a,--\n"),
    },
    "an extra file": {
        "interactions.csv": INTERACTIONS, "items.csv": ITEMS, "prices.xlsx": b"PK", "README": "",
    },
    "BOM and CRLF, packed": {
        "interactions.csv.gz": gzip.compress(
            b"\xef\xbb\xbf" + INTERACTIONS.replace("\n", "\r\n").encode()
        ),
        "items.csv": ITEMS.replace("\n", "\r\n"),
    },
    "quoted": changed("ann", '"ann"'),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_are_read_as_they_are(tmp_path: Path, wanted: Dataset, name: str) -> None:
    data = load(folder_of(tmp_path / "v", VARIANTS[name]))
    assert data.users.ids == wanted.users.ids
    assert data.items == wanted.items
    assert data.interactions.user.tolist() == wanted.interactions.user.tolist()
    said = {e.replace("Genre", "genre") for e in data.entities}
    assert said == set(wanted.entities)
    assert len(data.triples) == len(wanted.triples)


def test_what_was_done_is_said(tmp_path: Path) -> None:
    notes = {n: load(folder_of(tmp_path / n, VARIANTS[n])).notes for n in VARIANTS}
    assert notes["an extra file"] == ("not read: prices.xlsx",)
    assert any("separated by ','" in n for n in notes["comma lists"])
    assert (
        "items.csv: column 'mood': 3 cells hold 'N/A', 'NULL', 'n/a': missing"
        in (notes["missing marks"])
    )


def test_columns_of_any_name_and_a_delimiter_of_any_sign(tmp_path: Path) -> None:
    files = {"interactions.csv": "who~what~when\nann~1~2024-01-02\n", "items.csv": "what~g\n1~x\n"}
    folder = folder_of(tmp_path / "a", dict(files))
    with pytest.raises(DataError, match="no column 'user', got 'who~what~when'"):
        load(folder)
    options = parse_options([], columns="user=who,item=what,timestamp=when", delimiter="~")
    data = load(folder, **options)
    assert (data.users.ids, data.items.ids, data.entities.ids) == (("ann",), ("1",), ("g:x",))
    with pytest.raises(DataError, match="no table has 'hwo' to take as user; there is 'who'"):
        load(folder, columns={"user": "hwo"}, delimiter="~")
    with pytest.raises(ConfigError, match="no role 'usr'"):
        load(folder, columns={"usr": "who"}, delimiter="~")
    with pytest.raises(ConfigError, match="delimiter must be one character"):
        load(folder, delimiter="~~")


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("1970-01-02", 86400),
        ("1970/01/02", 86400),
        ("1970-01-02T00:00:10Z", 86410),
        ("1970-01-02 01:00:00+01:00", 86400),
        ("1700000000", 1.7e9),
        ("1700000000000", 1.7e9),
        ("1700000000000000", 1.7e9),
    ],
)
def test_dates_and_epochs_become_seconds(tmp_path: Path, cell: str, seconds: float) -> None:
    data = load(folder_of(tmp_path, {"interactions.csv": f"user,item,Date\na,1,{cell}\n"}))
    assert data.interactions.time is not None
    assert data.interactions.time.tolist() == [seconds]
    assert "'Date' when it was" in data.notes[0]


def test_a_date_that_can_be_read_two_ways_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"interactions.csv": "user,item,date\na,1,01/02/2024\n"})
    with pytest.raises(DataError, match="a date like 2024-05-31 as date, got '01/02/2024'"):
        load(folder)


@pytest.mark.parametrize("header", ["rating", "plays", "Count", "weight"])
def test_weights_of_interactions(tmp_path: Path, header: str) -> None:
    data = load(folder_of(tmp_path, {"plays.csv": f"user;track_id;{header}\na;1;3,5\n"}))
    assert data.interactions.rating is not None
    assert data.interactions.rating.tolist() == [3.5]
    assert f"{header!r} is how much an interaction weighs" in data.notes[0]


def test_numbers_become_ranges_and_codes_do_not(tmp_path: Path) -> None:
    shop = "".join(f"{i},{i},{1960 + i},1999-01-{i % 28 + 1:02}\n" for i in range(1, 41))
    folder = folder_of(
        tmp_path,
        {"interactions.csv": "user,item\na,1\n", "items.csv": f"item,shop_id,year,out\n{shop}"},
    )
    data = load(folder, bins={"out": 0})
    values = {e for e in data.entities if e.startswith("year")}
    assert values == {"year:1960s", "year:1970s", "year:1980s", "year:1990s", "year:2000s"}
    assert len([e for e in data.entities if e.startswith("shop_id")]) == 40
    assert len([e for e in data.entities if e.startswith("out")]) == 28
    assert any("numbers 1961 to 2000 put into 5 ranges (bins=year:0" in n for n in data.notes)


def test_prices_in_round_ranges(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"interactions.csv": "user,item\na,1\n", "items.csv": PRICED})
    data = load(folder)
    assert set(data.entities.names) == {
        "below 20", "20 to 40", "40 to 80", "80 to 100", "100 to 120", "120 or more",
    }  # fmt: skip
    assert len(load(folder, bins={"price": 0}).entities) == 40
    back = load(write(data, tmp_path / "back"))
    assert back == data
    assert "price" not in " ".join(back.notes)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.integers(2, 9))
def test_ranges_keep_the_order_of_numbers(values: list[float], most: int) -> None:
    labels = ranges(np.array(values), most)
    ranked = [labels[k] for k in np.argsort(values, kind="stable")]
    changes = sum(a != b for a, b in pairwise(ranked))
    assert changes == len(set(labels)) - 1 <= most - 1


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["Drama, Crime", "Crime", "Drama"], Guess(",")),
        (["Smith, John", "Smith, Anna", "Jones, John", "Jones, Anna"], Guess("", sure=False)),
        (["A man, a plan, a canal", "Once, upon"], Guess("")),
        (["1,299", "2,299", "5"], Guess("")),
        (["a;b", "b;a", "b"], Guess(";")),
        (["a|b, c"], Guess("|")),
        (["plain"], Guess("")),
    ],
)
def test_lists_are_recognised_by_parts_that_return(cells: list[str], said: Guess) -> None:
    assert guess(cells) == said


def test_lists_can_be_said_and_damaged_ones_are_named(tmp_path: Path) -> None:
    names = 'item,by\n1,"Smith, John"\n2,"Smith, Anna"\n3,"Jones, John"\n4,"Jones, Anna"\n'
    folder = folder_of(tmp_path, {"interactions.csv": INTERACTIONS, "items.csv": names})
    assert len(load(folder).entities) == 4
    finding = check(load(folder)).find("unclear_lists")
    assert finding is not None
    assert "lists=by:comma" in finding.remedy
    assert len(load(folder, lists={"by": "comma"}).entities) == 4
    assert "by:Smith" in load(folder, lists={"by": "comma"}).entities
    with pytest.raises(ConfigError, match="lists of 'by' must be one of"):
        load(folder, lists={"by": "dots"})
    (folder / "items.csv").write_text('item;g\n1;["a"]\n2;["b"]\n3;["c\n')
    with pytest.raises(DataError, match=r"items.csv:4: expected a list like"):
        load(folder)


def test_an_item_without_an_id_and_a_null_user_are_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"interactions.csv": "user,item\nann,1\nNULL,1\n"})
    with pytest.raises(DataError, match=r"interactions.csv:3: expected an id as user, got 'NULL'"):
        load(folder)


def test_a_folder_of_other_names(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"export.csv": INTERACTIONS, "stock.csv": ITEMS})
    with pytest.raises(DataError, match="interactions=FILE"):
        load(folder)
    data = load(folder, format="tables", interactions="export.csv", items="stock.csv")
    assert len(data.entities) == 4
    with pytest.raises(ConfigError, match="no such file to take as items"):
        load(folder, format="tables", interactions="export.csv", items="shop.csv")


def test_columns_of_users_are_ranged_and_come_back(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n + 18},{'-' if n % 2 else 'NL'}\n" for n in range(30))
    files = {
        "interactions.csv": "user,item\n1,1\n",
        "customers.csv": f"customer_id,age,land\n{rows}",
    }
    data = load(folder_of(tmp_path / "a", dict(files)))
    assert set(data.user_columns["land"].tolist()) == {"", "NL"}
    assert len(set(data.user_columns["age"].tolist())) == 6
    for form in ("tables", "parquet"):
        assert load(write(data, tmp_path / form, form)) == data


@given(st.text(max_size=8))
def test_headers_are_compared_without_signs(header: str) -> None:
    assert plain(header.upper()) in (plain(header), plain(header.upper()))
    assert plain("User ID") == plain("user_id") == plain("userId") == "userid"
