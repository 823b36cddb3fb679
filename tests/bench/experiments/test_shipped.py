"""What `cerec train` gives as shipped: learned once per seed, on one split, and tabled."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cerec.data.synthetic.generate import make_world
from cerec.data.writers.write import write
from cerec.settings.data import FilterConfig
from cerec_bench.compare.fit import FitConfig
from worlds import QUICK, SMALL

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "experiments"))
import helps_rows
import helps_table
import shipped


def test_models_are_learned_once_and_tabled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(make_world(SMALL, seed=1), tmp_path / "data" / "small", "tables")
    fit = FitConfig()
    rare = helps_rows.Set(FilterConfig(min_entity=3), (), 1, fit, fit)
    monkeypatch.setitem(shipped.SETS, "small", rare)
    monkeypatch.setattr(shipped, "RESULTS", tmp_path / "results" / "shipped")
    monkeypatch.setattr(shipped, "CONFIG", QUICK)
    words = ["shipped.py", "--data", str(tmp_path / "data"), "--sets", "small"]
    words += ["--cache", str(tmp_path / "cache")]
    monkeypatch.setattr(sys, "argv", [*words, "--seeds", "2"])
    shipped.main()
    path = tmp_path / "results" / "shipped" / "small.json"
    found = json.loads(path.read_text())
    assert (found["set"], found["whole"]) == ("small", False)
    assert [run["seed"] for run in found["runs"]] == [0, 1]
    assert found["runs"][0]["recall@20"] != found["runs"][1]["recall@20"]
    assert list((tmp_path / "cache").iterdir()) == []  # nothing is left of what was begun

    before = path.read_bytes()
    shipped.main()  # nothing left to do
    assert path.read_bytes() == before
    monkeypatch.setattr(sys, "argv", [*words, "--seeds", "1", "--whole"])
    shipped.main()
    whole = json.loads(path.with_name("small-whole.json").read_text())
    assert whole["whole"]

    # beside a row of that set, tuned
    row = {"name": "ours", "runs": [{"recall@20": 0.5, "ndcg@20": 0.25}]}
    (tmp_path / "results" / "helps" / "small").mkdir(parents=True)
    (tmp_path / "results" / "helps" / "small" / "ours.json").write_text(json.dumps(row))
    _, _, *lines = helps_table.shipped(tmp_path / "results" / "helps", "ours")
    assert [line.split("|")[1].strip() for line in lines] == ["small", "small, nothing left out"]
    cells = [cell.strip() for cell in lines[1].split("|")]
    assert cells[2:7] == [
        "1",
        f"{whole['runs'][0]['recall@20']:.4f}",
        "0.5000",
        f"{whole['runs'][0]['ndcg@20']:.4f}",
        "0.2500",
    ]


def test_every_seed_learns_from_the_same_parts(tmp_path: Path) -> None:
    write(make_world(SMALL, seed=1), tmp_path / "small", "tables")
    one, other = (shipped.parted(tmp_path / "small", FilterConfig()) for _ in range(2))
    assert one.fingerprint == other.fingerprint
    assert one.interactions.part is not None
