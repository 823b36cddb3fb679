"""Runs that take up what happened since, and forget."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import cerec
from cerec.cli.app import run as command
from cerec.data.joining import joined
from cerec.errors import ConfigError, DataError, RunError
from cerec.runs.update import update


def scores(run: cerec.Run, user: str) -> dict[str, float]:
    """Score of every item by id."""
    row = run.subject.scores(np.array([run.data.users.row(user)]))[0]
    return dict(zip(run.data.items, row.tolist(), strict=True))


def slow_scores(run: cerec.Run, items: list[str]) -> NDArray[np.float64]:
    """Of somebody with these items, by the fitted arrays of the run and nothing else."""
    return run.subject.both_from([np.array([run.data.items.row(i) for i in items])])[0][0]  # type: ignore[index]


def frame(pairs: list[tuple[str, str]]) -> dict[str, list[object]]:
    """Interactions as a table with times, which those of the world have."""
    user, item = zip(*pairs, strict=True)
    return {"user": [*user], "item": [*item], "timestamp": [2e9] * len(pairs)}


def test_a_longer_history_is_scored_by_the_same_model(small_run: cerec.Run) -> None:
    run, user = small_run, small_run.data.users[3]
    before = [run.data.items[i] for i in run.known.row(3)]
    fresh = [line.item for line in run.recommend(user, k=3)]
    later = update(run, frame([(user, i) for i in fresh]))
    assert (run.version, later.version) == (1, 2)
    want = dict(zip(run.data.items, slow_scores(run, before + fresh), strict=True))
    assert scores(later, user) == want  # to the bit
    assert not {line.item for line in later.recommend(user, k=1000)} & set(before + fresh)
    assert scores(later, run.data.users[4]) == scores(run, run.data.users[4])
    assert later.metrics == run.metrics
    answer = later.explain(user, later.recommend(user, k=5)[0].item, k=5)
    assert answer.status in ("verified", "not_found")


def test_somebody_new_is_their_history(small_run: cerec.Run) -> None:
    items = list(small_run.data.items[2:9])
    later = update(small_run, frame([("a stranger", i) for i in items]))
    want = dict(zip(small_run.data.items, slow_scores(small_run, items), strict=True))
    assert scores(later, "a stranger") == pytest.approx(want, abs=1e-12)
    assert later.meta["updates"] == [{"version": 2, "users": 1, "items": 0, "interactions": 7}]


def test_a_new_item_is_its_values(small_run: cerec.Run) -> None:
    run, like = small_run, small_run.data.items[5]
    columns: dict[str, list[object]] = {"item": ["a new one"], "name": ["New"]}
    for relation, value in run.attributes(like):
        row = run.data.entities.row(value)
        columns.setdefault(relation, [""])
        old = str(columns[relation][0])
        columns[relation] = [f"{old}|{run.data.entities.name(row)}".strip("|")]
    later = update(run, items=columns)
    assert set(later.attributes("a new one")) == set(later.attributes(like))
    assert len(later.data.entities) == len(run.data.entities)
    user = run.data.users[7]
    placed = run.new_item(run.attributes(like)).place(user)
    assert scores(later, user)["a new one"] == pytest.approx(placed.score, abs=1e-9)
    rest = {i: s for i, s in scores(later, user).items() if i != "a new one"}
    assert rest == pytest.approx(scores(run, user), abs=1e-12)
    again = update(later, frame([(user, "a new one")]))
    assert "a new one" not in {line.item for line in again.recommend(user, k=1000)}
    assert again.version == 3


def test_ids_that_change_the_order_of_rows(small_run: cerec.Run) -> None:
    """A new id before all others moves every row."""
    genre = next(r for r, _ in small_run.attributes(small_run.data.items[0]))
    later = update(small_run, items={"item": ["! first"], genre: ["Never heard of"]})
    assert later.data.items[0] == "! first"
    for user in small_run.data.users[:5]:
        found = scores(later, user)
        del found["! first"]
        assert found == pytest.approx(scores(small_run, user), abs=1e-12)
    pair = small_run.data.users[0], small_run.recommend(small_run.data.users[0])[0].item
    one, other = small_run.explain(*pair, k=5), later.explain(*pair, k=5)
    assert (one.status, one.changes) == (other.status, other.changes)


def test_whoever_is_forgotten_leaves_no_trace(small_run: cerec.Run, tmp_path: Path) -> None:
    marked = update(small_run, frame([("Zyx-forget-me", i) for i in small_run.data.items[:9]]))
    folder = marked.save(tmp_path / "run")
    assert any(b"Zyx-forget-me" in path.read_bytes() for path in folder.rglob("*"))
    assert command(["update", str(folder), "--forget", "Zyx-forget-me"]) == 0
    assert not any(b"Zyx-forget-me" in path.read_bytes() for path in folder.rglob("*"))
    again = cerec.open(folder)
    assert again.known.equals(small_run.known)
    assert again.version == 3
    assert json.loads((folder / "run.json").read_text())["version"] == 3
    user = small_run.data.users[0]
    assert scores(again, user) == scores(small_run, user)
    assert (again.vectors == small_run.vectors).all()


def test_what_cannot_be_taken_up(small_run: cerec.Run, paper_run: cerec.Run, tmp_path) -> None:
    user, item = small_run.data.users[0], small_run.data.items[0]
    with pytest.raises(ConfigError, match="nothing to do"):
        update(small_run)
    with pytest.raises(DataError, match="no column 'timestamp', which those of the run have"):
        update(small_run, {"user": [user], "item": [item]})
    with pytest.raises(DataError, match=r"unknown item 'nowhere'.*; new items come by a table"):
        update(small_run, frame([(user, "nowhere")]))
    with pytest.raises(DataError, match="is there already"):
        update(small_run, items={"item": [item], "genre": ["Drama"]})
    with pytest.raises(RunError, match="only a run of the default recommender can be updated"):
        update(paper_run, frame([(user, item)]))
    small_run.save(tmp_path / "run")
    assert command(["update", str(tmp_path / "run")]) == 2


def test_files_on_the_command_line(small_run: cerec.Run, tmp_path: Path) -> None:
    folder = small_run.save(tmp_path / "run")
    user, item = small_run.data.users[0], small_run.recommend(small_run.data.users[0])[0].item
    (tmp_path / "today.csv").write_text(f"user,item,timestamp\n{user},{item},2000000000\n")
    words = ["update", str(folder), "--interactions", str(tmp_path / "today.csv")]
    assert command([*words, "--out", str(tmp_path / "next")]) == 0
    assert cerec.open(tmp_path / "next").version == 2
    assert cerec.open(folder).version == 1


def test_joined_data_are_those_of_one_table() -> None:
    items = {"item": ["a", "b"], "genre": ["Drama", "War|Drama"]}
    one = cerec.Dataset.from_frames({"user": ["1", "2"], "item": ["a", "b"]}, items)
    more = {"item": ["c"], "genre": ["War"]}
    other = cerec.Dataset.from_frames({"user": ["10", "2"], "item": ["c", "c"]}, more)
    whole = cerec.Dataset.from_frames(
        {"user": ["1", "2", "2", "10"], "item": ["a", "b", "c", "c"]},
        {"item": ["a", "b", "c"], "genre": ["Drama", "War|Drama", "War"]},
    )
    assert joined(one, other) == whole
