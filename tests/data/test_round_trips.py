from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies_data import permuted, worlds

from cerec.data.dataset import Dataset, Planted
from cerec.data.load import load
from cerec.data.writer import ENDINGS, write
from cerec.errors import CerecError, ConfigError, DataError

SMALL: dict[str, Any] = {
    "interactions": {
        "user": ["ann", "bob", "bob"],
        "item": ["1", "2", "2"],
        "rating": [5.0, 3.25, 3.25],
        "timestamp": [10.0, 11.5, 9.0],
        "part": ["train", "test", "train"],
    },
    "items": {
        "item": ["1", "2", "3"],
        "name": ["Heat", "Big\tcity\n", None],
        "genre": ["Crime|Drama", "Drama", None],
    },
    "users": {"user": ["zoe"], "name": ["Zoe"]},
    "entities": {"entity": ["Drama", "unused"], "name": ["Drama, the", None]},
    "relations": {"relation": ["genre", "never"], "name": ["kind", "never used"]},
    "triples": {"head": ["1", "Drama"], "relation": ["next", "near"], "tail": ["2", "genre:Crime"]},
}


def small() -> Dataset:
    planted = {"user": ["ann"], "relation": ["genre"], "attribute": ["Drama"], "sign": [-1]}
    return Dataset.from_frames(**SMALL, planted=planted)


def differences(a: Dataset, b: Dataset) -> list[str]:
    """What two datasets differ in, for a readable failure."""
    found = [
        name
        for name in ("users", "items", "entities", "relations")
        if getattr(a, name) != getattr(b, name)
    ]
    for name in ("interactions", "triples", "planted"):
        one, other = getattr(a, name), getattr(b, name)
        for column in one.__slots__ if one is not None and other is not None else ():
            x, y = getattr(one, column), getattr(other, column)
            if (x is None) != (y is None) or (x is not None and not np.array_equal(x, y)):
                found.append(f"{name}.{column}")
    return found


@pytest.mark.parametrize("format", ENDINGS)
def test_a_small_dataset_comes_back(tmp_path: Path, format: str) -> None:
    data = small()
    assert isinstance(data.planted, Planted)
    back = load(write(data, tmp_path / "out", format))
    assert differences(back, data) == []
    assert back == data
    assert back.relations.names == data.relations.names


def test_written_tables_are_pleasant(tmp_path: Path) -> None:
    write(small(), tmp_path / "out", "tables")
    read = {p.name: p.read_text() for p in (tmp_path / "out").iterdir()}
    assert read["interactions.csv"].splitlines()[:2] == [
        "user,item,rating,timestamp,part",
        "ann,1,5.0,10.0,train",
    ]
    assert read["items.csv"].splitlines()[:2] == ["item,name,genre", "1,Heat,Drama|Crime"]
    assert read["entities.csv"].splitlines() == [
        "entity,name", 'Drama,"Drama, the"', "unused,unused",
    ]  # fmt: skip
    assert read["triples.csv"].splitlines() == [
        "head,relation,tail", "1,next,2", "Drama,near,genre:Crime",
    ]  # fmt: skip


@settings(max_examples=25)
@given(worlds(), st.sampled_from(sorted(ENDINGS)), st.sampled_from(sorted(ENDINGS)))
def test_frames_to_any_format_and_on_to_any_other(
    frames: dict[str, Any], first: str, second: str
) -> None:
    data = Dataset.from_frames(**frames)
    with tempfile.TemporaryDirectory() as folder:
        once = load(write(data, Path(folder) / "a", first), cache=False)
        assert differences(once, data) == []
        twice = load(write(once, Path(folder) / "b", second), cache=False)
    assert differences(twice, data) == []
    assert twice == data


@pytest.mark.slow
@settings(max_examples=600)
@given(worlds(), st.sampled_from(sorted(ENDINGS)))
def test_frames_to_any_format_at_length(frames: dict[str, Any], format: str) -> None:
    data = Dataset.from_frames(**frames)
    with tempfile.TemporaryDirectory() as folder:
        back = load(write(data, Path(folder) / "a", format), cache=False)
    assert differences(back, data) == []


@settings(max_examples=40)
@given(st.data())
def test_the_order_of_rows_changes_nothing(source: st.DataObject) -> None:
    frames = source.draw(worlds())
    other = source.draw(
        st.composite(lambda draw: {k: permuted(draw, v) for k, v in frames.items()})()
    )
    assert differences(Dataset.from_frames(**other), Dataset.from_frames(**frames)) == []


def test_nothing_is_written_over_or_left_behind(tmp_path: Path) -> None:
    data = small()
    target = tmp_path / "out"
    write(data, target)
    with pytest.raises(DataError, match="is there already"):
        write(data, target)
    with pytest.raises(ConfigError, match="format must be one of"):
        write(data, tmp_path / "new", "xml")
    (tmp_path / "file").write_text("")
    with pytest.raises(CerecError, match="cannot be written"):
        write(data, tmp_path / "file" / "below")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "out"]
