"""The agent's share of a co-training epoch on a graph of Amazon-book's shape.

    python benchmarks/bench_agent.py            # all of it: about a minute, 3 GB
    python benchmarks/bench_agent.py --scale 8  # an eighth of every size

One epoch is: the lists Q_u, the policy updates, and one drawn walk for every train pair. Compared
with 6.3 s per 1,024 pairs, measured for the released code of KGPolicy on two such cores.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from cerec.agent.agent import WalkAgent
from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.recommend.base import Context
from cerec.recommend.topk import top_k_all
from cerec.settings.agent import AgentConfig, EncoderConfig
from cerec.threads import set_threads

USERS, ITEMS, PAIRS, ENTITIES, RELATIONS, TRIPLES = 70_679, 24_915, 847_733, 88_572, 39, 2_557_746
RELEASED = 6.3  # seconds per 1,024 pairs


def _zipf(n: int, size: int, rng: np.random.Generator) -> np.ndarray:
    weight = 1.0 / np.arange(1, n + 1) ** 0.7
    return rng.choice(n, size, p=weight / weight.sum()).astype(np.int32)


def amazon_book(scale: float, seed: int = 0) -> tuple[Dataset, Ragged]:
    """Random data with the published sizes divided by `scale`."""
    rng = np.random.default_rng(seed)
    users, items, entities = (max(50, int(n / scale)) for n in (USERS, ITEMS, ENTITIES))
    train = Ragged.from_pairs(
        rng.integers(0, users, int(PAIRS / scale)), _zipf(items, int(PAIRS / scale), rng), users
    )
    n = int(TRIPLES / scale)
    fact = np.stack(
        [
            rng.integers(0, items, n).astype(np.int32),
            _zipf(RELATIONS, n, rng),
            np.int32(items) + _zipf(entities, n, rng),
        ]
    )
    fact = np.unique(fact, axis=1)
    data = Dataset(
        name="amazon-book shape",
        users=IdTable("user", [str(x) for x in range(users)]),
        items=IdTable("item", [str(x) for x in range(items)]),
        entities=IdTable("entity", [str(x) for x in range(entities)]),
        relations=IdTable("relation", [str(x) for x in range(RELATIONS)]),
        interactions=Interactions(train.row_of(), train.indices),
        triples=Triples(*(np.ascontiguousarray(row) for row in fact)),
    )
    return data, train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    args = parser.parse_args()
    set_threads()
    data, train = amazon_book(args.scale)
    graph, facts = Ckg.build(data, train), Facts.build(data)
    print(f"{graph.n_nodes:,} nodes, {graph.adjacency.size:,} entries, {train.size:,} pairs")
    del data
    rng = np.random.default_rng(0)
    user = rng.standard_normal((graph.n_users, 64)).astype(np.float32)
    item = rng.standard_normal((graph.n_items, 64)).astype(np.float32)
    none = np.empty((graph.n_users, 0), np.int32)
    agent = WalkAgent(AgentConfig(), EncoderConfig(), graph, facts, seed=0)
    agent.learn(  # compiles, and starts the table
        train.row_of()[:100], train.indices[:100], Context(train, facts, user, item, none), rng=rng
    )
    clock: dict[str, tuple[float, float]] = {}

    def timed(name: str, started: tuple[float, float]) -> None:
        clock[name] = time.perf_counter() - started[0], time.process_time() - started[1]

    now = time.perf_counter(), time.process_time()
    context = Context(
        train, facts, user, item, top_k_all(user, item, train, agent.config.list_length)
    )
    timed("lists", now)
    now = time.perf_counter(), time.process_time()
    agent.learn(train.row_of(), train.indices, context, rng=rng)
    timed(f"{agent.config.updates} policy updates", now)
    now = time.perf_counter(), time.process_time()
    agent.negatives.draw(train.row_of(), train.indices, context, rng)
    timed("a walk for every pair", now)
    for name, (wall, cpu) in clock.items():
        print(f"  {name}: {wall:.1f} s, {cpu:.1f} CPU s")
    wall = sum(w for w, _ in clock.values())
    cpu = sum(c for _, c in clock.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"the agent's share of an epoch: {wall:.1f} s, {cpu:.1f} CPU s; peak {peak:.2f} GB")
    per = 1024 * wall / train.size
    print(f"{per:.4f} s per 1,024 pairs: released KGPolicy / this = {RELEASED / per:.0f}x")


if __name__ == "__main__":
    main()
