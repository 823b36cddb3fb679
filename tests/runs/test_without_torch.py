"""Opening, recommending, explaining and serving need no torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import cerec
from cerec.runs.run import Run

ROOT = Path(__file__).parents[2]
BLOCKED = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch())
"""
TRAINED = """
import sys
import cerec
from cerec.data.synthetic.generate import WorldConfig, make_world

world = make_world(WorldConfig(users=60, items=80, interactions=1500), seed=1)
cerec.train(world, out=sys.argv[1])
"""
USED = """
import json, sys
import cerec

run = cerec.open(sys.argv[1])
opened = sorted(name for name in sys.modules if name.partition(".")[0] == "cerec")
heavy = [name for name in ("torch", "fastapi", "matplotlib", "cerec_bench") if name in sys.modules]
user = run.data.users[0]
listed = run.recommend(user, 5)
told = run.explain(user, listed[0].item, k=5)
new = run.recommend_for([listed[0].item], 3)

from starlette.testclient import TestClient
from cerec.serve.app import create_app
from cerec.serve.service import Service

with TestClient(create_app(Service(run)), base_url="http://localhost") as client:
    answer = client.get("/v1/recommendations", params={"user": user, "k": 5})
    page = client.get("/")
print(json.dumps({
    "opened": opened, "heavy": heavy, "list": [r.item for r in listed], "status": told.status,
    "changes": len(told.changes), "new": [r.item for r in new], "agent": run.vectors is not None,
    "served": [answer.status_code, page.status_code], "torch": "torch" in sys.modules,
}))
"""


def used(python: str, folder: Path, before: str = "") -> dict:
    """What a process without torch says of a run."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" or before}
    done = subprocess.run(
        [python, "-c", before + USED, str(folder)], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def check(said: dict, run: Run) -> None:
    user = run.data.users[0]
    listed = run.recommend(user, 5)
    told = run.explain(user, listed[0].item, k=5)
    assert said["agent"]
    assert not said["torch"]
    assert said["list"] == [line.item for line in listed]
    assert (said["status"], said["changes"]) == (told.status, len(told.changes))
    assert said["new"] == [line.item for line in run.recommend_for([listed[0].item], 3)]
    assert said["served"] == [200, 200]


def test_a_run_is_used_where_torch_cannot_be_imported(small_run: Run, tmp_path: Path) -> None:
    small_run.save(tmp_path / "run")
    said = used(sys.executable, tmp_path / "run", BLOCKED)
    check(said, small_run)
    assert not said["heavy"]
    assert len(said["opened"]) <= 45, said["opened"]


def test_the_default_recommender_is_trained_where_torch_cannot_be_imported(tmp_path: Path) -> None:
    code = BLOCKED + TRAINED
    argv = [sys.executable, "-c", code, str(tmp_path / "run")]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert cerec.open(tmp_path / "run").model.kind == "linear"


def test_training_says_what_to_install(tmp_path: Path) -> None:
    run = ["from cerec.cli.main import main", "main(sys.argv[1:])"]
    argv = ["train", "demo", "--out", str(tmp_path / "run"), "--preset", "paper"]
    code = BLOCKED + "\n".join(run)
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith("cerec: this needs torch: pip install 'cerec[agent]'\n")
    argv = ["bench", "compare", "demo"]
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "cerec: this needs torch: pip install 'cerec[bench]'\n"


@pytest.mark.slow
def test_an_environment_without_torch(small_run: Run, tmp_path: Path) -> None:
    small_run.save(tmp_path / "run")
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*install, f"{ROOT}[serve]", "httpx"], check=True, capture_output=True)
    missing = subprocess.run([python, "-c", "import torch"], capture_output=True, text=True)
    assert "No module named 'torch'" in missing.stderr
    check(used(python, tmp_path / "run"), small_run)
