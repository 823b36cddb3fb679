"""docs/results/helps.md from the finished cells of experiments/helps.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import helps_users
import numpy as np
from helps_models import METRICS
from helps_rows import AS_LEARNED, BY_ID, LITERAL_ROW, ONE_STEP, SHORT_ROW
from quoted import filled
from scipy.stats import ttest_1samp, ttest_ind

from cerec.evaluate.statistics import compare, holm, spread

RIVALS = [
    "attributes / uniform",
    "attributes / DNS 4",
    "attributes / DNS 16",
    "id / DNS 4",
    "ease",
    "itemknn",
]
LEARNED = {
    "attributes / DNS 4 + imagined by need, learned": (
        ONE_STEP,
        AS_LEARNED,
        SHORT_ROW,
    ),
    "attributes / learned walk (the paper's form)": (
        LITERAL_ROW,
        "attributes / walk, after 10 epochs of uniform",
    ),
    "id / learned walk (the paper's form)": (BY_ID, "id / walk, after 10 epochs of uniform"),
}
"""Rows in which the agent chooses, and the same with a uniform walk, without and with its start."""
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
    "popularity",
    "ease",
    "itemknn",
)


def comparisons(
    folder: Path, cells: list[dict[str, Any]], ours: dict[str, Any], kept: dict[str, Any]
) -> dict[str, Any]:
    """Our row against every other: difference, interval, Wilcoxon over users, Holm over rows.

    Where the numbers of users are not there, the comparison made with them (`kept`) stands; where
    none was made, there is the difference of the means, and no p over users.
    """
    out: dict[str, Any] = {}
    for metric in METRICS:
        rows = {}
        for cell in cells:
            if cell is ours:
                continue
            line = cell["method"]["vectors"] == "line"
            both = min(len(cell["runs"]), len(ours["runs"]))
            mine = len(ours["runs"]) if line else both
            values = helps_users.mean(folder, ours["slug"], metric, mine)
            others = helps_users.mean(folder, cell["slug"], metric, both)
            models = [[run[metric] for run in c["runs"]] for c in (ours, cell)]
            row = kept.get(metric, {}).get(cell["name"])
            if values is not None and others is not None:
                gap = compare(values, others)
                row = {
                    "difference": gap.difference,
                    "low": gap.low,
                    "high": gap.high,
                    "p": gap.p,
                    "effect": gap.effect,
                    "users": gap.n,
                    "seeds": mine,
                }
            elif row is None or row["p"] is None or not holds(row, metric, cell, ours):
                means = np.mean(models[0][:mine]), np.mean(models[1][:both])
                row = {"difference": float(means[0] - means[1]), "p": None, "seeds": mine}
            rows[cell["name"]] = {**row, "p_seeds": over_seeds(*models, line=line)}
        tested = [row for row in rows.values() if row["p"] is not None]
        for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
            row["p_holm"] = p
        out[metric] = rows
    return out


def over_seeds(ours: list[float], others: list[float], *, line: bool) -> float | None:
    """P of Welch's t over the models of two rows, or of one and a line, which has no spread.

    None where a row has a single model.
    """
    if line and len(ours) > 1:
        return float(ttest_1samp(ours, others[0]).pvalue)
    if min(len(ours), len(others)) < 2:
        return None
    return float(ttest_ind(ours, others, equal_var=False).pvalue)


def holds(row: dict[str, Any], metric: str, cell: dict[str, Any], ours: dict[str, Any]) -> bool:
    """True where a kept comparison is of the models that are there now, not of earlier ones."""
    mine, others = (
        np.mean([run[metric] for run in runs[: row["seeds"]]])
        for runs in (ours["runs"], cell["runs"])
    )
    return bool(abs(mine - others - row["difference"]) < 1e-6)


def learned(folder: Path, cells: list[dict[str, Any]], kept: dict[str, Any]) -> dict[str, Any]:
    """Each row in which the agent chooses against its likes that learned as long as it did."""
    named = {cell["name"]: cell for cell in cells}
    return {
        name: comparisons(
            folder,
            [named[n] for n in others if n in named and span(named[n]) == span(named[name])],
            named[name],
            kept.get(name, {}),
        )
        for name, others in LEARNED.items()
        if name in named
    }


def span(cell: dict[str, Any]) -> tuple[int, int]:
    """How long a row learned: its wait, and the epochs allowed where they cut a model short."""
    cut = [run["allowed"] for run in cell["runs"] if may_rise(run)]
    return cell["runs"][0]["patience"], max(cut, default=0)


def may_rise(run: dict[str, Any]) -> bool:
    """True for a model whose epochs were used up before its wait was over."""
    return bool(run["epoch"] + run["patience"] > run["allowed"])


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
    """Holm-adjusted p; in brackets where it speaks of a single model."""
    text = p_text(row.get("p_holm"))
    return f"({text})" if text and row["seeds"] == 1 else text


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
        "| recall@20 | the default | DNS 4 | uniform | the paper's form | popularity | EASE | "
        "item-kNN |",
        "|---|---|---|---|---|---|---|---|",
    ]
    agents = [
        f"| set | learned | against | seeds | {heads} |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    steps = [
        "| set | the walk's items | T = 1 | T = 2 | T = 3 | T = 4 | T = 5 |",
        "|---|---|---|---|---|---|---|",
    ]
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
        ahead += summary(folder.name, against, RIVALS)
        for row, gaps in against.get("learned", {}).items():
            agents += summary(f"{folder.name} | {row}", gaps, list(LEARNED[row]))
    lines = [
        filled(head, results.parent).strip().replace("<!-- answers -->", "\n".join(answers)),
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
