"""The first run on a machine compiles the kernels, the next ones load them: equal numbers, on any
number of threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LEARN = """
import hashlib, os, cerec
from cerec.recommend.linear import itemitem
itemitem.SMALL = int(os.environ.get("SMALL", itemitem.SMALL))
run = cerec.train(cerec.load("demo"), seed=0)
for name, table in sorted(run.model.arrays.items()):
    print(name, hashlib.sha256(table.tobytes()).hexdigest())
rows = __import__("numpy").arange(50)
for table in run.subject.both(rows):
    print(hashlib.sha256(table.tobytes()).hexdigest())
"""


def learned(**variables: str) -> list[str]:
    """What a process of its own learns, as hashes."""
    words, env = [sys.executable, "-c", LEARN], os.environ | variables
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_compiling_first_gives_the_same_numbers(tmp_path: Path) -> None:
    first, second = (learned(NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert len(first) > 10
    assert first == second


@pytest.mark.parametrize("small", ["5000", "100"])  # solved whole, on the nearest items
def test_a_fit_has_the_same_bits_on_any_number_of_threads(small: str) -> None:
    one, two = (learned(CEREC_THREADS=n, OPENBLAS_NUM_THREADS=n, SMALL=small) for n in ("1", "2"))
    assert len(one) > 10
    assert one == two
