"""The paper's table II as a page: rows are systems and list lengths, columns Recall, NDCG, HR.

Works on what `table.to_json` gives, so on the `table.json` of any finished comparison:

    {"about": {"data", "users", "items", "ks", "seeds", "trials", "fit", "split", "reference", ...},
     "lines": [{"model", "title", "note", "error", "figures": {"recall@20": {"mean", "sd", "p",
                "effect", ...}}, "other": {"coverage@20": ...}, "params", "seeds", "trials",
                "epochs", "timed_out", "seconds", "cpu_seconds", "peak_mb"}, ...]}
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cerec_bench.compare.table import SHOWN

Table = Mapping[str, Any]
_BESIDE = ("mrr", "map", "precision", "ndcg_kgat", "coverage", "novelty", "popularity")


@dataclass(frozen=True, slots=True)
class Published:
    """One row of the paper's table."""

    set: str
    model: str
    k: int
    values: Mapping[str, float]
    """By metric: recall, ndcg, hr."""


def read_published(path: Path) -> list[Published]:
    """Rows `set,model,k,recall,ndcg,hr`."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Published(row["set"], row["model"], int(row["k"]), {m: float(row[m]) for m in SHOWN})
            for row in csv.DictReader(file)
        ]


def set_section(table: Table, published: Sequence[Published] = ()) -> str:
    """One set: its table in the paper's layout, and what each system tried, took and listed.

    `published` rows of systems with the same title stand beside ours, in brackets.
    """
    about = table["about"]
    parts = [f"## {about['data']}", _describe(about), markdown(accuracy(table, published))]
    k = about["ks"][0]
    parts += [f"At {k}, beside accuracy, and what a fit took:", markdown(beside(table, k))]
    parts += ["Chosen settings (the others are the defaults):", markdown(chosen(table))]
    notes = [
        f"- {line['title']}: {line['error'] or line['note']}."
        for line in table["lines"]
        if line["error"] or line["note"]
    ]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def accuracy(table: Table, published: Sequence[Published] = ()) -> list[list[str]]:
    """Head and rows (system, K, Recall, NDCG, HR): best bold, second in italics, a star where the
    users differ from the reference (p < 0.05 after Holm); the paper's number in brackets.
    """
    about, rows = table["about"], []
    theirs = {(p.model, p.k): p.values for p in published}
    order = {name: _order(table, name) for k in about["ks"] for name in (f"{m}@{k}" for m in SHOWN)}
    for line in table["lines"]:
        for k in about["ks"]:
            cells = [_cell(line, f"{m}@{k}", order[f"{m}@{k}"]) for m in SHOWN]
            beside = theirs.get((line["title"], k))
            if beside is not None:
                cells = [f"{cell} ({beside[m]:.4f})" for cell, m in zip(cells, SHOWN, strict=True)]
            rows.append([line["title"] if k == about["ks"][0] else "", str(k), *cells])
    return [["", "K", "Recall", "NDCG", "HR"], *rows]


def beside(table: Table, k: int) -> list[list[str]]:
    """Head and rows: other metrics at k, the test of NDCG@k, and what a fit took."""
    names = [f"{m}@{k}" for m in _BESIDE]
    took = ("p, NDCG", "effect", "seeds", "epochs", "by the clock", "CPU s", "MB")
    rows = [["", *names, *took]]
    for line in table["lines"]:
        if line["error"]:
            rows.append([line["title"], *["—"] * (len(names) + len(took))])
            continue
        figure = line["figures"][f"ndcg@{k}"]
        test = ["", ""]
        if figure["p"] is not None:
            test = [_p(figure["p"]), f"{figure['effect']:+.2f}"]
        rows.append(
            [
                line["title"],
                *(f"{line['other'][name]:.3f}" for name in names),
                *test,
                str(line["seeds"]),
                f"{line['epochs']:.0f}",
                str(line["timed_out"]),
                f"{line['cpu_seconds']:.1f}",
                f"{line['peak_mb']:.0f}",
            ]
        )
    return rows


def chosen(table: Table) -> list[list[str]]:
    """Head and rows: how many settings were tried, and which won."""
    rows = [["", "tried", "won"]]
    for line in table["lines"]:
        if not line["error"]:
            won = ", ".join(f"{name} {_short(value)}" for name, value in line["params"].items())
            rows.append([line["title"], str(line["trials"] or 1), won or "the defaults"])
    return rows


def published_section(rows: Sequence[Published]) -> str:
    """The paper's own table, set by set side by side."""
    sets = list(dict.fromkeys(row.set for row in rows))
    by = {(r.set, r.model, r.k): r.values for r in rows}
    head = ["", "K", *(f"{s} {m}" for s in sets for m in ("Recall", "NDCG", "HR"))]
    out = [head]
    for model, k in dict.fromkeys((r.model, r.k) for r in rows):
        found = [by[s, model, k][m] for s in sets for m in SHOWN]
        out.append([model, str(k), *(f"{x:.4f}" for x in found)])
    return markdown(out)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A head and rows as a Markdown table; all but the first column to the right."""
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:]))


def _describe(about: Table) -> str:
    part, fit = about["split"], about["fit"]
    clock = f", or after {fit['seconds']:.0f} s of CPU" if fit["seconds"] else ""
    return (
        f"{about['users']:,} users, {about['items']:,} items; train {part['train']:,}, validation "
        f"{part['valid']:,}, test {part['test']:,} pairs. {about['trials']} settings tried by "
        f"each, then {about['seeds']} seed{'s' if about['seeds'] > 1 else ''}. A fit ends after "
        f"{fit['patience']} looks without a better NDCG@20 on validation, one look every "
        f"{fit['every']} epochs, at {fit['epochs']} epochs at the latest{clock}."
    )


def _order(table: Table, name: str) -> list[str]:
    there = [line for line in table["lines"] if name in line["figures"]]
    there.sort(key=lambda line: -line["figures"][name]["mean"])
    return [line["model"] for line in there]


def _cell(line: Table, name: str, order: Sequence[str]) -> str:
    figure = line["figures"].get(name)
    if figure is None:
        return "—"
    text = f"{figure['mean']:.4f}" + (f" ± {figure['sd']:.4f}" if line["seeds"] > 1 else "")
    mark = {0: "**", 1: "*"}.get(order.index(line["model"]), "")
    star = r"\*" if figure["p"] is not None and figure["p"] < 0.05 else ""
    return f"{mark}{text}{mark}{star}"


def _p(p: float) -> str:
    return "< 1e-99" if p < 1e-99 else f"{p:.2g}"


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "(" + " ".join(map(str, value)) + ")"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
