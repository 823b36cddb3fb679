"""Damaged files of every kind, in this process: right data, or one line that names the file."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import cerec
from cerec.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from cerec.data.store import read_cache, write_cache
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import CerecError
from mutations import attempt, damaged, mutate, read, worlds

_SLOW = 10.0


def run(
    folder: Path, rng: random.Random, end: float, counts: Counter[str], wrong: list[str]
) -> None:
    """Formats of data, run folders, checkpoints and caches in turn, until `end`."""
    os.environ["CEREC_CACHE"] = str(folder / "user-cache")
    every, kinds = worlds(), _kept(folder)
    (folder / "data").mkdir()
    while time.monotonic() < end:
        seed = rng.randrange(1 << 60)
        own = random.Random(seed)
        start = time.process_time()  # of this process: the machine may be busy
        if own.random() < 0.5:
            form = own.choice(sorted(every))
            outcome, said = attempt(damaged(every[form], own), folder / "data", read)
            kind = f"data as {form}"
        else:
            kind = own.choice(sorted(kinds))
            outcome, said = kinds[kind](own)
        counts[f"damaged {kind}: {outcome}"] += 1
        if outcome in ("trace", "other"):
            wrong.append(f"damage {seed} of {kind}: {outcome}: {said[-500:]}")
        if time.process_time() - start > _SLOW:
            wrong.append(f"damage {seed} of {kind}: took {time.process_time() - start:.0f} s")


Outcome = tuple[str, str]


def _kept(folder: Path) -> dict[str, Callable[[random.Random], Outcome]]:
    data = make_world(WorldConfig(users=30, items=40, interactions=500), seed=0)
    run_folder = cerec.train(data, seed=0).save(folder / "run")
    expected = cerec.open(run_folder).recommend(data.users[0], 5)
    point = folder / "checkpoint"
    write_checkpoint(point, Checkpoint({"epoch": 3}, {"m": {"x": np.arange(50.0)}}))
    whole = folder / "cached"
    write_cache(whole, "key", data)

    def opened(path: Path) -> object:
        return cerec.open(path).recommend(data.users[0], 5)

    def kept(path: Path) -> object:
        found = read_checkpoint(path)
        return None if found is None else (found.counters, found.arrays["m"]["x"].tolist())

    def cached(path: Path) -> object:
        found = read_cache(path, "key")
        return found is None or found == data

    return {
        "runs": lambda rng: _one(run_folder, rng, opened, expected),
        "checkpoints": lambda rng: _one(point, rng, kept, kept(point)),
        "caches": lambda rng: _one(whole, rng, cached, True),
    }


def _one(
    folder: Path, rng: random.Random, use: Callable[[Path], object], expected: object
) -> Outcome:
    """One file of a copy of the folder damaged, missing, doubled or cut."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        copy = Path(name) / folder.name
        shutil.copytree(folder, copy)
        path = rng.choice(sorted(p for p in copy.iterdir() if p.is_file()))
        content = path.read_bytes()
        way = rng.random()
        if way < 0.05:
            path.unlink()
        elif way < 0.1:
            other = rng.choice(sorted(p for p in folder.iterdir() if p.is_file()))
            path.write_bytes(other.read_bytes())
        else:
            path.write_bytes(mutate(content, rng))
        try:
            found = use(copy)
        except CerecError as error:
            one = len(str(error).splitlines()) == 1
            return ("refused" if one else "trace"), str(error)
        except Exception as error:
            return "trace", repr(error)
        same = found == expected or (path.suffix == ".json" and _equal(path, content))
        return ("fine" if same else "other"), str(path.name)


def _equal(path: Path, content: bytes) -> bool:
    try:
        return bool(json.loads(path.read_bytes()) == json.loads(content))
    except (OSError, ValueError, RecursionError):
        return False
