"""The files of a finished comparison, and the page of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cerec.files import read_json, replacing, write_json
from cerec_bench.compare.report import has_matplotlib
from cerec_bench.explainers.measures import consistency
from cerec_bench.explainers.plot import scatter_plot
from cerec_bench.explainers.protocol import Answer, Rows
from cerec_bench.explainers.runner import Comparison
from cerec_bench.explainers.summary import Figure, Line, summarise
from cerec_bench.explainers.table import (
    checks_markdown,
    consistency_markdown,
    to_csv,
    to_json,
    to_latex,
    truths_of,
)
from cerec_bench.explainers.truths import Truth, planted


def summary_of(comparison: Comparison) -> tuple[list[Line], dict[str, Any]]:
    """Lines and what they rest on, from finished cells alone."""
    plan, subject = comparison.plan, comparison.subject
    truths = comparison.truths()
    about: dict[str, Any] = {
        "data": subject.name,
        "fingerprint": subject.data.fingerprint,
        "users": len(subject.data.users),
        "items": len(subject.data.items),
        "values": comparison.facts.n_values,
        "pairs": len(comparison.pairs),
        "users_explained": len(np.unique(comparison.pairs.user)),
        "k": plan.k,
        "seeds": plan.seeds,
        "draws": plan.draws,
        "reference": plan.reference if plan.reference in plan.methods else plan.methods[0],
        "agent_epochs": subject.setup.epochs,
        "truths": {
            name: {
                "values_per_pair": float(truth.of_pair.counts.mean()),
                "pairs_without": int((truth.of_pair.counts == 0).sum()),
            }
            for name, truth in truths.items()
        },
    }
    again = comparison.truth_again()
    if again is not None:
        rows = [again.of_pair.row(p) for p in range(len(comparison.pairs))]
        about["truths"]["dns"]["drawn_again"] = _agreement(truths["dns"], rows)
        if subject.data.planted is not None:
            tastes = planted(subject.data, comparison.facts)
            for side in ("liked", "disliked"):
                rows = [getattr(tastes, side).row(int(u)) for u in comparison.pairs.user]
                about["truths"]["dns"][f"planted_{side}"] = _agreement(truths["dns"], rows)
    return summarise(comparison), about


def _agreement(truth: Truth, rows: Sequence[Rows]) -> dict[str, float]:
    """What a set of values for every pair would score."""
    found = consistency(truth, [Answer(values=row) for row in rows], np.arange(len(rows)))
    names = ("precision", "recall", "f1")
    return {name: float(np.nanmean(getattr(found, name))) for name in names}


def write_report(
    folder: Path, results: Mapping[str, tuple[Sequence[Line], dict[str, Any]]]
) -> list[Path]:
    """`table.md`, `.csv`, one `.tex` per truth, and per subject a JSON file and a plot.

    The plot is left out where matplotlib is not installed, or nothing could be computed.
    """
    lines = {name: found for name, (found, _) in results.items()}
    truths = list(dict.fromkeys(t for found in lines.values() for t in truths_of(found)))
    texts = {"table.md": markdown(results), "table.csv": to_csv(lines)}
    texts |= {f"consistency-{truth}.tex": to_latex(lines, truth) for truth in truths}
    made = []
    for file, text in texts.items():
        with replacing(folder / file) as target:
            target.write_text(text, encoding="utf-8")
        made.append(folder / file)
    for name, (found, about) in results.items():
        write_json(folder / f"{name}.json", to_json(found, about))
        made.append(folder / f"{name}.json")
        if has_matplotlib() and any(line.figures for line in found):
            scatter_plot(found, truths_of(found), folder / f"{name}.svg", name)
            made.append(folder / f"{name}.svg")
    return made


def markdown(results: Mapping[str, tuple[Sequence[Line], dict[str, Any]]]) -> str:
    """Table III for every truth, then the checks of every subject."""
    lines = {name: found for name, (found, _) in results.items()}
    parts = []
    for truth in dict.fromkeys(t for found in lines.values() for t in truths_of(found)):
        parts += [f"### Agreement with: {truth}", "", consistency_markdown(lines, truth)]
    for name, found in lines.items():
        about = results[name][1]
        parts += [
            f"### Checks: {name}",
            "",
            f"{about['pairs']:,} pairs of {about['users_explained']:,} users, top {about['k']}.",
            "",
            checks_markdown(found),
        ]
    notes = {line.title: line.note for found in lines.values() for line in found if line.note}
    parts += [f"{title}: {note}.\n" for title, note in notes.items()]
    return "\n".join(parts)


def read_summary(path: Path) -> tuple[list[Line], dict[str, Any]]:
    """Lines and facts of a JSON file of `write_report`."""
    plain = read_json(path)
    found = []
    for line in plain["lines"]:
        figures = {key: _figure(numbers) for key, numbers in line["figures"].items()}
        found.append(Line(**{**line, "figures": figures}))
    return found, plain["about"]


def _figure(plain: dict[str, Any]) -> Figure:
    numbers: dict[str, Any] = {
        k: float("nan") if v is None and k != "p" else v for k, v in plain.items()
    }
    return Figure(**numbers)
