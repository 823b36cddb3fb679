"""Columns of the users' table: read, kept, restricted, part of the fingerprint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cerec.data.dataset import Dataset
from cerec.data.load import load
from cerec.data.restrict import restrict
from cerec.data.store import read_cache, read_dataset, write_cache, write_dataset
from cerec.data.writer import write
from cerec.errors import DataError

PAIRS = {"user": ["2", "10", "9"], "item": ["a", "b", "a"]}
USERS = {"user": ["10", "2", "7"], "age": [30, None, 20], "kind": ["x y", "z", None]}


def world() -> Dataset:
    return Dataset.from_frames(PAIRS, users=USERS)


def columns(data: Dataset) -> dict[str, list[str]]:
    return {name: column.tolist() for name, column in data.user_columns.items()}


def test_a_text_for_every_user_in_the_order_of_users() -> None:
    data = world()
    assert data.users.ids == ("2", "7", "9", "10")
    assert columns(data) == {"age": ["", "20", "", "30"], "kind": ["z", "", "", "x y"]}


def test_lists_are_joined() -> None:
    data = Dataset.from_frames(PAIRS, users={"user": ["2"], "likes": [["a", "b"]]})
    assert columns(data) == {"likes": ["a|b", "", ""]}


@pytest.mark.parametrize("format", ["tables", "parquet"])
def test_they_come_back_from_files(tmp_path: Path, format: str) -> None:
    back = load(write(world(), tmp_path / "out", format))
    assert columns(back) == columns(world())
    assert back == world()


def test_they_come_back_from_a_run_folder_and_from_the_cache(tmp_path: Path) -> None:
    data = world()
    write_dataset(data, tmp_path)
    assert read_dataset(tmp_path) == data
    write_cache(tmp_path / "kept.bin", "key", data)
    assert read_cache(tmp_path / "kept.bin", "key") == data


def test_they_are_part_of_the_fingerprint() -> None:
    data = world()
    assert replace(data, user_columns={}) != data
    other = {**data.user_columns, "kind": data.user_columns["kind"][::-1]}
    assert replace(data, user_columns=other) != data


def test_they_follow_the_users_that_are_kept() -> None:
    kept = restrict(world(), users=np.array([True, False, True, True]))
    assert columns(kept) == {"age": ["", "", "30"], "kind": ["z", "", "x y"]}


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(DataError, match="column 'age' has 1 values for 4 users"):
        replace(world(), user_columns={"age": np.array(["1"])})
