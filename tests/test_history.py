"""The history as a table."""

from __future__ import annotations

from pathlib import Path

from cerec.checkpoint import read_history, write_history


def test_what_is_no_number_is_left_empty(tmp_path: Path) -> None:
    nan = float("nan")
    rows = [
        {"epoch": 1, "phase": "recommender", "loss": 0.5, "recall@20": nan, "ndcg@20": nan},
        {"epoch": 1, "phase": "agent", "reward": 0.25},
    ]
    write_history(tmp_path / "history.csv", rows)
    lines = (tmp_path / "history.csv").read_text().splitlines()
    assert lines[0] == "phase,epoch,loss,recall@20,ndcg@20,reward"
    assert lines[1:] == ["recommender,1,0.5,,,", "agent,1,,,,0.25"]
    assert read_history(tmp_path / "history.csv") == [
        {"phase": "recommender", "epoch": 1, "loss": 0.5},
        {"phase": "agent", "epoch": 1, "reward": 0.25},
    ]
