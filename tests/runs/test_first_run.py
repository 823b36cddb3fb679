"""The first run on a machine compiles the kernels, the next ones load them: equal numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LEARN = """
import hashlib, cerec
from cerec.settings.run import RunConfig
from cerec.settings.train import TrainConfig
short = RunConfig(train=TrainConfig(epochs=2, agent_epochs=1))
run = cerec.train(cerec.load("demo"), short, seed=0)
for table in (run.scorer.user, run.scorer.item, run.vectors):
    print(hashlib.sha256(table.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_compiling_first_gives_the_same_numbers(tmp_path: Path) -> None:
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", LEARN], env=env, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert len(first.split()) == 3
    assert first == second
