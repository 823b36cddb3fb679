"""The architecture: a module imports only the rooms before its own, lazily or not."""

from __future__ import annotations

import ast
import importlib
from collections import Counter
from pathlib import Path

import pytest

import cerec

SOURCE = Path(cerec.__file__).parents[1]
ROOMS = [
    *("lazy", "errors", "asides", "files", "manifest", "rng", "threads", "shutdown"),
    "checkpoint",
    *("settings", "data", "metrics", "recommend", "walk", "agent", "explain", "audit", "runs"),
    *("serve", "cli"),
]
"""Rooms of `cerec`, each of which may import those before it and itself."""
BENCH = [
    "cells",
    "statistics",
    "systems",
    "report",
    "answers",
    "firmness",
    "audit",
    "readable",
    "explainers",
    "plans",
    "kinds",
    "cli",
]
FREE = {"cerec", "cerec.__main__", "cerec.adapters", "cerec_bench"}
"""The doors, which import public names when they are used."""
AGENT = {"cerec.runs.agents", "cerec.runs.cotrain"}
"""What trains may import the agent, inside its functions; nothing else after it may."""
TORCH = {"cerec.recommend.lightgcn", "cerec.recommend.sparse"}
"""Modules outside `agent` and the bench that use torch; nothing imports them before they are
needed."""
LAZY_TORCH = {"cerec.rng", "cerec.threads"}

FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("cerec", "cerec_bench")
    for path in sorted((SOURCE / package).rglob("*.py"))
}


def imported(path: Path, *, at_import: bool = False) -> set[str]:
    """All modules a file imports; `at_import`: without those inside functions and type checks."""
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        )
        if at_import and later:
            continue
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {node.module, *(name for name in inner if name in FILES)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def room(module: str) -> tuple[str, str]:
    """Package and room of a module, both empty for what is not ours."""
    package, _, rest = module.partition(".")
    return (package, rest.partition(".")[0]) if package in ("cerec", "cerec_bench") else ("", "")


@pytest.mark.parametrize("module", FILES)
def test_every_module_imports_only_earlier_rooms(module: str) -> None:
    if module in FREE:
        return
    package, own = room(module)
    order = ROOMS if package == "cerec" else BENCH
    assert own in order, f"{module} is in no room: give it one, or a line in ROOMS"
    for name in imported(FILES[module]):
        there, other = room(name)
        if there == package and other:
            assert order.index(other) <= order.index(own), f"{module} imports {name}"
        if package == "cerec":
            assert there != "cerec_bench", (
                f"{module} imports {name}: the bench is on the other side"
            )


@pytest.mark.parametrize("module", [m for m in FILES if room(m)[0] == "cerec"])
def test_only_what_trains_imports_the_agent(module: str) -> None:
    own = room(module)[1]
    if own == "agent":
        return
    if module in AGENT:
        assert not any(room(name)[1] == "agent" for name in imported(FILES[module], at_import=True))
    else:
        assert not any(name.startswith("cerec.agent") for name in imported(FILES[module]))


@pytest.mark.parametrize("module", [m for m in FILES if room(m)[0] == "cerec"])
def test_only_the_agent_imports_torch(module: str) -> None:
    if room(module)[1] == "agent":
        return
    eager = imported(FILES[module], at_import=True)
    assert module in TORCH or not any(name.partition(".")[0] == "torch" for name in eager)
    assert module in TORCH or not TORCH & eager
    if module not in TORCH | LAZY_TORCH:
        assert not any(name.partition(".")[0] == "torch" for name in imported(FILES[module]))


def test_no_file_is_over_300_lines() -> None:
    lines = {module: path.read_text().count("\n") for module, path in FILES.items()}
    assert not {name: n for name, n in lines.items() if n > 300}


def test_test_files_have_names_of_their_own() -> None:
    names = [p.name for p in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_no_two_classes_have_one_name() -> None:
    """`Parts` is a tuple of two kernels."""
    trees = [ast.parse(FILES[m].read_text()) for m in FILES if room(m)[0] == "cerec"]
    found = Counter(n.name for t in trees for n in t.body if isinstance(n, ast.ClassDef))
    public = {name for name, n in found.items() if n > 1 and not name.startswith("_")}
    assert public <= {"Parts"}


@pytest.mark.parametrize("package", ["data", "explain", "recommend", "runs"])
def test_a_public_name_is_no_module(package: str) -> None:
    found = importlib.import_module(f"cerec.{package}")
    files = {path.stem for path in Path(found.__path__[0]).iterdir()}
    assert not files & set(found.__all__)  # else importing the module hides the name
