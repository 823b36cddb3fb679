"""What is wrong with a run folder, and what of it can still be used."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cerec.checkpoint import read_checkpoint
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import CerecError
from cerec.explain.batch import explain_all
from cerec.explain.options import Options
from cerec.files import read_json
from cerec.manifest import changed
from cerec.runs.folder import LISTED
from cerec.runs.run import open_run
from cerec.runs.train import train

_DATA = {name for name in LISTED if name.endswith(".parquet")} | {"graph.safetensors", "data.json"}


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a run folder."""

    files: dict[str, str]
    """"sound", or what is wrong, by file."""
    problem: str | None
    """Why the run cannot be opened; None when it can."""
    advice: tuple[str, ...]
    """What can be saved, and how."""


def examine(folder: Path) -> Health:
    """Read every file of a run again and try to open it."""
    try:
        raw = read_json(folder / "run.json")
        listed = raw.get("files") if isinstance(raw, dict) else None
    except CerecError:
        listed = None
    expected = listed if isinstance(listed, dict) else {}
    files = {name: changed(folder, name, expected.get(name)) or "sound" for name in LISTED}
    try:
        open_run(folder)
        problem = None
    except CerecError as error:
        problem = str(error)
    if problem is None:
        problem = next((words for words in files.values() if words != "sound"), None)
    return Health(files, problem, _advice(folder, files) if problem else ())


def warm() -> float:
    """Ask a small world every kind of question, so that all kernels are compiled; the seconds."""
    start = time.perf_counter()
    data = make_world(WorldConfig(users=60, items=80, interactions=900), seed=0)
    run = train(data, seed=0)
    user = data.users[0]
    first, second = (listed.item for listed in run.recommend(user, 2))
    last = run.recommend(user, len(data.items))[-1].item
    for by in ("attributes", "history"):
        run.explain(user, first, k=5, by=by, alternatives=1)
        run.explain(user, why_not=last, k=5, by=by)
    run.explain(user, second, k=5, robust=0.5)
    run.what_if(user, first, run.attributes(first)[1:], k=5)
    run.recommend_for([first, second], 5)
    with TemporaryDirectory() as name:
        explain_all(run.explainer, Path(name) / "all.parquet", Options(k=5))
        open_run(run.save(Path(name) / "run"))
    return time.perf_counter() - start


def _advice(folder: Path, files: dict[str, str]) -> tuple[str, ...]:
    sound = {name for name, words in files.items() if words == "sound"}
    out = ["copy the folder before you change anything in it"]
    if sound >= _DATA:
        out.append("its data are sound: cerec.data.store.read_dataset(folder) reads them")
    if "config.toml" in sound:
        out.append(f"its settings are sound: cerec train DATA --config {folder / 'config.toml'}")
    try:
        if read_checkpoint(folder / "checkpoint") is not None:
            out.append(f"its checkpoint is sound: cerec train DATA --out {folder} --resume")
    except CerecError as error:
        out.append(str(error))
    return tuple(out)
