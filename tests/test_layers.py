"""The architecture: a stage imports only the stages before it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import cerec

SOURCE = Path(cerec.__file__).parent
STAGES = [
    "data",
    "graph",
    "recommend",
    "sample",
    "agent",
    "training",
    "explain",
    "evaluate",
    "serve",
]
SHARED = {"errors", "files", "rng", "ragged", "threads", "memory"}


def imported(path: Path) -> set[str]:
    """First name below `cerec` of every import in a file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module]
            if node.module == "cerec":
                names = [f"cerec.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("cerec.")}
    return found


def files(*folders: str) -> list[Path]:
    return sorted(p for folder in folders for p in (SOURCE / folder).glob("**/*.py"))


@pytest.mark.parametrize("path", files(*STAGES), ids=lambda p: str(p.relative_to(SOURCE)))
def test_stage_imports_only_earlier_stages(path: Path) -> None:
    stage = path.relative_to(SOURCE).parts[0]
    allowed = set(STAGES[: STAGES.index(stage) + 1]) | SHARED
    if stage == "serve":
        allowed |= {"run", "config", "__version__"}
    assert imported(path) <= allowed


def test_only_the_command_line_imports_the_experiments() -> None:
    """`reproduce` stands on top: it may use everything but the command line."""
    inside = files("reproduce")
    assert inside
    assert all("cli" not in imported(path) for path in inside)
    others = [p for p in SOURCE.rglob("*.py") if p not in inside and p.parent.name != "cli"]
    assert not [p for p in others if "reproduce" in imported(p)]


def test_no_file_is_over_300_lines() -> None:
    lines = {str(p.relative_to(SOURCE)): p.read_text().count("\n") for p in SOURCE.rglob("*.py")}
    assert not {name: n for name, n in lines.items() if n > 300}


def test_test_files_have_names_of_their_own() -> None:
    names = [p.name for p in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
