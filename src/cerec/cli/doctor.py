"""`cerec doctor`: is everything here, and does it work?"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from cerec import __version__
from cerec.cli.console import out, print_json, remark
from cerec.data.check import check
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import CerecError, RunError
from cerec.files import cache_folder
from cerec.runs.run import Run
from cerec.runs.train import train
from cerec.threads import cores, kernel_threads

CORE = ("numpy", "scipy", "numba", "polars", "safetensors", "typer", "rich")
OPTIONAL = {
    "torch": "agent",
    "fastapi": "serve",
    "uvicorn": "serve",
    "matplotlib": "bench",
    "pandas": "frames of pandas",
    "implicit": "adapter of implicit",
}


def doctor(
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="A run folder to check in full.")
    ] = None,
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile all kernels now, so that nobody waits later.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show versions, threads, memory, optional parts; run a self-test; or check a run folder.

    Examples: cerec doctor
              cerec doctor runs/demo
              cerec doctor --warm
    """
    if warm:
        from cerec.runs.health import warm as compile_all

        remark(f"all kernels are compiled ({compile_all():.0f} s)")
        return
    if run is not None:
        _run(run, json=json)
        return
    facts = {**_environment(), "self_test": self_test()}
    if json:
        print_json(facts)
    else:
        _show(facts)
    failed = [t for t in facts["self_test"] if not t["ok"]]
    if failed:
        raise CerecError(
            f"self-test failed at {failed[0]['step']!r}: {failed[0]['error']}; install the tested "
            "versions with constraints.txt"
        )


def _run(folder: Path, *, json: bool) -> None:
    from cerec.runs.health import examine

    found = examine(folder)
    if json:
        print_json(asdict(found))
    else:
        for name, words in found.files.items():
            out.print(Text(f"{name:24} {'ok' if words == 'sound' else 'not as it was written'}"))
        for line in found.advice:
            out.print(Text(line))
    if found.problem:
        raise RunError(found.problem)


def _environment() -> dict[str, Any]:
    return {
        "cerec": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in CORE},
        "optional": {name: _version(name) for name in OPTIONAL},
        "threads": {
            "cores": cores(),
            "kernels": kernel_threads(),
        },
        "memory_gb": _memory(Path("/proc/meminfo")),
        "cache": str(cache_folder()),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _memory(meminfo: Path) -> dict[str, float | None]:
    """Total and free memory, where the system tells."""
    lines = meminfo.read_text().splitlines() if meminfo.exists() else []
    table = dict(line.split(":", 1) for line in lines if ":" in line)

    def gigabytes(key: str) -> float | None:
        return round(int(table[key].split()[0]) / 2**20, 1) if key in table else None

    return {"total": gigabytes("MemTotal"), "available": gigabytes("MemAvailable")}


def self_test() -> list[dict[str, Any]]:
    """Generate a small world, train, explain: each step's outcome and seconds."""
    state: dict[str, Any] = {}
    outcomes = []
    for step, work in _STEPS.items():
        start = time.perf_counter()
        try:
            work(state)
            error = None
        except Exception as problem:  # any failure is a finding here
            error = f"{type(problem).__name__}: {problem}"
        seconds = round(time.perf_counter() - start, 3)
        outcomes.append({"step": step, "ok": error is None, "seconds": seconds, "error": error})
        if error:
            break
    return outcomes


def _generate(state: dict[str, Any]) -> None:
    state["data"] = make_world(WorldConfig(users=60, items=80, interactions=900), seed=0)
    if not check(state["data"]).usable:
        raise RuntimeError("the generated data cannot be used")


def _train(state: dict[str, Any]) -> None:
    state["run"] = train(state["data"], seed=0)


def _explain(state: dict[str, Any]) -> None:
    run: Run = state["run"]
    user = run.data.users[0]
    listed = run.recommend(user, k=5)
    if [run.rank(user, line.item) for line in listed] != [1, 2, 3, 4, 5]:
        raise RuntimeError("ranks and list disagree")
    found = [run.explain(user, line.item, k=5) for line in listed]
    if not any(e.status == "verified" and (e.rank_after or 0) > 5 for e in found):
        raise RuntimeError("no listed item has an explanation")


_STEPS: dict[str, Callable[[dict[str, Any]], None]] = {
    "generate a world": _generate,
    "train": _train,
    "recommend and explain": _explain,
}


def _show(facts: dict[str, Any]) -> None:
    threads, memory = facts["threads"], facts["memory_gb"]
    rows = {name: facts[name] for name in ("cerec", "python", "platform")}
    rows |= {name: found or "missing" for name, found in facts["packages"].items()}
    for name, found in facts["optional"].items():
        rows[f"{name} ({OPTIONAL[name]})"] = found or "not installed (optional)"
    rows["threads"] = f"{threads['cores']} cores, {threads['kernels']} for kernels (CEREC_THREADS)"
    rows["memory"] = f"{memory['available']} of {memory['total']} GB available"
    rows["cache"] = facts["cache"]
    table = Table(show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, text in rows.items():
        table.add_row(name, Text(text))
    out.print(table)
    for test in facts["self_test"]:
        mark = Text("ok    ", style="green") if test["ok"] else Text("failed", style="bold red")
        out.print(mark, Text(f" {test['step']} ({test['seconds']:.2f} s)"), sep="")
