"""Cumulative reward, and the reward of a step beside the best there is."""

from __future__ import annotations

import numpy as np

from cerec_bench.reproduce.chart import Series, line_chart
from cerec_bench.reproduce.pages.parts import title_of
from cerec_bench.reproduce.store import Result, Results
from cerec_bench.reproduce.text import Block, Grid, Picture, percent


def blocks(results: Results) -> list[Block]:
    """The curves, their ends, and the comparison with all items tried."""
    found = results.of("agent")
    first = [r for r in found if r.cell.seed == 0 and r.found["history"]]
    out: list[Block] = [
        "The agent learns by REINFORCE against a finished recommender. A step earns 1 when the "
        "item it reaches would not make the list, and the cosine of the two items: at the most 2. "
        "*Paper's letter* starts from a random table, which is not centred, walks from liked items "
        "alone, has a running mean as the baseline and no bonus for entropy, and compares the "
        "vectors of the moment, "
        "which the agent can move until it is pleased: part of its reward is made that way, so "
        "its curves cannot be compared with the default's, which compares the vectors it started "
        "from. Where attributes stand on thousands of items, as on Last-FM, few walks fit in an "
        "update (`agent.neighbours`) and a drawn walk stays close to a uniform one; the beam is "
        "what finds good ends there. One seed.",
        "## Cumulative reward",
    ]
    for n, variant in enumerate(dict.fromkeys(r.cell.variant for r in first)):
        curves = [
            Series(
                title_of(results, r.cell.set),
                list(range(1, len(r.found["history"]) + 1)),
                [row["cumulative"] for row in r.found["history"]],
            )
            for r in first
            if r.cell.variant == variant
        ]
        chart = line_chart(curves, "policy epoch", "discounted reward of a walk")
        name = f"Cumulative reward by epoch, {variant}"
        out.append(Picture("reward" if n == 0 else f"reward-{n + 1}", name, chart))
    if first:
        out.append(_ends(results, first))
    out += [step for r in first if r.cell.variant == "default" for step in _steps(results, r)]
    return out


def _ends(results: Results, found: list[Result]) -> Grid:
    rows = []
    for r in found:
        a, b = r.found["history"][0], r.found["history"][-1]
        seconds = float(np.median([row["seconds"] for row in r.found["history"]]))
        rows.append(
            [
                f"{title_of(results, r.cell.set)}, {r.cell.variant}",
                str(len(r.found["history"])),
                f"{a['cumulative']:.3f} → {b['cumulative']:.3f}",
                _settled([row["cumulative"] for row in r.found["history"]]),
                f"{b['reward_var']:.3f}",
                f"{a['entropy']:.2f} → {b['entropy']:.2f}",
                f"{b['cosine']:.2f} ± {b['spread']:.2f}",
                f"{seconds:.1f}",
            ]
        )
    head = ["", "epochs", "reward of a walk", "last ten epochs", "variance of a step"]
    head += ["entropy of a step", "item cosines", "seconds an epoch"]
    return Grid(
        "First and last epoch, of walks drawn while learning: by default half of them from liked "
        "items, half from listed ones. *Last ten epochs*: mean of the last five less that of the "
        "five before.",
        head,
        rows,
    )


def _settled(values: list[float]) -> str:
    if len(values) < 10:
        return ""
    return f"{np.mean(values[-5:]) - np.mean(values[-10:-5]):+.3f}"


def _steps(results: Results, result: Result) -> list[Block]:
    steps = result.found.get("steps")
    if not steps:
        return []
    best = steps["all items tried"]["reward"]
    rows = [
        [
            name,
            f"{row['reward']:.3f}",
            percent(row["reward"] / best, 0),
            f"{row['us_per_state']:.0f}",
        ]
        for name, row in steps.items()
    ]
    name = title_of(results, result.cell.set)
    return [
        f"## One step on {name}",
        Grid(
            f"Mean over {result.cell.options['states']:,} states (user, recommended item), after "
            f"{len(result.found['history'])} epochs; the ablations learn for fewer. Times are of a "
            "shared machine: compare them with each other.",
            ["", "mean reward", "of the best", "microseconds a state"],
            rows,
        ),
    ]
