"""The demo, fitted without factors with seed 0, gives what it gave when the files were written.

The files in `tests/golden` hold one list, one explanation, the table of `explain --all` and what
is in a run folder. A change of code that is meant to change no number must leave them as they
are. Where numbers are meant to change, write the files anew, look at the difference, and commit
them with the change:

    CEREC_GOLDEN=write python -m pytest tests/test_golden.py

Ids, names, texts and whole numbers must be equal. Other numbers must agree to a part in a million:
the last bits of a sum depend on the processor, so there is no digest of such numbers.
(On one machine, `NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES= ATEN_CPU_CAPABILITY=default` with a
`NUMBA_CACHE_DIR` of its own stands for another processor.)
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cerec
from cerec.checkpoint import read_history
from cerec.explain.batch import explain_all
from cerec.explain.options import Options
from cerec.files import read_arrays
from cerec.settings.run import RunConfig

GOLDEN = Path(__file__).parent / "golden"
CONFIG = RunConfig(model={"name": "linear", "factors": "none"})
USER = "u001"
K = 5
TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("golden") / "run"
    cerec.train(cerec.load("demo"), CONFIG, seed=0, out=out)
    return out


@pytest.fixture(scope="module")
def run(folder: Path) -> cerec.Run:
    return cerec.open(folder)


def agree(name: str, found: Any, tolerance: float = TOLERANCE) -> None:
    """Compare with the golden file, or write it."""
    path = GOLDEN / f"{name}.json"
    found = json.loads(json.dumps(found))
    if os.environ.get("CEREC_GOLDEN") == "write":
        text = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")
    golden = json.loads(path.read_text(encoding="utf-8"))
    differences = unlike(golden, found, name, tolerance)
    assert not differences, "\n".join(differences[:20])


def unlike(golden: Any, found: Any, where: str, tolerance: float = TOLERANCE) -> list[str]:
    """Where two values differ, a line each."""
    pairs: list[tuple[str, Any, Any]] = []
    if isinstance(golden, dict) and isinstance(found, dict) and golden.keys() == found.keys():
        pairs = [(f"{where}.{key}", golden[key], found[key]) for key in golden]
    if isinstance(golden, list) and isinstance(found, list) and len(golden) == len(found):
        both = zip(golden, found, strict=True)
        pairs = [(f"{where}[{n}]", *pair) for n, pair in enumerate(both)]
    if pairs:
        return [d for place, *pair in pairs for d in unlike(*pair, place, tolerance)]
    if isinstance(golden, float) and isinstance(found, float):
        same = math.isclose(golden, found, rel_tol=tolerance, abs_tol=tolerance)
    else:
        same = type(golden) is type(found) and golden == found
    return [] if same else [f"{where}: {found!r}, was {golden!r}"]


def digest(values: Any) -> str:
    """A word for values without fractions."""
    if isinstance(values, np.ndarray):
        assert not np.issubdtype(values.dtype, np.floating)
        values = values.tolist()
    return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode()).hexdigest()[:16]


def of_array(array: np.ndarray) -> dict[str, Any]:
    """What is told of an array: a digest of whole numbers, moments of others."""
    about: dict[str, Any] = {"dtype": str(array.dtype), "shape": list(array.shape)}
    if not np.issubdtype(array.dtype, np.floating):
        return {**about, "digest": digest(array)}
    if array.size == 0:
        return about
    wide = array.astype(np.float64)
    # a projection with fixed weights sees every number and where it stands
    weights = np.cos(np.arange(wide.size, dtype=np.float64)).reshape(wide.shape)
    moments = {
        "root mean square": float(np.sqrt(np.mean(wide**2))),
        "largest": float(np.abs(wide).max()),
        "projection": float((weights * wide).sum() / max(np.linalg.norm(wide), 1e-12)),
    }
    return {**about, **moments, "first": [float(x) for x in wide.ravel()[:3]]}


def test_the_list_of_a_user(run: cerec.Run) -> None:
    lines = run.recommend(USER, k=10)
    agree("list", [[line.rank, line.item, line.name, line.score] for line in lines])


def test_an_explanation(run: cerec.Run) -> None:
    item = run.recommend(USER, k=K)[1].item
    found = run.explain(USER, item, k=K, alternatives=1, relations=True).to_dict()
    agree("explanation", without_seconds(found))


def without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_seconds(v) for k, v in value.items() if k != "seconds"}
    return [without_seconds(v) for v in value] if isinstance(value, list) else value


def test_the_table_of_all_explanations(run: cerec.Run, tmp_path: Path) -> None:
    explain_all(run.explainer, tmp_path / "all.parquet", Options(k=K))
    table = pl.read_parquet(tmp_path / "all.parquet")
    found: dict[str, Any] = {"rows": table.height, "columns": table.columns}
    for name in table.columns:
        if name in ("seconds", "explanation"):  # that one holds seconds, and all the others
            continue
        column = table[name]
        if column.dtype.is_nested():
            found[name] = len(column.drop_nulls())
        elif column.dtype.is_float():
            empty = column.null_count()
            numbers = column.drop_nulls()
            mean = float(numbers.mean()) if len(numbers) else None
            found[name] = {"empty": empty, "mean": mean}
        else:
            found[name] = digest(column.to_list())
    found["status counts"] = dict(sorted(table["status"].value_counts().iter_rows()))
    found["size counts"] = {str(n): c for n, c in sorted(table["size"].value_counts().iter_rows())}
    found["texts"] = table["text"].head(3).to_list()
    agree("table", found)


def test_the_files_of_a_run(folder: Path) -> None:
    found: dict[str, Any] = {"names": sorted(p.name for p in folder.iterdir())}
    for path in sorted(folder.glob("*.safetensors")):
        found[path.name] = {k: of_array(a) for k, a in sorted(read_arrays(path).items())}
    for path in sorted(folder.glob("*.parquet")):
        table = pl.read_parquet(path)
        found[path.name] = {name: digest(table[name].to_list()) for name in table.columns}
    found["config.toml"] = digest(tomllib.loads((folder / "config.toml").read_text("utf-8")))
    rows = [
        {k: v for k, v in row.items() if k != "seconds" and v is not None}
        for row in read_history(folder / "history.csv")
    ]
    found["history.csv"] = rows
    facts = json.loads((folder / "run.json").read_text("utf-8"))
    meta = facts["meta"]
    assert meta.pop("seconds") > 0
    assert meta["origin"].pop("config")
    for name in ("versions", "files", "seal"):
        del facts[name]
    agree("folder", {**found, "run.json": facts})


def test_differences_are_told() -> None:
    golden = {"a": [1, 2.0, "x"], "b": None}
    assert unlike(golden, {"a": [1, 2.0 + 1e-9, "x"], "b": None}, "it") == []
    for other in ([2, 2.0, "x"], [1, 2.1, "x"], [1, 2.0, "y"], [1, 2.0], [1, 2, "x"], None):
        assert len(unlike(golden, {"a": other, "b": None}, "it")) == 1
