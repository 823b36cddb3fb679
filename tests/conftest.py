"""Fixtures shared by the suite: a small trained run, made once."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import cerec
from cerec.data.synthetic.generate import make_world
from cerec.runs.run import Run
from cerec.runs.train import train
from cerec.settings.run import RunConfig
from worlds import QUICK, SMALL

settings.register_profile(
    "cerec", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("cerec")


def pytest_configure() -> None:
    """Drop compiled kernels that call a kernel whose text has changed since they were compiled.

    Numba looks only at the file a kernel stands in, not at those of the functions it calls.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    source = Path(cerec.__file__).parent.parent
    now = _kernels(source)
    kept = source / "cerec" / "__pycache__" / "kernels.json"
    before = json.loads(kept.read_text()) if kept.exists() else {}
    stale = {name for name, digest in now.items() if before.get(name) != digest}
    for compiled in source.glob("cerec*/**/*.nbi"):
        module = compiled.parent.parent / f"{compiled.name.split('.')[0]}.py"
        if str(module.relative_to(source)) in stale or not module.exists():
            compiled.unlink()
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(now))


def _kernels(source: Path) -> dict[str, str]:
    """A digest of each file of kernels together with all files of kernels that it imports."""
    texts = {p: p.read_text() for p in source.glob("cerec*/**/*.py")}
    texts = {p: t for p, t in texts.items() if "numba" in t or "lean" in t}
    calls: dict[Path, list[Path]] = {}
    for path, text in texts.items():
        named = re.findall(r"^from (cerec\w*\.[\w.]+) import", text, re.MULTILINE)
        found = [source / f"{name.replace('.', '/')}.py" for name in named]
        calls[path] = [p for p in found if p in texts]

    def behind(path: Path, seen: set[Path]) -> set[Path]:
        if path not in seen:
            seen.add(path)
            for other in calls[path]:
                behind(other, seen)
        return seen

    out: dict[str, str] = {}
    for path in texts:
        parts = "".join(texts[p] for p in sorted(behind(path, set())))
        out[str(path.relative_to(source))] = hashlib.sha256(parts.encode()).hexdigest()
    return out


@pytest.fixture(scope="session")
def small_run() -> Run:
    """The default recommender on a small world, with an agent of a few epochs."""
    config = RunConfig.of({"model": {"agent": True}, "train": {"agent_epochs": 2}})
    return train(make_world(SMALL, seed=1), config, seed=3)


@pytest.fixture(scope="session")
def paper_run() -> Run:
    """The paper's co-trained system on the same world, a few epochs."""
    return train(make_world(SMALL, seed=1), QUICK, seed=3)


@pytest.fixture(scope="session")
def plain_run(small_run: Run) -> Run:
    """The small run as it is without an agent, which does not touch the recommender."""
    s = small_run
    return Run(s.data, s.split, s.model, known=s.known, metrics=s.metrics, meta=s.meta)


@pytest.fixture(params=["plain_run", "small_run", "paper_run"])
def any_run(request: pytest.FixtureRequest) -> Run:
    """The default recommender, the same with an agent, and the paper's."""
    run: Run = request.getfixturevalue(request.param)
    return run


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; tests that need it are skipped where it is not given."""
    folder = os.environ.get("CEREC_DATA", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set CEREC_DATA to the folder of real data sets to run this test")
    return Path(folder)
