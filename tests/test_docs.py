"""Every Python example of the README and the docs runs, page by page, in an empty folder."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:OpenBLAS")  # implicit, where BLAS has threads
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CEREC_CACHE", str(tmp_path / "cache"))
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)  # our own pages


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_table_is_empty(page: Path) -> None:
    lines = [*page.read_text(encoding="utf-8").splitlines(), ""]
    for n, line in enumerate(lines):
        if re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", line):
            assert lines[n + 1].startswith("|"), f"{page.name}, line {n + 1}: a table without rows"


PUBLIC = re.compile(
    r"^(?:from (cerec(?:\.\w+)*) import ([\w, ]+)|import (cerec(?:\.\w+)*))", re.MULTILINE
)


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_import_public_names_only(page: Path) -> None:
    for module, names, whole in PUBLIC.findall(page.read_text(encoding="utf-8")):
        assert (module or whole).count(".") < 2, f"{page.name}: {module or whole} is not public"
        public = importlib.import_module(module or whole)
        for name in filter(None, (n.strip() for n in names.split(","))):
            allowed = getattr(public, "__all__", [name])
            assert name in allowed, f"{page.name}: {name} is no public name of {module}"
            assert getattr(public, name) is not None
