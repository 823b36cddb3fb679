"""A whole co-training epoch with the learned agent: its time, its memory, and how it grows.

    python benchmarks/bench_cotrain.py                # Amazon-book's shape; 1/16 of it, 1 to 16 x
    python benchmarks/bench_cotrain.py --folder DATA  # real data instead, ml-1m for one

An epoch is one pass of the recommender over all pairs, with the agent's counterfactual items as
negatives; the lists Q_u; the policy updates; and a drawn walk of the agent for every pair. It is
the trainer's own second epoch: the first compiles and starts the node table. Behind the size of a
graph stands the batch, where it is not 8,192. Compared with 6.3 s per
1,024 pairs, measured for the released code of KGPolicy on two such cores.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np
from bench_agent import RELEASED, amazon_book

import cerec
from cerec.agent.agent import WalkAgent
from cerec.agent.loop import Row, Trainer
from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.facts import Facts
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.data.split import split
from cerec.recommend.models import build
from cerec.settings.agent import AgentConfig, EncoderConfig
from cerec.settings.recommender import RecommenderConfig
from cerec.settings.train import SignalConfig, TrainConfig
from cerec.threads import set_threads

BATCH = 8192


def epoch(data: Dataset, train: Ragged, batch: int = BATCH) -> tuple[float, float, int]:
    """Wall and CPU seconds of the second epoch, and the edges it works on."""
    graph, facts = Ckg.build(data, train), Facts.build(data)
    marks: list[tuple[float, float]] = []

    def watch(_: Row) -> None:
        marks.append((time.perf_counter(), time.process_time()))

    Trainer(
        build(RecommenderConfig(batch=batch), train, facts, seed=0),
        WalkAgent(AgentConfig(), EncoderConfig(), graph, facts, seed=0),
        train,
        facts,
        config=TrainConfig(epochs=2, warmup=0, agent_every=1, agent_epochs=0, validate_every=3),
        signals=SignalConfig(chooser="agent"),
        seed=0,
        validate=lambda _: {"ndcg@20": 0.0},
        watchers=[watch],
    ).run()
    wall, cpu = (later - first for first, later in zip(marks[0], marks[1], strict=True))
    return wall, cpu, graph.adjacency.size // 2


def copies(data: Dataset, train: Ragged, n: int) -> tuple[Dataset, Ragged]:
    """The same world n times side by side: every node keeps its neighbours, only n grows."""
    users, items = len(data.users), len(data.items)
    nodes = items + len(data.entities)

    def ids(kind: str, many: int) -> IdTable:
        return IdTable(kind, [str(x) for x in range(many)])

    def shifted(node: np.ndarray, c: int) -> np.ndarray:
        """Items of copy c follow those of the copies before, and so do the entities."""
        other = np.int32(n * items + c * (nodes - items) - items)
        return np.where(node < items, node + np.int32(c * items), node + other)

    facts = data.triples
    grown = Dataset(
        name=data.name,
        users=ids("user", n * users),
        items=ids("item", n * items),
        entities=ids("entity", n * (nodes - items)),
        relations=data.relations,
        interactions=Interactions(
            np.concatenate([train.row_of() + np.int32(c * users) for c in range(n)]),
            np.concatenate([train.indices + np.int32(c * items) for c in range(n)]),
        ),
        triples=Triples(
            np.concatenate([shifted(facts.head, c) for c in range(n)]),
            np.tile(facts.relation, n),
            np.concatenate([shifted(facts.tail, c) for c in range(n)]),
        ),
    )
    pairs = grown.interactions
    return grown, Ragged.from_pairs(pairs.user, pairs.item, n * users)


def show(name: str, data: Dataset, train: Ragged, batch: int = BATCH) -> float:
    """Print one line; microseconds of CPU per edge."""
    wall, cpu, edges = epoch(data, train, batch)
    per = 1024 * wall / train.size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name:>24}: {edges:>9,} edges, {train.size:>9,} pairs: {wall:5.1f} s, {cpu:5.1f} CPU s, "
        f"{per:.4f} s per 1,024 pairs ({RELEASED / per:,.0f} x less than released KGPolicy); "
        f"{1e6 * cpu / edges:.1f} us of CPU per edge; peak so far {peak:.2f} GB",
        flush=True,
    )
    return 1e6 * cpu / edges


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    set_threads()
    if args.folder:
        data = cerec.load(args.folder)
        show(args.folder.name, data, split(data, seed=0).train)
        return
    show("Amazon-book's shape", *amazon_book(1))
    sixteenth = amazon_book(16)
    # Item vectors are made anew in every step, so what a step costs grows with the graph: the
    # batch grows along, and an epoch keeps its number of steps.
    per_edge = [
        show(f"{n} x a sixteenth, {BATCH * n // 16:,}", *copies(*sixteenth, n), BATCH * n // 16)
        for n in (1, 2, 4, 8, 16)
    ]
    fixed = show(f"1 x a sixteenth, {BATCH:,}", *sixteenth)
    print(
        f"CPU per edge at 16 x the edges: {per_edge[-1] / per_edge[0]:.2f} of that at 1 x with as "
        f"many steps an epoch, {per_edge[-1] / fixed:.2f} with the same batch"
    )


if __name__ == "__main__":
    main()
