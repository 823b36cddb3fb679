"""Figure: impact of the depth T."""

from __future__ import annotations

from cerec_bench.reproduce.chart import Series, line_chart
from cerec_bench.reproduce.pages import explained
from cerec_bench.reproduce.pages.parts import by_variant, figures_on_test, over_seeds, title_of
from cerec_bench.reproduce.store import Result, Results
from cerec_bench.reproduce.text import Block, Grid, Picture
from cerec_bench.statistics import spread


def blocks(results: Results) -> list[Block]:
    """The recommender by depth, then the explanations."""
    out: list[Block] = [
        "T is the number of steps item-attribute-item of a walk. In the paper the recommender is "
        "best with T = 2 on Last-FM and with T = 4 on Amazon-book and Yelp2018. A deeper walk "
        "ends farther from where it began: as a negative such an item is more like one drawn "
        "at random, as a counterfactual item it is less like the explained one.",
        "## The recommender",
    ]
    found = results.of("literal")
    sets = dict.fromkeys(r.cell.set for r in found)
    rows = [
        [
            f"{title_of(results, name)}, {variant}",
            str(len(seeds)),
            *figures_on_test(seeds),
            over_seeds(seeds, lambda f: f["best_epoch"], 0),
        ]
        for (name, variant), seeds in by_variant(found).items()
    ]
    if rows:
        series = [_curve(found, name, title_of(results, name)) for name in sets]
        chart = line_chart(series, "depth T", "recall@20 on test")
        out.append("The walked item is the negative, the paper's form.")
        out.append(Picture("recall", "Recall at 20 by depth", chart))
        head = ["", "seeds", "recall@20", "ndcg@20", "hr@20", "best epoch"]
        out.append(Grid("Test, mean ± standard deviation over seeds.", head, rows))
        out.append(
            "One learning rate and l2 for all rows, and few epochs: where the best is the last one "
            "allowed, the model was still rising."
        )
        out += [_ends(curve) for curve in series]
    return out + _explanations(results)


def _ends(curve: Series) -> str:
    """What the deepest walk is worth against the shortest."""
    gain = curve.y[-1] - curve.y[0]
    return (
        f"{curve.label}: from T = {curve.x[0]:.0f} to T = {curve.x[-1]:.0f} recall@20 changes by "
        f"{gain:+.4f}."
    )


def _curve(found: list[Result], name: str, label: str) -> Series:
    xs, ys, low, high = [], [], [], []
    for (_, variant), seeds in by_variant(r for r in found if r.cell.set == name).items():
        mean, sd = spread([r.found["test"]["recall@20"] for r in seeds])
        sd = sd if len(seeds) > 1 else 0.0
        xs.append(float(variant.removeprefix("T = ")))
        ys.append(mean)
        low.append(mean - sd)
        high.append(mean + sd)
    return Series(label, xs, ys, low, high)


def _explanations(results: Results) -> list[Block]:
    rows = []
    for (name, variant), seeds in by_variant(results.of("explanations")).items():
        last = over_seeds(seeds, lambda f: f["history"][-1]["reward"], 3)
        ahead = f"{title_of(results, name)}, {variant}"
        rows.append([ahead, str(len(seeds)), last, *explained.row(seeds)])
    if not rows:
        return []
    return [
        "## The explanations",
        "The agent learns with that depth on one and the same finished recommender; its last items "
        "are proposed, the verifier decides.",
        Grid(explained.NOTE, ["", "seeds", "reward of a step", *explained.HEAD], rows),
    ]
