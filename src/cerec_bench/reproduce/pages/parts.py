"""What the pages share: grouping of results, what is missing, where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cerec_bench.reproduce.plan import Cell
from cerec_bench.reproduce.store import Result, Results
from cerec_bench.reproduce.text import Block, spread_text

TEST = ("recall@20", "ndcg@20", "hr@20")


def title_of(results: Results, name: str) -> str:
    """A data set as people call it."""
    return results.experiment.sets[name].title


def by_variant(found: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """(set, variant) -> its seeds, in the order of the plan, sets kept together."""
    out: dict[tuple[str, str], list[Result]] = {}
    for result in found:
        out.setdefault((result.cell.set, result.cell.variant), []).append(result)
    sets = list(dict.fromkeys(name for name, _ in out))
    return {key: out[key] for name in sets for key in out if key[0] == name}


def over_seeds(seeds: list[Result], value: Callable[[Any], float], digits: int = 4) -> str:
    """Mean and spread of one figure."""
    return spread_text([value(result.found) for result in seeds], digits)


def figures_on_test(seeds: list[Result]) -> list[str]:
    """Recall, NDCG and hit rate at 20 on test."""

    def of(name: str) -> Callable[[Any], float]:
        return lambda found: found["test"][name]

    return [over_seeds(seeds, of(name)) for name in TEST]


def closing(results: Results) -> list[Block]:
    """What is missing, and where the numbers come from."""
    blocks: list[Block] = []
    if results.missing:
        lines = [f"- {text}" for text in _grouped(results.missing)]
        blocks += ["## What is missing", "\n".join(["Not computed:", "", *lines])]
    if lines := _outdated(results.done):
        text = (
            "These settings had other defaults when the cells were computed, or did not exist yet "
            "(not every cell makes use of them):"
        )
        blocks += ["## Made with earlier defaults", "\n".join([text, "", *lines])]
    blocks += ["## Where this comes from", _source(results)]
    return blocks


def _grouped(cells: Iterable[Cell]) -> list[str]:
    """One line per part and set."""
    groups: dict[tuple[str, str], dict[str, list[int]]] = {}
    for cell in cells:
        variants = groups.setdefault((cell.part, cell.set), {})
        variants.setdefault(cell.variant, []).append(cell.seed)
    out = []
    for (part, name), variants in groups.items():
        texts = [
            (f"{v}, " if v else "") + f"seed {', '.join(map(str, seeds))}"
            for v, seeds in variants.items()
        ]
        out.append(f"{part}, {name}: {'; '.join(texts)}")
    return out


def _outdated(done: Iterable[Result]) -> list[str]:
    """The cells of each part and set that were made with the same other settings."""
    groups: dict[str, list[Cell]] = {}
    for result in done:
        if changed := result.changed:
            texts = [
                f"`{name}` {_value(was)} → {_value(now)}" for name, (was, now) in changed.items()
            ]
            groups.setdefault(", ".join(texts), []).append(result.cell)
    return [f"- {text}: {cells}" for text in groups for cells in _grouped(groups[text])]


def _value(value: Any) -> str:
    return "none" if value is None else str(value)


def _source(results: Results) -> str:
    experiment = results.experiment
    text = (
        f"Settings: `src/cerec_bench/reproduce/experiments/{experiment.name}.toml` and "
        f"`sets.toml`. "
        f"Results: `{experiment.page}/`, one file per cell with its settings, command, commit, "
        "versions, seed, data fingerprint and time. This page is written from those files alone "
        f"by `cerec bench reproduce {experiment.name} --render-only --out docs/results`"
    )
    if not results.done:
        return text + "; there are none."
    known = [r for r in results.done if r.about]
    if not known:
        return text + f". {len(results.done)} sets."
    times = sorted(r.about["time"][:10] for r in known)
    days = times[0] if times[0] == times[-1] else f"{times[0]} to {times[-1]}"
    seconds = sum(r.about["seconds"] for r in known)
    text += f". {len(results.done)} cells, {days}, {seconds / 60:.0f} min in all."
    return " ".join([text, *_splits(known), *_sizes(known)])


def _splits(known: Iterable[Result]) -> list[str]:
    """How the data were split, where the runs were."""
    out = []
    for r in known:
        how = r.about.get("run", {}).get("split")
        if how and how["method"] == "auto":
            shares = "/".join(f"{100 * how[part]:.0f}" for part in ("train", "valid", "test"))
            out.append(
                f"Split: as the files come, {100 * how['carve']:.0f} % of train for validation "
                f"where they bring none; {shares} per user at random where they come in one."
            )
        elif how:
            out.append("Split: " + ", ".join(f"{k} {v}" for k, v in how.items()) + ".")
    return list(dict.fromkeys(out))


def _sizes(known: Iterable[Result]) -> list[str]:
    """How much was looked at in each part and set, where a part says so."""
    sizes: dict[str, list[str]] = {}
    for r in known:
        text = ", ".join(f"{name} {_many(value)}" for name, value in r.cell.options.items())
        where = f"{r.cell.part} {r.cell.set}"
        if text and where not in sizes.setdefault(text, []):
            sizes[text].append(where)
    if not sizes:
        return []
    texts = (f"{', '.join(where)}: {text}" for text, where in sizes.items())
    return [f"Sample sizes, at the most: {'; '.join(texts)}."]


def _many(value: Any) -> str:
    if not isinstance(value, int):
        return str(value)
    return "all" if value >= 1_000_000 else f"{value:,}"
