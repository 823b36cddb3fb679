"""Cells: read when there, computed once, paused while times are measured."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from cerec.errors import ConfigError
from cerec_bench.cells import Cells, Meter, digest, fingerprint, measuring, wait


@pytest.fixture(autouse=True)
def _lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEREC_BENCH_LOCK", str(tmp_path / "lock"))


def test_a_cell_is_computed_once(tmp_path: Path) -> None:
    told, calls = [], []
    cells = Cells(tmp_path, "a command", lambda name, known: told.append((name, known)))

    def compute() -> tuple[dict[str, float], dict[str, np.ndarray]]:
        calls.append(1)
        return {"x": 0.1 + 0.2, "bad": float("nan")}, {"rows": np.arange(3)}

    one = cells.get("one", {"data": "abc", "ks": (1, 2)}, compute)
    again = cells.get("one", {"data": "abc", "ks": [1, 2]}, compute)
    assert (len(calls), told) == (1, [("one", False), ("one", True)])
    assert one == again
    assert one.found == {"x": 0.1 + 0.2, "bad": None}
    assert one.arrays["rows"].tolist() == [0, 1, 2]
    assert one.about["command"] == "a command"
    assert {"commit", "versions", "time", "seconds", "cpu_seconds", "peak_mb"} <= set(one.about)


def test_every_input_and_the_recipe_are_in_the_key(tmp_path: Path) -> None:
    cells = Cells(tmp_path)
    asked = [({"a": 1}, 1), ({"a": 2}, 1), ({"a": 1, "b": 0}, 1), ({"a": 1}, 2)]
    for n, (depends, recipe) in enumerate(asked):
        assert cells.get("x", depends, lambda n=n: {"n": n}, recipe=recipe).found == {"n": n}
    found = cells.find("x", {"a": 1}, recipe=2)
    assert found is not None
    assert found.found == {"n": 3}
    assert cells.find("x", {"a": 3}) is None
    assert cells.find("y", {"a": 1}) is None


def test_a_refusal_is_raised_or_kept(tmp_path: Path) -> None:
    def refuse() -> dict[str, int]:
        raise ConfigError("too large")

    with pytest.raises(ConfigError, match="too large"):
        Cells(tmp_path).get("x", {}, refuse)
    assert not list(tmp_path.glob("x-*"))
    assert Cells(tmp_path).get("x", {}, refuse, refusals=True).error == "too large"


def test_a_cell_waits_while_somebody_measures() -> None:
    done = threading.Event()

    def work() -> None:
        wait()
        done.set()

    with measuring():
        thread = threading.Thread(target=work)
        thread.start()
        assert not done.wait(0.2)
    assert done.wait(5)
    thread.join()


def test_short_names() -> None:
    assert digest({"b": 1, "a": [2]}) == digest({"a": [2], "b": 1}) != digest({"a": [3], "b": 1})
    assert fingerprint(np.arange(3), np.arange(2)) != fingerprint(np.arange(2), np.arange(3))


def test_the_meter_sees_memory_and_time() -> None:
    with Meter() as small:
        pass
    with Meter() as large:
        np.ones(40 << 20, np.uint8).sum()
    assert large.seconds > 0
    assert large.peak_mb >= small.peak_mb
