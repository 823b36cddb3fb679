"""Whole lists to Parquet: counts in equal counts out, and a killed run is taken up again."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from explain_worlds import random_explainer

from cerec.errors import RunError
from cerec.explain import batch
from cerec.explain.batch import SCHEMA, explain_all, read_table
from cerec.explain.options import Options

ASKED = Options(k=5, lock=("r02", ("r00", "a01")))


class KilledError(Exception):
    """Stands for a kill between two parts."""


@pytest.fixture(autouse=True)
def _one_user_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_USERS_PER_PART", 1)


def without_time(path: Path) -> list[object]:
    return [replace(e, seconds=0.0) for e in read_table(path)]


def test_every_pair_is_there_once_in_order(tmp_path: Path) -> None:
    explainer = random_explainer(0)
    target = tmp_path / "all.parquet"
    seen: list[int] = []
    summary = explain_all(explainer, target, ASKED, on_part=lambda done, of: seen.append(done))
    table = pl.read_parquet(target)
    expected = [
        (explainer.data.users[u], explainer.data.items[int(i)])
        for u in range(4)
        for i in explainer.listed(u, 5)
    ]
    assert list(table.select("user", "item").iter_rows()) == expected
    assert summary.pairs == len(expected) == sum(summary.status.values())
    assert dict(table.schema) == SCHEMA
    assert seen == [1, 2, 3, 4]
    assert [p.name for p in tmp_path.iterdir()] == ["all.parquet"]
    singly = list(explainer.explain_many(expected, k=5, lock=ASKED.lock))
    assert without_time(target) == [replace(e, seconds=0.0) for e in singly]


@pytest.mark.parametrize("killed_after", [0, 1, 3])
def test_a_killed_run_resumes_without_loss_or_repetition(tmp_path: Path, killed_after: int) -> None:
    whole = tmp_path / "whole.parquet"
    explain_all(random_explainer(0), whole, ASKED)
    target = tmp_path / "all.parquet"

    def kill(done: int, of: int) -> None:
        if done > killed_after:
            raise KilledError

    with pytest.raises(KilledError):
        explain_all(random_explainer(0), target, ASKED, on_part=kill)
    assert not target.exists()
    summary = explain_all(random_explainer(0), target, ASKED, resume=True)
    assert summary.taken_over == killed_after + 1
    assert without_time(target) == without_time(whole)


KILL = """
import os, sys
from functools import partial
from pathlib import Path
from explain_worlds import random_explainer
from cerec.explain import batch
from cerec.explain.options import Options

def die(done, of):
    os.kill(os.getpid(), 9)

if __name__ == "__main__":
    batch._USERS_PER_PART, batch._PARTS_FOR_PROCESSES = 1, 2
    again = partial(random_explainer, 0)
    asked = Options(k=5, lock=("r02", ("r00", "a01")))
    batch.explain_all(again(), Path(sys.argv[1]), asked, resume=True, again=again, on_part=die)
"""


@pytest.mark.slow
def test_a_sigkill_amid_processes_loses_no_finished_part(tmp_path: Path) -> None:
    whole, target = tmp_path / "whole.parquet", tmp_path / "all.parquet"
    explain_all(random_explainer(0), whole, ASKED)
    script = tmp_path / "kill.py"
    script.write_text(KILL, encoding="utf-8")
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    env = os.environ | {"PYTHONPATH": path, "CEREC_THREADS": "2", "NUMBA_NUM_THREADS": "2"}
    # the pipe closes when the last worker is gone: none outlives its parent
    done = subprocess.run(
        [sys.executable, str(script), str(target)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == -9, done.stderr
    assert not target.exists()
    assert list(tmp_path.glob("all.parquet.parts/part-*.parquet"))
    assert explain_all(random_explainer(0), target, ASKED, resume=True).taken_over >= 1
    assert without_time(target) == without_time(whole)


def test_parts_of_another_question_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "all.parquet"

    def kill(done: int, of: int) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        explain_all(random_explainer(0), target, ASKED, on_part=kill)
    for explainer, asked in (
        (random_explainer(0), replace(ASKED, k=4)),
        (random_explainer(1), ASKED),
        (random_explainer(0, "sum"), ASKED),
    ):
        with pytest.raises(RunError, match="another recommender, data or question"):
            explain_all(explainer, target, asked, resume=True)
    assert explain_all(random_explainer(0), target, replace(ASKED, k=4)).taken_over == 0


def test_a_folder_of_somebody_else_is_not_taken_for_parts(tmp_path: Path) -> None:
    mine = tmp_path / "all.parquet.parts" / "thesis.txt"
    mine.parent.mkdir()
    mine.write_text("years of work")
    with pytest.raises(RunError, match="holds other files; move them, or choose another --out"):
        explain_all(random_explainer(0), tmp_path / "all.parquet", ASKED)
    assert mine.read_text() == "years of work"


HOLD = """
import sys
from pathlib import Path
from explain_worlds import random_explainer
from cerec.explain import batch
from cerec.explain.options import Options

def wait(done, of):
    print("begun", flush=True)
    sys.stdin.readline()

batch._USERS_PER_PART = 1
asked = Options(k=5, lock=("r02", ("r00", "a01")))
batch.explain_all(random_explainer(0), Path(sys.argv[1]), asked, on_part=wait)
"""


def test_a_second_batch_into_one_target_is_refused_until_a_kill(tmp_path: Path) -> None:
    target = tmp_path / "all.parquet"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(target)],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with first:
        assert first.stdout
        assert first.stdout.readline() == "begun\n"
        parts = sorted(p.name for p in (tmp_path / "all.parquet.parts").iterdir())
        for resume in (False, True):
            with pytest.raises(RunError, match=r"all.parquet: another explain --all is writing"):
                explain_all(random_explainer(0), target, ASKED, resume=resume)
        explain_all(random_explainer(0), tmp_path / "other.parquet", ASKED)
        assert sorted(p.name for p in (tmp_path / "all.parquet.parts").iterdir()) == parts
        first.kill()
    assert (tmp_path / "all.parquet.lock").exists()  # left behind by the kill, and held by nobody
    assert explain_all(random_explainer(0), target, ASKED, resume=True).taken_over == 1
    assert without_time(target) == without_time(tmp_path / "other.parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all.parquet", "other.parquet"]
