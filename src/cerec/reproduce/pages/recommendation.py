"""Table II: recommendation."""

from __future__ import annotations

from cerec.reproduce.pages.parts import title_of
from cerec.reproduce.plan import Table
from cerec.reproduce.store import Results
from cerec.reproduce.text import Block, Grid, number

SHOWN = ("recall", "ndcg", "hr")


def blocks(results: Results) -> list[Block]:
    """One table per set."""
    out: list[Block] = [
        "All systems on one split, settings chosen on validation with the same number of trials "
        "for each, then several seeds on test, over the whole catalogue. A star: differs from "
        "CERec over users, p < 0.05 (Wilcoxon signed-rank, Holm-corrected). "
        "[How](../guide/compare.md).",
    ]
    for result in results.of("table"):
        out += [f"## {title_of(results, result.cell.set)}", table(result.found)]
        notes = [
            f"- {line['title']}: {line['error'] or line['note']}."
            for line in result.found["lines"]
            if line["error"] or line["note"]
        ]
        if notes:
            out.append("\n".join(notes))
    return out


def table(found: Table) -> Grid:
    """The table of one set; the best of each column is bold."""
    names = [f"{metric}@{k}" for k in found["about"]["ks"] for metric in SHOWN]
    best = {
        name: max(
            (line["figures"][name]["mean"] for line in found["lines"] if name in line["figures"]),
            default=None,
        )
        for name in names
    }
    rows = []
    for line in found["lines"]:
        cells = [_cell(line, name, best[name]) for name in names]
        rows.append([line["title"], *cells, f"{line['seconds']:.0f}" if line["seeds"] else "-"])
    about = found["about"]
    caption = (
        f"{about['seeds']} seeds, {about['trials']} settings tried by each; mean ± standard "
        "deviation over seeds."
    )
    return Grid(caption, ["", *names, "seconds a fit"], rows)


def _cell(line: Table, name: str, best: float | None) -> str:
    figure = line["figures"].get(name)
    if figure is None:
        return "-"
    star = "*" if figure["p"] is not None and figure["p"] < 0.05 else ""
    spread = f" ± {figure['sd']:.4f}" if line["seeds"] > 1 else ""
    text = number(figure["mean"]) + spread
    return (f"**{text}**" if figure["mean"] == best else text) + ("\\" + star if star else "")
