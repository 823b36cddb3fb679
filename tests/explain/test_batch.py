"""Whole lists to Parquet: counts in equal counts out, and a killed run is taken up again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from explain_worlds import explainer, listed_pairs

from cerec.asides import lock_file
from cerec.errors import RunError
from cerec.explain import batch
from cerec.explain.batch import explain_all
from cerec.explain.options import Options
from cerec.explain.table import SCHEMA

ASKED = Options(k=5, by="attributes", lock=("r02", ("r00", "a01")))


class KilledError(Exception):
    """Stands for a kill between two parts."""


@pytest.fixture(autouse=True)
def _one_user_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_USERS_PER_PART", 1)


def test_every_pair_is_there_once_in_order(tmp_path: Path) -> None:
    x, target = explainer("linear"), tmp_path / "all.parquet"
    seen: list[int] = []
    summary = explain_all(x, target, ASKED, on_part=lambda done, of: seen.append(done))
    table = pl.read_parquet(target)
    expected = listed_pairs(x, 5)
    assert list(table.select("user", "item").iter_rows()) == expected
    assert summary.pairs == len(expected) == sum(summary.status.values())
    assert dict(table.schema) == SCHEMA
    assert seen == list(range(1, 13))
    assert [p.name for p in tmp_path.iterdir()] == ["all.parquet"]
    assert table.equals(x.explain_all(k=5, by="attributes", lock=ASKED.lock))


@pytest.mark.parametrize("killed_after", [0, 1, 3])
def test_a_killed_run_resumes_without_loss_or_repetition(tmp_path: Path, killed_after: int) -> None:
    whole = tmp_path / "whole.parquet"
    explain_all(explainer("linear"), whole, ASKED)
    target = tmp_path / "all.parquet"

    def kill(done: int, of: int) -> None:
        if done > killed_after:
            raise KilledError

    with pytest.raises(KilledError):
        explain_all(explainer("linear"), target, ASKED, on_part=kill)
    assert not target.exists()
    summary = explain_all(explainer("linear"), target, ASKED, resume=True)
    assert summary.taken_over == killed_after + 1
    assert pl.read_parquet(target).equals(pl.read_parquet(whole))


def test_parts_of_another_question_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "all.parquet"

    def kill(done: int, of: int) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        explain_all(explainer("linear"), target, ASKED, on_part=kill)
    for other, asked in (
        (explainer("linear"), replace(ASKED, k=4)),
        (explainer("linear", 1), ASKED),
        (explainer("factors"), ASKED),
    ):
        with pytest.raises(RunError, match="another recommender, data or question"):
            explain_all(other, target, asked, resume=True)
    assert explain_all(explainer("linear"), target, replace(ASKED, k=4)).taken_over == 0


def test_a_folder_of_somebody_else_is_not_taken_for_parts(tmp_path: Path) -> None:
    mine = tmp_path / "all.parquet.parts" / "thesis.txt"
    mine.parent.mkdir()
    mine.write_text("years of work")
    with pytest.raises(RunError, match="holds other files; move them, or choose another --out"):
        explain_all(explainer("linear"), tmp_path / "all.parquet", ASKED)
    assert mine.read_text() == "years of work"


def test_a_second_batch_is_kept_from_the_target(tmp_path: Path) -> None:
    x, target = explainer("linear"), tmp_path / "all.parquet"
    with (
        lock_file(tmp_path / "all.parquet.lock", RunError("not the first")),
        pytest.raises(RunError, match="another explain --all is writing to it"),
    ):
        explain_all(x, target, ASKED)
    assert not target.exists()
    assert explain_all(x, target, ASKED).pairs == 60
