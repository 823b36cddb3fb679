"""docs/results/helps.md from the finished cells of experiments/helps.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from helps_compare import LEARNED, comparisons, learned, may_rise
from helps_models import METRICS
from helps_rows import LITERAL_ROW, ONE_STEP
from quoted import filled

from cerec_bench.reproduce.chart import Series, line_chart
from cerec_bench.statistics import spread

RIVALS = [
    "attributes / uniform",
    "attributes / DNS 4",
    "attributes / DNS 16",
    "id / DNS 4",
    "ease",
    "itemknn",
]
WALKS = {
    "imagined, uniform walk": ONE_STEP,
    "imagined, the agent's": f"{ONE_STEP.removesuffix('random')}learned",
    "as negatives, uniform walk": LITERAL_ROW,
    "as negatives, the agent's": "attributes / learned walk (the paper's form)",
}
"""What a walk is used for, and the row of one step; longer ones are named after it."""
FIRST = (
    "attributes / DNS 4",
    "attributes / uniform",
    LITERAL_ROW,
    WALKS["as negatives, the agent's"],
    "popularity",
    "ease",
    "itemknn",
)


def load_cells(folder: Path) -> list[dict[str, Any]]:
    """Every cell of one set that has at least one tested run."""
    cells = []
    for path in sorted(folder.glob("*.json")):
        if path.stem == "comparisons":
            continue
        cell = json.loads(path.read_text()) | {"slug": path.stem}
        if cell["runs"]:
            cells.append(cell)
    return cells


def table(cells: list[dict[str, Any]], against: dict[str, Any], order: list[str]) -> list[str]:
    """The lines of one set's table."""
    lines = [
        "| learns from | seeds | recall@20 | ahead by | p | ndcg@20 | ahead by | p | rate, l2 | "
        "epochs | waits | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    place = {name: n for n, name in enumerate(order)}
    for cell in sorted(cells, key=lambda c: place.get(c["name"], -1)):
        runs = cell["runs"]
        columns = []
        for metric in METRICS:
            row = against.get(metric, {}).get(cell["name"])
            columns.append(figure(runs, metric))
            columns += ["", ""] if row is None else [f"{row['difference']:+.4f}", shown(row)]
        first = runs[0]
        setting = f"{first['learning_rate']}, {first['l2']}" if "l2" in first else ""
        epochs = f"{np.mean([r['epoch'] for r in runs]):.0f}{cut(runs)}" if "epoch" in first else ""
        waits = str(first.get("patience", ""))
        seconds = f"{np.mean([r['cpu_seconds'] for r in runs]):.0f}"
        name = f"**{cell['name']}**" if cell["name"] == against.get("default") else cell["name"]
        lines.append(
            f"| {name} | {len(runs)} | "
            + " | ".join([*columns, setting, epochs, waits, seconds])
            + " |"
        )
    return lines


def shown(row: dict[str, Any]) -> str:
    """Holm-adjusted p; in brackets where it speaks of a single model; of how many, if not all."""
    text = p_text(row.get("p_holm"))
    if not text or row["tested"] == row["seeds"] > 1:
        return text
    return f"({text})" if row["tested"] == 1 else f"{text} ({row['tested']} seeds)"


def p_text(p: float | None) -> str:
    """A p-value; nothing for none."""
    if p is None:
        return ""
    return "< 1e-99" if p < 1e-99 else f"{p:.1e}" if p < 0.001 else f"{p:.3f}"


def answer(name: str, cells: list[dict[str, Any]], rows: list[str]) -> str:
    """One line of a table that has a column for each row: its recall@20, empty where not run."""
    found = {cell["name"]: cell["runs"] for cell in cells}
    texts = [figure(found[r], "recall@20") + cut(found[r]) if r in found else "" for r in rows]
    return f"| {name} | " + " | ".join(texts) + " |"


def cut(runs: list[dict[str, Any]]) -> str:
    """How many models of a row had used up their epochs before their wait was over."""
    n = sum(may_rise(run) for run in runs if "epoch" in run)
    return f" ({n} cut)" if n else ""


def figure(runs: list[dict[str, Any]], metric: str) -> str:
    """Mean and, of several models, standard deviation."""
    mean, sd = spread([run[metric] for run in runs])
    return f"{mean:.4f} ± {sd:.4f}" if len(runs) > 1 else f"{mean:.4f}"


def lengths(name: str, cells: list[dict[str, Any]]) -> list[str]:
    """Lines of the table by length of walk: those of one set that have more than one step."""
    there = {cell["name"] for cell in cells}
    lines = []
    for use, one in WALKS.items():
        plain = one.removesuffix(" (the paper's form)")
        rows = [one, *(f"{plain}, T = {steps}" for steps in range(2, 6))]
        if len(there.intersection(rows)) > 1:
            lines.append(answer(f"{name} | {use}", cells, rows))
    return lines


def gain(name: str, cells: list[dict[str, Any]]) -> Series | None:
    """Recall@20 of imagined items less that of DNS 4 by length of the walk, ± deviation."""
    found = {cell["name"]: [run["recall@20"] for run in cell["runs"]] for cell in cells}
    rows = {steps: f"{ONE_STEP}, T = {steps}" for steps in range(2, 6)} | {1: ONE_STEP}
    there = sorted(steps for steps in rows if rows[steps] in found)
    if "attributes / DNS 4" not in found or len(there) < 2:
        return None
    plain = float(np.mean(found["attributes / DNS 4"]))
    ours = [spread(found[rows[steps]]) for steps in there]
    return Series(
        name,
        there,
        [mean - plain for mean, _ in ours],
        *([mean - plain + sign * sd for mean, sd in ours] for sign in (-1, 1)),
    )


def summary(name: str, against: dict[str, Any], rivals: list[str]) -> list[str]:
    """How far the default is ahead of its rivals on one set."""
    lines = []
    for rival in rivals:
        rows = [against.get(metric, {}).get(rival) for metric in METRICS]
        if any(row is None for row in rows):
            continue
        cells = " | ".join(
            f"{row['difference']:+.4f} | {shown(row)} | {p_text(row['p_seeds'])}" for row in rows
        )
        lines.append(f"| {name} | {rival} | {rows[0]['seeds']} | {cells} |")
    return lines


def shipped(results: Path, default: str) -> list[str]:
    """What `cerec train` gives with nothing set, beside the default row of the set."""
    lines = []
    for path in sorted((results.parent / "shipped").glob("*.json"), key=lambda p: p.stem):
        found = json.loads(path.read_text())
        runs, cells = found["runs"], load_cells(results / found["set"])
        tuned = next(cell["runs"] for cell in cells if cell["name"] == default)
        columns = [f"{figure(runs, m)} | {figure(tuned, m)}" for m in METRICS]
        columns.append(f"{np.mean([run['epoch'] for run in runs]):.0f}")
        name = found["set"] + (", nothing left out" if found["whole"] else "")
        lines.append(f"| {name} | {len(runs)} | {' | '.join(columns)} |")
    heads = "recall@20 | tuned | ndcg@20 | tuned | best epoch"
    return [f"| set | seeds | {heads} |", "|---|---|---|---|---|---|---|", *lines]


def varied(cell: dict[str, Any]) -> bool:
    """True for rows that vary one thing of another: they have their settings from it."""
    return bool(cell["method"].get("like"))


def write(results: Path, default: str, order: list[str], head: str) -> None:
    """Compare, keep the comparisons, and write the page."""
    results.mkdir(parents=True, exist_ok=True)
    pages: list[str] = []
    heads = " | ".join(f"{metric} | p, users | p, seeds" for metric in METRICS)
    ahead = [
        f"| set | the default against | seeds | {heads} |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    answers = [
        "| recall@20 | the default | DNS 4 | uniform | items of a uniform walk as negatives | "
        "items of the agent's walk, as in the paper | popularity | EASE | item-kNN |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    agents = [
        f"| set | learned | against | seeds | {heads} |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    steps = [
        "| set | the walk's items | T = 1 | T = 2 | T = 3 | T = 4 | T = 5 |",
        "|---|---|---|---|---|---|---|",
    ]
    gains = []
    for folder in sorted(p for p in results.iterdir() if p.is_dir()):
        cells = load_cells(folder)
        ours = next((c for c in cells if c["name"] == default), None)
        kept = folder / "comparisons.json"
        against = json.loads(kept.read_text()) if kept.exists() else {}
        if ours is not None:
            before = against if against.get("default") == default else {}
            against = {"default": default, **comparisons(folder, cells, ours, before)}
            against["learned"] = learned(folder, cells, before.get("learned", {}))
            kept.write_text(json.dumps(against, indent=1) + "\n")
        main = [c for c in cells if not varied(c)]
        more = [c for c in cells if varied(c)]
        pages += [f"## {folder.name}", "", *table(main, against, order), ""]
        if more:
            pages += ["Depth, warm start and learned changes:", ""]
            pages += [*table(more, against, order), ""]
        answers.append(answer(folder.name, cells, [default, *FIRST]))
        steps += lengths(folder.name, cells)
        if series := gain(folder.name, cells):
            gains.append(series)
        ahead += summary(folder.name, against, RIVALS)
        for row, gaps in against.get("learned", {}).items():
            agents += summary(f"{folder.name} | {row}", gaps, list(LEARNED[row]))
    if gains:
        picture = results.with_name(f"{results.name}-steps.svg")
        picture.write_text(line_chart(gains, "steps of the uniform walk", "recall@20 over DNS 4"))
        answers += ["", f"![What imagined items add to DNS 4, by steps]({picture.name})", ""]
        answers.append(
            "What imagined items add to DNS 4, by the steps of the walk that finds the value "
            "(the default: three); the bands are ± a standard deviation over seeds."
        )
    lines = [
        filled(head, results.parent).strip().replace("<!-- answers -->", "\n".join(answers)),
        "",
        "## With the settings as shipped",
        "",
        "`cerec train` with nothing set but the filters (and without the agent that explains, "
        "which learns when the recommender is finished), beside the default's row, tuned (`python "
        "experiments/shipped.py --data FOLDER --seeds 5`, files in `docs/results/shipped/`; the "
        "command learns the models that are missing):",
        "",
        *shipped(results, default),
        "",
        "## The default against its rivals",
        "",
        *ahead,
        "",
        "## The agent against a uniform walk",
        "",
        *agents,
        "",
        "## Recall@20 by length of the walk",
        "",
        *steps,
        "",
        *pages,
    ]
    results.with_suffix(".md").write_text("\n".join(lines).rstrip() + "\n")
