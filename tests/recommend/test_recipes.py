"""The recipes of docs/guide/recipes.md run, each where its package is installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import cerec

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "recipes.md"
FIRST, *SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def blocks(text: str) -> list[str]:
    return re.findall(r"```py\n(.*?)```", text, re.DOTALL)


def runnable() -> list[Any]:
    vectors = ""
    out = []
    for section in SECTIONS:
        for block in blocks(section):
            package = re.findall(r"^(?:import|from) (\w+)", block, re.MULTILINE)
            own = next(p for p in package if p != "implicit")
            out.append(pytest.param(own, vectors + block, id=own))
            vectors = (
                block.split("import faiss\n")[-1].split("index =")[0] if own == "faiss" else ""
            )
    return out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("package", "block"), runnable())
def test_a_recipe_runs(package: str, block: str) -> None:
    pytest.importorskip(package, exc_type=ImportError)
    names: dict[str, Any] = {}
    exec(blocks(FIRST)[0] + block, names)  # our own page
    data = names["data"]
    run = cerec.explainer(data, recommender=names["R"], check=package != "surprise")
    found = run.check()
    assert not found.equal or found.equal == found.tried
    user = data.users[0]
    assert run.explain(user, run.recommend(user, k=10)[0].item, k=10).status in (
        *("verified", "canonical", "not_found"),
    )
