from __future__ import annotations

import datetime as dt

import pandas as pd
import polars as pl
import pytest

from cerec.data.dataset import Dataset
from cerec.errors import DataError


def test_pandas_types_of_all_kinds() -> None:
    pairs = pd.DataFrame(
        {
            "user": pd.Categorical(["a", "b"]),
            "item": pd.array([1, 2], dtype="Int64"),
            "rating": pd.array([4, 5], dtype="Float64"),
            "timestamp": pd.to_datetime(["1970-01-02", "1970-01-03"]),
        }
    )
    items = pd.DataFrame(
        {
            "item": ["1", "2"],
            "title": ["One", None],
            "year": pd.array([1990, None], dtype="Int64"),
            "tags": [{"x", "y"}, ("z",)],
            "vegan": [True, False],
        }
    )
    data = Dataset.from_frames(pairs, items)
    assert data.items.names == ("One", "2")
    assert data.interactions.time is not None
    assert data.interactions.time.tolist() == [86400, 172800]
    assert data.entities.ids == (
        "tags:x", "tags:y", "tags:z", "vegan:false", "vegan:true", "year:1990",
    )  # fmt: skip
    zoned = pairs.assign(timestamp=pairs["timestamp"].dt.tz_localize("UTC"))
    assert Dataset.from_frames(zoned, items) == data


def test_polars_types_of_all_kinds() -> None:
    pairs = pl.LazyFrame(
        {"user": [1.0, 2.0], "item": ["1", "2"], "time": [dt.date(1970, 1, 2), dt.date(1970, 1, 1)]}
    )
    data = Dataset.from_frames(pairs, pl.DataFrame({"item": [1, 2], "tags": [["x", "y"], []]}))
    assert data.users.ids == ("1", "2")
    assert data.interactions.time is not None
    assert data.interactions.time.tolist() == [86400, 0]
    assert data.entities.ids == ("tags:x", "tags:y")


def test_items_that_are_not_listed_are_kept_and_noted() -> None:
    data = Dataset.from_frames({"user": [1], "item": [7]}, {"item": [1], "genre": ["x"]})
    assert data.items.ids == ("1", "7")
    assert data.notes == ("1 items are not in items: kept without facts",)


def test_planted_truth_is_checked() -> None:
    frames = {"interactions": {"user": ["u"], "item": ["i"]}, "items": {"item": ["i"], "g": ["x"]}}
    row = {"user": ["u"], "relation": ["g"], "attribute": ["g:x"], "sign": [1]}
    data = Dataset.from_frames(**frames, planted=row)
    assert data.planted is not None
    assert data.planted.sign.tolist() == [1]
    for column, value in {"user": "v", "attribute": "x", "sign": 2}.items():
        with pytest.raises(DataError, match="planted, row 0"):
            Dataset.from_frames(**frames, planted={**row, column: [value]})


@pytest.mark.parametrize(
    ("interactions", "said"),
    [
        ([1, 2], "interactions: expected a frame"),
        ({"user": ["a"]}, "interactions: no column 'item'"),
        ({"user": ["a", None], "item": [1, 2]}, "interactions, row 1: expected an id as user"),
        ({"user": [["a"]], "item": [1]}, "expected one plain value a row in 'user'"),
        ({"user": ["a"], "item": [1], "rating": ["x"]}, "interactions, row 0: expected a finite"),
        ({"user": ["a"], "item": [1], "time": ["soon"]}, "interactions, row 0: expected a finite"),
    ],
)
def test_mistakes_are_named(interactions: object, said: str) -> None:
    with pytest.raises(DataError) as caught:
        Dataset.from_frames(interactions)
    assert said in str(caught.value)
