"""A dataset through its folder and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cerec.data.dataset import Dataset, Interactions, Planted, Triples
from cerec.data.ids import IdTable
from cerec.data.store import read_dataset, write_dataset
from cerec.errors import RunError


def tiny() -> Dataset:
    i32 = np.int32
    return Dataset(
        name="tiny",
        users=IdTable("user", ["1", "2"]),
        items=IdTable("item", ["a", "b"], {"a": "Alpha"}),
        entities=IdTable("entity", ["g:x"], {"g:x": "x"}),
        relations=IdTable("relation", ["g"]),
        interactions=Interactions(
            np.array([0, 1], i32), np.array([1, 0], i32), part=np.array([0, 2], np.int8)
        ),
        triples=Triples(np.array([0], i32), np.array([0], i32), np.array([2], i32)),
        planted=Planted(*(np.zeros(1, i32) for _ in range(3)), np.ones(1, np.int8)),
        notes=("one row dropped",),
    )


def test_round_trip(tmp_path: Path) -> None:
    write_dataset(tiny(), tmp_path)
    back = read_dataset(tmp_path)
    assert back == tiny()
    assert (back.name, back.notes) == ("tiny", ("one row dropped",))
    assert back.interactions.rating is None


def test_a_missing_table_is_told(tmp_path: Path) -> None:
    write_dataset(tiny(), tmp_path)
    (tmp_path / "items.parquet").write_bytes(b"junk")
    with pytest.raises(RunError, match=r"items\.parquet: not readable"):
        read_dataset(tmp_path)
