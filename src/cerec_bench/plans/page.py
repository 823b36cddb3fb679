"""The page of an experiment, from its cells alone."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cerec_bench.cells import Cell
from cerec_bench.plans.experiment import Done
from cerec_bench.plans.files import KINDS, Part, Point
from cerec_bench.report.charts import Series, has_matplotlib, line_chart
from cerec_bench.report.pages import Page
from cerec_bench.report.tables import Grid
from cerec_bench.statistics import spread

_QUOTED = re.compile(r"\{([^|{}]*)\|([^|{}]*)\|([^|{}]+)\|([^|{}]+)\}")
_MISSING = "The sets that answer this are not measured yet; the table has what is."


def write_page(done: Done, results: Path, pages: Path) -> Path:
    """Write the page of an experiment and its full tables; the path of the page."""
    experiment, chart = done.experiment, ""
    tables, notes = [], []
    for part in experiment.parts:
        own, said = tables_of(done, part)
        tables += own
        notes += said
        if part.chart and not chart and has_matplotlib():
            chart = _chart(done, part, results)
    for kind in dict.fromkeys(part.kind for part in experiment.parts if part.kind in KINDS):
        module: Any = importlib.import_module(f"cerec_bench.kinds.{kind}")
        here = {p: cell for p, cell in done.found.items() if p.part.kind == kind}
        if hasattr(module, "summary") and len(here) > 1:
            tables.insert(0, module.summary(experiment, here))
    page = Page(
        experiment.name,
        experiment.question,
        answered(done),
        tables,
        [*experiment.how, _source(done)],
        [*_grouped(done.missing), *experiment.lacks],
        notes,
        chart,
    )
    return page.write(results, pages)


def tables_of(done: Done, part: Part) -> tuple[list[Grid], list[str]]:
    """The tables of a part, by its kind or by its columns, and notes on them."""
    here = {p: cell for p, cell in done.found.items() if p.part == part}
    if part.kind in KINDS and here:
        kind: Any = importlib.import_module(f"cerec_bench.kinds.{part.kind}")
        if hasattr(kind, "tables"):
            tables, notes = kind.tables(done.experiment, here)
            return list(tables), list(notes)
    if not part.columns or not here:
        return [], []
    rows = []
    for (name, variant), cells in _by_variant(here).items():
        title = done.experiment.sets[name].title
        ahead = f"{title}, {variant}" if variant else title
        rows.append([ahead, str(len(cells)), *(_over(cells, c) for c in part.columns.values())])
    caption = "Mean ± standard deviation over seeds." if part.seeds > 1 else ""
    return [Grid(caption, ["", "seeds", *part.columns], rows)], []


def answered(done: Done) -> str:
    """The answer with its numbers in place."""

    def quoted(match: re.Match[str]) -> str:
        name, variant, path, form = match.groups()
        values = [
            value
            for p, cell in done.found.items()
            if p.set == name and p.variant == variant
            if (value := at(cell.found, path)) is not None
        ]
        if not values:
            raise KeyError(match.group(0))
        return shown(spread(values)[0], form)

    try:
        return _QUOTED.sub(quoted, done.experiment.answer) or _MISSING
    except KeyError:
        return _MISSING


def at(found: Any, path: str) -> float | None:
    """The number at the end of `a/b/c`; None where there is none. Lists take numbers; -1: last."""
    for step in path.split("/"):
        if isinstance(found, list):
            found = found[int(step)] if found else None
        elif isinstance(found, dict):
            found = found.get(step)
        else:
            return None
    return None if found is None else float(found)


def shown(value: float, form: str) -> str:
    """A number as `.4`, `%.1` or `,`."""
    if form == ",":
        return f"{round(value):,}"
    return f"{value * (100 if form[0] == '%' else 1):,.{form.rpartition('.')[2]}f}"


def _over(cells: Sequence[Cell], column: str) -> str:
    path, _, form = column.partition("|")
    values = [v for cell in cells if (v := at(cell.found, path)) is not None]
    if not values:
        return "-"
    mean, sd = spread(values)
    form = form or ".4"
    return shown(mean, form) + (f" ± {shown(sd, form)}" if len(values) > 1 else "")


def _by_variant(here: dict[Point, Cell]) -> dict[tuple[str, str], list[Cell]]:
    """(set, variant) -> its seeds, sets kept together."""
    out: dict[tuple[str, str], list[Cell]] = {}
    for point, cell in here.items():
        out.setdefault((point.set, point.variant), []).append(cell)
    sets = list(dict.fromkeys(name for name, _ in out))
    return {key: out[key] for name in sets for key in out if key[0] == name}


def _chart(done: Done, part: Part, results: Path) -> str:
    """A chart of a number by a setting, or of the rows of a list, over the first seed's cells."""
    here = {p: cell for p, cell in done.found.items() if p.part == part}
    x, y, series = part.chart["x"], part.chart["y"], []
    if rows := part.chart.get("rows"):
        for point, cell in here.items():
            curve = [row for row in cell.found.get(rows, []) if y in row]
            label = ", ".join(
                w for w in (done.experiment.sets[point.set].title, point.variant) if w
            )
            if point.seed == 0:
                series.append(Series(label, [row[x] for row in curve], [row[y] for row in curve]))
    else:
        for name in dict.fromkeys(p.set for p in here):
            mine = _by_variant({p: cell for p, cell in here.items() if p.set == name})
            xs = [float(part.variants[variant][x]) for _, variant in mine]
            found = [[at(cell.found, y) or 0.0 for cell in cells] for cells in mine.values()]
            mean, sd = zip(*map(spread, found), strict=True)
            low, high = ([m + s * d for m, d in zip(mean, sd, strict=True)] for s in (-1, 1))
            series.append(Series(done.experiment.sets[name].title, xs, mean, low, high))
    if not series:
        return ""
    file = f"{part.name}.svg"
    line_chart(series, part.chart.get("x_label", x), part.chart.get("y_label", y), results / file)
    return file


def _grouped(points: Sequence[Point]) -> list[str]:
    """One line per part and set."""
    groups: dict[tuple[str, str], dict[str, list[int]]] = {}
    for p in points:
        groups.setdefault((p.part.name, p.set), {}).setdefault(p.variant, []).append(p.seed)
    out = []
    for (part, name), variants in groups.items():
        texts = [
            (f"{v}, " if v else "") + f"seed {', '.join(map(str, seeds))}"
            for v, seeds in variants.items()
        ]
        out.append(f"Not computed: {part}, {name}: {'; '.join(texts)}.")
    return out


def _source(done: Done) -> str:
    command = f"Made by `cerec bench run {done.experiment.name} --data FOLDER`"
    times = sorted(cell.about["time"][:10] for cell in done.found.values())
    if not times:
        return command + "."
    days = times[0] if times[0] == times[-1] else f"{times[0]} to {times[-1]}"
    seconds = sum(cell.about["seconds"] for cell in done.found.values())
    return (
        f"{command}: {len(times)} cell{'s' if len(times) > 1 else ''}, {days}, "
        f"{seconds / 60:.0f} min. Each holds its settings, seed, split, versions and commit."
    )
