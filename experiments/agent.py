"""How well the agent walks: learning curves, and its reward beside the best there is.

    python experiments/agent.py FOLDER --sets ml-100k ml-1m last-fm --out docs/results

For each data set a BPR recommender is fitted, then the agent learns against it. On the first set
the reward of its likeliest step is compared with the best step found by trying all of them, and
with a uniform walk; with what each costs. Written: agent.json, agent.md and, where matplotlib is
installed, agent.svg.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cerec.agent.agent import WalkAgent
from cerec.agent.config import AgentConfig
from cerec.agent.reward import cutoffs, pair_scores, step_rewards
from cerec.data.filters import FilterConfig, apply
from cerec.data.load import load
from cerec.data.split import split
from cerec.graph.ckg import Ckg
from cerec.graph.encoders import EncoderConfig
from cerec.graph.facts import Facts
from cerec.ragged import Ragged
from cerec.recommend.base import Context
from cerec.recommend.bpr import PairFactorisation
from cerec.recommend.config import RecommenderConfig
from cerec.recommend.negatives import Uniform
from cerec.rng import generator
from cerec.threads import set_threads

VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "default": ({}, {}),
    "depth 2": ({"depth": 2}, {}),
    "paper's letter": (
        {"similarity": "encoder", "starts": "positives", "baseline": "mean", "entropy": 0.0},
        {"start": "random", "centre": False},
    ),
}
"""Name -> settings of agent and encoder; all but `default` run on the first set alone."""


@dataclass(frozen=True)
class Scene:
    """A data set with a fitted recommender."""

    name: str
    graph: Ckg
    facts: Facts
    context: Context
    user: np.ndarray
    item: np.ndarray


def prepare(folder: Path, name: str, epochs: int, seed: int, k: int) -> Scene:
    """The graph of the train part, and BPR factors fitted to it."""
    core = 10 if name == "ml-100k" else 0
    data, _ = apply(load(folder / name), FilterConfig(k_core=core))
    train = split(data, seed=seed).train
    facts = Facts.build(data)
    model = PairFactorisation(RecommenderConfig(), train, facts, seed=seed)
    user, item = train.row_of(), train.indices
    for epoch in range(epochs):
        model.epoch(user, item, Uniform(), rng=generator(seed, f"recommender/{epoch}"))
    return Scene(name, Ckg.build(data, train), facts, model.context(k), user, item)


def learn(
    scene: Scene, variant: str, epochs: int, seed: int
) -> tuple[WalkAgent, list[dict[str, float]]]:
    """The agent after `epochs`, and the figures of each."""
    settings, encoder = VARIANTS[variant]
    agent = WalkAgent(
        AgentConfig(**settings), EncoderConfig(**encoder), scene.graph, scene.facts, seed=seed
    )
    history = []
    for epoch in range(epochs):
        started = time.perf_counter()
        rng = generator(seed, f"agent/{epoch}")
        row = agent.learn(scene.user, scene.item, scene.context, rng=rng)
        history.append({**row, "seconds": time.perf_counter() - started})
    return agent, history


def best_steps(scene: Scene, agent: WalkAgent, user: np.ndarray, item: np.ndarray) -> np.ndarray:
    """The highest reward of one step of each state, by trying every item it can reach."""
    context, graph = scene.context, scene.graph
    cut = cutoffs(context, agent.config.list_length)
    vector = agent.compared().astype(np.float64)
    vector /= np.maximum(np.linalg.norm(vector, axis=1, keepdims=True), 1e-12)
    out = np.full(len(user), np.nan)
    for b, (u, i) in enumerate(zip(user, item, strict=True)):
        ends = [graph.items_of.row(int(a)) for a in graph.attributes.row(int(i))]
        near = np.unique(np.concatenate(ends)) if ends else np.zeros(0, np.int32)
        near = near[~np.isin(near, [i, *context.lists[u]])].astype(np.int32)
        if len(near):
            score = pair_scores(np.full(len(near), u, np.int32), near, context.user, context.item)
            out[b] = ((score <= cut[u]) + vector[near] @ vector[i]).max()
    return out


def compare(scene: Scene, agent: WalkAgent, states: int, seed: int) -> dict[str, dict[str, float]]:
    """Mean reward of one step and microseconds per state: all tried, agent, beam, uniform."""
    rng = generator(seed, "states")
    user = rng.integers(0, len(scene.context.lists), states).astype(np.int32)
    item = scene.context.lists[user, rng.integers(0, agent.config.list_length, states)]
    k = agent.config.list_length
    off = Ragged.from_pairs(
        np.repeat(np.arange(states), k), scene.context.lists[user, :k].ravel(), states
    )
    uniform = WalkAgent(
        AgentConfig(attribute_step="uniform", item_step="uniform"),
        agent.encoder_config,
        scene.graph,
        scene.facts,
        seed=seed,
    )
    uniform.load_state({**agent.state(), "baseline": uniform.state()["baseline"]})

    def walked(who: WalkAgent, draw: bool) -> np.ndarray:
        walks = who.walk(user, item, scene.context, rng=rng if draw else None)
        reward = agent.rewards(walks, scene.context)[0]
        return np.where(walks.moved[0], reward, np.nan)

    def beamed() -> np.ndarray:
        found = agent.proposer().propose(user, item, off, 8)
        pair = np.repeat(np.arange(states), np.diff(found.indptr))
        reward = step_rewards(
            user[pair],
            item[pair],
            item[pair],
            found.item,
            agent.compared(),
            scene.context,
            cutoffs(scene.context, k),
            agent.config,
        )
        out = np.full(states, -np.inf)
        np.maximum.at(out, pair, reward)
        return np.where(np.isfinite(out), out, np.nan)

    ways: dict[str, Callable[[], np.ndarray]] = {
        "all items tried": lambda: best_steps(scene, agent, user, item),
        "agent, likeliest": lambda: walked(agent, False),
        "agent, best of a beam of 8": beamed,
        "agent, drawn": lambda: walked(agent, True),
        "uniform walk": lambda: walked(uniform, True),
    }
    out = {}
    for name, way in ways.items():
        way()  # compiled and cached
        started = time.perf_counter()
        reward = way()
        seconds = time.perf_counter() - started
        out[name] = {"reward": float(np.nanmean(reward)), "us_per_state": 1e6 * seconds / states}
    return out


def table(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    first = found["sets"][0]
    lines = ["# How well the agent walks", "", "Made by `experiments/agent.py`.", ""]
    lines += [f"## Reward of one step on {first}", ""]
    lines += [
        f"Mean over {found['states']:,} states (user, recommended item). The best possible reward "
        "is 2: an item that would not make the list, and is as good as the same.",
        "",
        "| | mean reward | of the best | microseconds per state |",
        "|---|---|---|---|",
    ]
    best = found["compare"]["all items tried"]["reward"]
    for name, row in found["compare"].items():
        share = f"{100 * row['reward'] / best:.0f} %"
        lines.append(f"| {name} | {row['reward']:.3f} | {share} | {row['us_per_state']:.0f} |")
    lines += ["", "Times are of a shared machine: compare them with each other.", ""]
    lines += ["## Learning", "", "![Reward by epoch](agent.svg)", "", "First and last epoch:", ""]
    lines += [
        "| data | agent | epochs | discounted reward of a walk | variance of a reward | "
        "entropy of a step | item cosines, mean ± deviation | seconds per epoch |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for run in found["runs"]:
        a, b = run["history"][0], run["history"][-1]
        seconds = float(np.median([row["seconds"] for row in run["history"]]))
        lines.append(
            f"| {run['set']} | {run['variant']} | {len(run['history'])} | "
            f"{a['cumulative']:.3f} → {b['cumulative']:.3f} | {b['reward_var']:.3f} | "
            f"{a['entropy']:.2f} → {b['entropy']:.2f} | {b['cosine']:.2f} ± {b['spread']:.2f} | "
            f"{seconds:.1f} |"
        )
    return "\n".join(lines) + "\n"


def plot(found: dict[str, Any], path: Path) -> None:
    """The learning curves; nothing without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for run in found["runs"]:
        curve = [row["cumulative"] for row in run["history"]]
        axes.plot(range(1, len(curve) + 1), curve, label=f"{run['set']}, {run['variant']}")
    axes.set(xlabel="epoch", ylabel="discounted reward of a walk")
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def write(found: dict[str, Any], folder: Path) -> None:
    """What is known so far."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agent.json").write_text(json.dumps(found, indent=1) + "\n")
    (folder / "agent.md").write_text(table(found))
    plot(found, folder / "agent.svg")


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=["ml-100k", "ml-1m", "last-fm"])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--recommender-epochs", type=int, default=30)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--states", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    args = parser.parse_args()
    set_threads()
    found: dict[str, Any] = {"sets": args.sets, "states": args.states, "runs": []}
    for name in args.sets:
        scene = prepare(args.folder, name, args.recommender_epochs, args.seed, 20)
        for variant in args.variants if name == args.sets[0] else ["default"]:
            agent, history = learn(scene, variant, args.epochs, args.seed)
            found["runs"].append({"set": name, "variant": variant, "history": history})
            print(name, variant, history[0], history[-1], flush=True)
            if name == args.sets[0] and variant == "default":
                found["compare"] = compare(scene, agent, args.states, args.seed)
                print(found["compare"], flush=True)
            write(found, args.out)


if __name__ == "__main__":
    main()
