"""How well an agent walks on a finished recommender, and what its walks are good for.

The recommender is learned once per set and seed and shared by all agents. Each agent learns
against it; the reward of its steps is compared with the best there is, found by trying all items,
and with a uniform walk; then its proposals are measured as explanations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cerec.agent.agent import WalkAgent
from cerec.agent.reward import cutoffs, pair_scores, rewards, step_rewards
from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.explain.explainer import Explainer
from cerec.recommend.base import Context as Moment
from cerec.recommend.base import Rows
from cerec.rng import generator
from cerec.runs.evaluate import subject_lists
from cerec.runs.run import Run
from cerec.settings.agent import AgentConfig
from cerec_bench.cells import Table
from cerec_bench.explainers.protocol import Context
from cerec_bench.kinds.explanations import explained
from cerec_bench.plans.experiment import Job

BEAM = 8
_BEAMED = f"agent, best of a beam of {BEAM}"


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """A finished recommender and the graph an agent walks on."""

    graph: Ckg
    facts: Facts
    context: Moment
    user: Rows
    item: Rows
    """The train pairs."""


def scene_of(run: Run, list_length: int) -> Scene:
    """The scene of a trained run of a factor model."""
    a, known = run.kept.arrays, run.split.train
    lists = subject_lists(run.subject, known, list_length)
    moment = Moment(known, run.facts, a["user"], a["item"], lists)
    return Scene(run.ckg, run.facts, moment, known.row_of(), known.indices)


def measure(job: Job) -> Table:
    """Learning curve, reward of a step, and explanations of one agent."""
    run, config = job.run(agent=False, keep=True), job.point.config
    scene = scene_of(run, config.agent.list_length)
    agent = WalkAgent(config.agent, config.encoder, scene.graph, scene.facts, seed=job.seed)
    history = []
    for epoch in range(config.train.agent_epochs):
        started = time.perf_counter()
        rng = generator(job.seed, f"agent/{epoch}")
        row = agent.learn(scene.user, scene.item, scene.context, rng=rng)
        seconds = round(time.perf_counter() - started, 3)
        history.append({"epoch": epoch + 1, **row, "seconds": seconds})
        job.note(f"agent epoch {epoch + 1}, reward {row['reward']:.3f}")
    found: Table = {"test": run.metrics["test"], "history": history}
    states, users = job.option("states", 0), job.option("users", 0)
    if states:
        job.note("comparing steps")
        found["steps"] = compare_steps(scene, agent, states, job.seed)
        best, beam = (found["steps"][n]["reward"] for n in ("all items tried", _BEAMED))
        found["beam_of_the_best"] = beam / best
    if users:
        job.note("explaining")
        explainer = Explainer(run.data, run.subject, agent.proposer())
        k = config.agent.list_length
        context = Context(run.data, run.subject, k=k, seed=job.seed, config=config)
        found["explanations"] = explained(explainer, context, users, job.option("sample", 100))
    return found


def best_steps(scene: Scene, agent: WalkAgent, user: Rows, item: Rows) -> NDArray[np.float64]:
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


def compare_steps(scene: Scene, agent: WalkAgent, states: int, seed: int) -> Table:
    """Mean reward of one step, and microseconds per state: all tried, agent, beam, uniform.

    It is the reward of rationality and similarity, whatever the agent itself learned from.
    """
    rng = generator(seed, "states")
    context, k = scene.context, agent.config.list_length
    length = min(k, context.lists.shape[1])
    user = rng.integers(0, len(context.lists), states).astype(np.int32)
    item = context.lists[user, rng.integers(0, length, states)]
    uniform, judged = _uniform(scene, agent, seed), replace(agent.config, reward="all")
    cut = cutoffs(context, k)

    def walked(who: WalkAgent, draw: bool) -> NDArray[np.float64]:
        walks = who.walk(user, item, context, rng=rng if draw else None)
        reward = rewards(walks, agent.compared(), context, cut, judged)[0]
        return np.where(walks.moved[0], reward, np.nan)

    ways: dict[str, Callable[[], NDArray[np.float64]]] = {
        "all items tried": lambda: best_steps(scene, agent, user, item),
        "agent, likeliest": lambda: walked(agent, False),
        _BEAMED: lambda: _beamed(scene, agent, user, item, judged),
        "agent, drawn": lambda: walked(agent, True),
        "uniform walk": lambda: walked(uniform, True),
    }
    out: Table = {}
    for name, way in ways.items():
        way()  # compiled and cached
        started = time.perf_counter()
        reward = way()
        seconds = time.perf_counter() - started
        out[name] = {"reward": float(np.nanmean(reward)), "us_per_state": 1e6 * seconds / states}
    return out


def _uniform(scene: Scene, agent: WalkAgent, seed: int) -> WalkAgent:
    """An agent with the same vectors that walks uniformly."""
    config = AgentConfig(
        attribute_step="uniform",
        item_step="uniform",
        list_length=agent.config.list_length,
        similarity=agent.config.similarity,
    )
    walker = WalkAgent(config, agent.encoder_config, scene.graph, scene.facts, seed=seed)
    walker.load_state({**agent.state(), "baseline": walker.state()["baseline"]})
    return walker


def _beamed(
    scene: Scene, agent: WalkAgent, user: Rows, item: Rows, judged: AgentConfig
) -> NDArray[np.float64]:
    """The best reward among the proposals of a beam."""
    context, k = scene.context, agent.config.list_length
    lists = context.lists[user, :k]
    row, _ = np.nonzero(lists >= 0)
    off = Ragged.from_pairs(row, lists[lists >= 0], len(user))
    found = agent.proposer().propose(user, item, off, BEAM)
    pair = np.repeat(np.arange(len(user)), np.diff(found.indptr))
    cut = cutoffs(context, k)
    reward = step_rewards(
        user[pair], item[pair], found.item, agent.compared(), context, cut, judged
    )  # fmt: skip
    out = np.full(len(user), -np.inf)
    np.maximum.at(out, pair, reward)
    return np.where(np.isfinite(out), out, np.nan)
