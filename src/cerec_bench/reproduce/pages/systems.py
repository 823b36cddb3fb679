"""What the pages of the compared systems include: presets and numbers, written from code and files.

`docs/systems/NAME.md` holds the words and includes `docs/systems/generated/NAME.md`, which is
written when the documentation is built.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from cerec.files import read_json, replacing
from cerec_bench.reproduce.plan import Table
from cerec_bench.reproduce.text import Grid, number
from cerec_bench.systems.registry import SYSTEMS

EXPLAINERS = ("rdexp", "neuacf", "cadsi")
"""Systems that stand in the table of explanations, by the beginning of their method's name."""
NAMES = tuple(dict.fromkeys((*SYSTEMS, *EXPLAINERS)))


def write_snippets(results: Path, folder: Path) -> list[Path]:
    """One file per system in `folder`, from the result files in `results`."""
    made = []
    for name in NAMES:
        path = folder / f"{name}.md"
        with replacing(path) as target:
            target.write_text(snippet(name, results), encoding="utf-8")
        made.append(path)
    return made


def snippet(name: str, folder: Path) -> str:
    """Presets, then numbers on test, then agreement with the truths."""
    parts = []
    if name in SYSTEMS:
        parts += ["## Settings", _settings(name).markdown()]
        parts += ["## Numbers", _numbers(name, folder)]
    if name in EXPLAINERS:
        parts += ["## As an explainer", _explainer(name, folder)]
    return "\n\n".join(parts) + "\n"


def _settings(name: str) -> Grid:
    system = SYSTEMS[name]
    plain, authors = system.config(), system.authors
    rows = [
        [f"`{f.name}`", _text(getattr(plain, f.name)), _text(getattr(authors, f.name))]
        for f in dataclasses.fields(system.config)
    ]
    first = dataclasses.fields(system.config)[0].name
    caption = f"`cerec train FOLDER --model {name} --set {name}.{first}=...`"
    return Grid(caption, ["setting", "here", "the authors'"], rows)


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _tables(folder: Path) -> dict[str, Table]:
    return {path.stem: read_json(path) for path in sorted(folder.glob("*.json"))}


def _numbers(name: str, folder: Path) -> str:
    rows = []
    for data, table in _tables(folder / "recommendation").items():
        lines = {line["model"]: line for line in table["lines"]}
        for model in (name, "linear"):
            line = lines.get(model)
            if line is None or (model == "linear" and name not in lines):
                continue
            cells = [_figure(line, f"{m}@20") for m in ("recall", "ndcg", "hr")]
            rows.append([f"{data}, {line['title']}", *cells, str(line["seeds"])])
    if not rows:
        return "Not computed here; `cerec bench reproduce table2` does."
    head = ["", "recall@20", "ndcg@20", "hr@20", "seeds"]
    return Grid("On test, the linear recommender beside it.", head, rows).markdown()


def _figure(line: Table, name: str) -> str:
    figure = line["figures"].get(name)
    if figure is None:
        return "-"
    return number(figure["mean"]) + (f" ± {figure['sd']:.4f}" if line["seeds"] > 1 else "")


def _explainer(name: str, folder: Path) -> str:
    rows = []
    for data, table in _tables(folder / "consistency").items():
        for line in table["lines"]:
            mine = line["method"].startswith(name) or line["method"] == "cerec"
            if mine and "f1:dns" in line["figures"]:
                keys = ("precision:dns", "recall:dns", "f1:dns", "flipped")
                cells = [number(100 * line["figures"][key]["mean"], 2) for key in keys]
                rows.append([f"{data}, {line['title']}", *cells])
    if not rows:
        return "Not computed here; `cerec bench reproduce table3` does."
    head = ["", "precision %", "recall %", "F1 %", "flips %"]
    caption = "Agreement with the DNS truth, and how often the item leaves the list."
    return Grid(caption, head, rows).markdown()
