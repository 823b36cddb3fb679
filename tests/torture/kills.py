"""Commands killed, or without a disk to write to, at each of their file operations."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SHIM = Path(__file__).parent / "shim.c"
_SLOWEST = 900.0
Argv = Sequence[str]


@dataclass(frozen=True)
class Command:
    """What is run, what is run after a fault, and what must then be there."""

    name: str
    argv: Callable[[Path], Argv]
    again: Callable[[Path], Argv]
    result: str
    """The file or folder below the working folder that must come out equal."""
    before: str | None = None
    """What lies at `result` when it begins: a copy of this, beside the working folder."""


def _train(folder: Path) -> list[str]:
    return ["train", str(folder.parent / "world"), "--out", str(folder / "run")]


def _cotrain(folder: Path) -> list[str]:
    few = ("epochs=4", "warmup=1", "validate_every=1", "agent_epochs=1", "checkpoint_seconds=0")
    sets = [word for one in few for word in ("--set", f"train.{one}")]
    return [*_train(folder), "--model", "cotrained", *sets]


def _explain(folder: Path) -> list[str]:
    run, out = folder.parent / "run", folder / "all.parquet"
    return ["explain", str(run), "--all", "--out", str(out), "-k", "5"]


def _split(folder: Path) -> list[str]:
    return ["data", "split", str(folder.parent / "world"), "--out", str(folder / "out")]


COMMANDS = (
    Command("train", _train, lambda f: [*_train(f), "--resume"], "run"),
    Command("train --force", lambda f: [*_train(f), "--force"],
            lambda f: [*_train(f), "--force"], "run", "run"),
    Command("co-train, resumed", _cotrain, lambda f: [*_cotrain(f), "--resume"], "run"),
    Command("explain --all, resumed", _explain, lambda f: [*_explain(f), "--resume"],
            "all.parquet"),
    Command("explain --all, fresh", _explain, _explain, "all.parquet"),
    Command("save over a run", lambda f: ["-save", str(f / "run")],
            lambda f: ["-save", str(f / "run")], "run", "run"),
    Command("load with a cache", lambda f: ["-load", str(f / "cache")],
            lambda f: ["-load", str(f / "cache")], "cache"),
    Command("data split", _split, _split, "out"),
)  # fmt: skip


def run(
    folder: Path, rng: random.Random, end: float, counts: Counter[str], wrong: list[str]
) -> None:
    """Every operation of every command, in an order drawn by `rng`, until `end`."""
    shim = folder / "shim.so"
    if shutil.which("gcc") is None or sys.platform != "linux":
        counts["kills: left out, no gcc or no Linux"] += 1
        return
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", shim, SHIM, "-ldl"], check=True)
    code = "import sys; from torture.kills import work; work(*sys.argv[1:])"
    limit = end - time.monotonic()
    environment = {**os.environ, "LD_PRELOAD": str(shim), "CEREC_THREADS": "1"}
    environment |= {"CEREC_CACHE": str(folder / "cache"), "POLARS_MAX_THREADS": "1"}
    argv = [sys.executable, "-c", code, str(folder), str(rng.random()), str(limit)]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)
    for line in done.stdout.splitlines():
        kind, _, text = line.partition("\t")
        what, _, n = text.partition("\t")
        if kind == "count":
            counts[what] += int(n)
        else:
            wrong.append(text)
    if done.returncode:
        wrong.append(f"kills ended with {done.returncode}: {done.stderr[-500:]}")


class Child:
    """Runs commands in forked children of a process that has imported everything."""

    def __init__(self, folder: Path) -> None:
        self._shim = ctypes.CDLL(None)
        self._folder = folder
        self.said = folder / "said"

    def run(self, argv: Argv, under: Path, at: int = 0, error: int = 0) -> tuple[int, int]:
        """(exit code or minus the signal, operations counted)."""
        into, out = os.pipe()
        child = os.fork()
        if child == 0:
            self._be(argv, under, at, error, out)
        os.close(out)
        end = time.monotonic() + _SLOWEST
        while (found := os.waitpid(child, os.WNOHANG))[0] == 0:
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                os.close(into)
                return 999, 0
            time.sleep(0.005)
        with os.fdopen(into) as counted:
            text = counted.read()
        return os.waitstatus_to_exitcode(found[1]), int(text or 0)

    def _be(self, argv: Argv, under: Path, at: int, error: int, out: int) -> None:
        code = 70
        try:
            said = os.open(self.said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            from cerec.explain import batch

            batch._USERS_PER_PART = 12  # several parts
            arm = self._shim.torture_arm
            arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
            arm(os.fsencode(under), at, error)
            code = _call(argv)
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            import traceback

            os.write(2, traceback.format_exc().encode())
        count = self._shim.torture_count
        count.restype = ctypes.c_long
        n = count()
        self._shim.torture_arm(b"", 0, 0)
        os.write(out, str(n).encode())
        os._exit(code)


def _call(argv: Argv) -> int:
    import cerec
    from cerec.cli.app import run

    if argv[0] == "-save":
        other = Path(argv[1]).parents[1] / "other"
        cerec.open(other).save(argv[1])
        return 0
    if argv[0] == "-load":
        os.environ["CEREC_CACHE"] = argv[1]
        cerec.load(Path(argv[1]).parents[1] / "world")
        return 0
    return run(argv)


def work(name: str, seed: str, seconds: str) -> None:
    """Do all this in one process, which prints what it counted and found."""
    folder, rng, end = Path(name), random.Random(seed), time.monotonic() + float(seconds)
    import cerec.cli.explain
    import cerec.cli.train
    import cerec.runs.cotrain
    import cerec.runs.run  # noqa: F401

    child = Child(folder)
    small = ["users=60", "items=80", "interactions=1500"]
    flags = [word for one in small for word in ("--" + one.split("=")[0], one.split("=")[1])]
    world = ["data", "make", "--out", str(folder / "world"), *flags]
    for argv in (world, *_prepared(folder)):
        code, _ = child.run(argv, folder / "none")
        if code:
            _tell("wrong", f"{argv}: {code}: {child.said.read_text()[-300:]}")
            return
    tasks = []
    for command in COMMANDS:
        work_in, n, expected = folder / "work", 0, ""
        for _ in range(2):  # the first compiles and caches
            _begin(command, work_in)
            code, n = child.run(command.argv(work_in), work_in)
            expected = _digest(work_in / command.result)
        if code:
            _tell("wrong", f"{command.name}: {child.said.read_text()[-300:]}")
        _tell("count", f"operations of {command.name}\t{n}")
        for error in (0, errno.ENOSPC, errno.EROFS):
            tasks += [(command, at, error, expected) for at in range(1, n + 1)]
    rng.shuffle(tasks)
    tasks.sort(key=lambda t: t[2] != 0)  # kills first
    names = {0: "killed", errno.ENOSPC: "full disk", errno.EROFS: "read-only disk"}
    for command, at, error, expected in tasks:
        if time.monotonic() > end:
            return
        found = _try(child, folder / "work", command, at, error, expected)
        _tell("count", f"{names[error]}: {command.name}\t1")
        if found:
            _tell("wrong", f"{command.name}, {names[error]} at {at}: {found}")


def _prepared(folder: Path) -> list[Argv]:
    base = ["train", str(folder / "world"), "--out"]
    return [[*base, str(folder / "run")], [*base, str(folder / "other"), "--seed", "5"]]


def _begin(command: Command, work_in: Path) -> None:
    shutil.rmtree(work_in, ignore_errors=True)
    work_in.mkdir()
    if command.before:
        shutil.copytree(work_in.parent / command.before, work_in / command.result)


def _try(
    child: Child, work_in: Path, command: Command, at: int, error: int, expected: str
) -> str | None:
    """What went wrong when one command met one fault."""
    _begin(command, work_in)
    code, _ = child.run(command.argv(work_in), work_in, at, error)
    said = child.said.read_text(errors="replace")
    if "Traceback" in said and not command.argv(work_in)[0].startswith("-"):
        return f"a trace: {said[-400:]}"
    if error == 0 and code != -signal.SIGKILL:
        return None if code == 0 else f"ended with {code} before the kill: {said[-300:]}"
    if error and code not in (0, 2, 70):
        return f"exit code {code}: {said[-300:]}"
    done = (work_in / command.result).exists() and not command.before
    code, _ = child.run(command.again(work_in), work_in)
    if code == 2 and done and "is already there" in child.said.read_text(errors="replace"):
        code = 0  # killed when all was done: the result is looked at below
    if code:
        return f"refused afterwards: {child.said.read_text(errors='replace')[-300:]}"
    left = [p.name for p in work_in.rglob("*") if ".aside" in p.name]
    left += [p.name for p in work_in.iterdir() if p.name != command.result]
    if left:
        return f"left behind: {left}"
    return None if _digest(work_in / command.result) == expected else "another result"


def _digest(path: Path) -> str:
    """Of a file, or of a folder but for times and lines of history."""
    digest = hashlib.sha256()
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in files:
        if file.is_file() and file.name not in ("history.csv", "run.json", "origin.json"):
            digest.update(str(file.relative_to(path)).encode() + file.read_bytes())
    return digest.hexdigest()


def _tell(kind: str, text: str) -> None:
    sys.stdout.write(f"{kind}\t{' '.join(text.split(chr(10)))}\n")
    sys.stdout.flush()
