"""Encoder, sampler, reward, negatives: one changed at a time."""

from __future__ import annotations

from statistics import mean

from cerec_bench.reproduce.pages import explained
from cerec_bench.reproduce.pages.parts import by_variant, figures_on_test, over_seeds, title_of
from cerec_bench.reproduce.plan import Table
from cerec_bench.reproduce.store import Result, Results
from cerec_bench.reproduce.text import Block, Grid


def blocks(results: Results) -> list[Block]:
    """One table of agents, one of recommenders."""
    out: list[Block] = [
        "One thing is changed at a time; the default is *encoder: sage* with attention in both "
        "steps and both halves of the reward.",
        "## Encoder, sampler, reward",
    ]
    rows = []
    for (name, variant), seeds in by_variant(results.of("agent")).items():
        cells = [
            over_seeds(seeds, lambda f: f["history"][-1]["cosine"], 2),
            over_seeds(seeds, _of_the_best, 0),
        ]
        ahead = f"{title_of(results, name)}, {variant}"
        rows.append([ahead, str(len(seeds)), *cells, *explained.row(seeds)])
    if rows:
        out.append(
            Grid(
                "All rows of a seed have the recommender of that seed. *Step*: reward of the best "
                "of a beam of 8, in per cent of the best over all items; rationality and "
                "similarity both count, whatever the row learned from. " + explained.NOTE,
                ["", "seeds", "item cosines", "step", *explained.HEAD],
                rows,
            )
        )
        out += _what_walks_buy(results)
    out.append("## Negatives")
    rows = []
    for (name, variant), seeds in by_variant(results.of("negatives")).items():
        cells = figures_on_test(seeds)
        cells += [over_seeds(seeds, lambda f: f["best_epoch"], 0)]
        cells += [over_seeds(seeds, lambda f: f["train_seconds"], 0)]
        rows.append([f"{title_of(results, name)}, {variant}", str(len(seeds)), *cells])
    if rows:
        out.append(
            Grid(
                "What the recommender learns from; one learning rate and l2 for all rows, chosen "
                "for an earlier default, so small differences say little.",
                ["", "seeds", "recall@20", "ndcg@20", "hr@20", "best epoch", "seconds"],
                rows,
            )
        )
    return out


def _what_walks_buy(results: Results) -> list[Block]:
    """The learned walk beside a uniform one, where both were measured."""
    sets: dict[str, dict[str, list[Result]]] = {}
    for (name, variant), seeds in by_variant(results.of("agent")).items():
        sets.setdefault(name, {})[variant] = seeds
    out: list[Block] = []
    for name, by in sets.items():
        if not {"encoder: sage", "sampler: both uniform"} <= set(by):
            continue
        (size, near), (any_size, any_near) = (
            (
                mean([explained.mean_size(r.found["explanations"]) for r in by[variant]]),
                mean([r.found["explanations"]["similarity"] for r in by[variant]]),
            )
            for variant in ("encoder: sage", "sampler: both uniform")
        )
        text = (
            f"{title_of(results, name)}: with the learned walks an explanation has {size:.2f} "
            f"changes and a similarity of {near:.2f}, with uniform ones {any_size:.2f} and "
            f"{any_near:.2f}."
        )
        if any_size < size and any_near < near:
            text += (
                " So the agent learns to stay close to the item, as its reward asks, and pays for "
                "it with size; for the smallest changes a uniform walk proposes better."
            )
        out.append(text)
    return out


def _of_the_best(found: Table) -> float:
    steps = found["steps"]
    beam = next(row for name, row in steps.items() if "beam" in name)
    return float(100 * beam["reward"] / steps["all items tried"]["reward"])
