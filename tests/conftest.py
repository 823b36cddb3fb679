"""Fixtures shared by the suite: a small trained run, made once."""

from __future__ import annotations

import hashlib
import os
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
    """Drop compiled kernels when the text of any kernel has changed since they were compiled.

    Numba looks only at the file a kernel stands in, not at those of the functions it calls.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    source = Path(cerec.__file__).parent
    texts = [p.read_bytes() for p in sorted(source.rglob("*.py"))]
    digest = hashlib.sha256(b"".join(t for t in texts if b"numba" in t or b"lean" in t)).hexdigest()
    seen = source / "__pycache__" / "kernels.sha256"
    if seen.exists() and seen.read_text() == digest:
        return
    for compiled in source.rglob("*.nbi"):
        compiled.unlink()
    seen.parent.mkdir(exist_ok=True)
    seen.write_text(digest)


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
    return Run(s.data, s.split, s.kept, known=s.known, metrics=s.metrics, meta=s.meta)


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
