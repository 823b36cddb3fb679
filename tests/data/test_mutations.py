"""Damaged folders of every format, odd Parquet columns among them: right data or one line."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from mutations import attempt, damaged, mutate, read, run, worlds


def test_worlds_without_damage_are_read() -> None:
    with tempfile.TemporaryDirectory() as name:
        for form, files in worlds().items():
            assert attempt(files, Path(name), read) == ("fine", ""), form


def test_the_same_seed_gives_the_same_damage() -> None:
    files = worlds()["tables"]
    one, other = (damaged(files, random.Random("7:1")) for _ in range(2))
    assert one == other
    assert len({mutate(b"user,item\na,1\n", random.Random(n)) for n in range(50)}) > 20


def test_a_few_mutations_are_read_or_refused() -> None:
    found, wrong, slowest = run(150, seed=0)
    assert wrong == []
    assert sum(found.values()) == 150
    assert slowest < 10


@pytest.mark.slow
def test_thousands_of_mutations_are_read_or_refused() -> None:
    assert run(3000, seed=1)[1] == []
