"""KGAT's and KGPolicy's epoch against a straightforward torch version of the authors' procedure.

The straightforward versions follow the released procedures on the same graph: a pass over the
graph for every batch of 1,024 (KGPolicy: for every hop of it), sparse products as COO matrices or
gathered messages, one projection gathered per edge, attention as the tensor of all products. They
are timed on a few batches, and multiplied by the number of batches of an epoch. Ours runs a whole
epoch over the same train pairs and edges, twice: with the authors' settings (the same number of
updates: like for like) and with those for two cores (the defaults: the same pairs and edges in
fewer, larger updates, and narrower layers or shorter walks). All on one thread, CPU seconds: a
thread that waits for another would count as work on a busy machine.

    python benchmarks/bench_compared.py            a generated world
    python benchmarks/bench_compared.py FOLDER     data of one's own
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numba
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.load import load
from cerec.data.split import split
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.recommend.base import Material
from cerec.recommend.negatives import Uniform
from cerec.threads import set_threads
from cerec_bench.systems.kgat_graph import Edges
from cerec_bench.systems.registry import system

BATCH, KG_BATCH, DIM = 1024, 2048, 64


def seconds(work: Callable[[], object], repeats: int = 2) -> float:
    """CPU seconds, the least of a few runs: other work on the machine does not count."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


class PlainKGAT:
    """Table, COO attention matrix, autograd throughout; layers 64, 32, 16."""

    def __init__(self, edges: Edges, n_users: int, n_items: int) -> None:
        self.edges, self.n_users, self.n_items = edges, n_users, n_items
        self.head, self.relation, self.tail = (
            torch.from_numpy(x.astype(np.int64)) for x in (edges.head, edges.relation, edges.tail)
        )
        n_relations = len(edges.relations)
        sizes = [(DIM, 64), (64, 32), (32, 16)]
        self.node = torch.nn.Parameter(torch.randn(edges.n_nodes, DIM) * 0.1)
        self.rel = torch.nn.Parameter(torch.randn(n_relations, DIM) * 0.1)
        self.project = torch.nn.Parameter(torch.randn(n_relations, DIM, DIM) * 0.1)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(*s) for s in sizes for _ in range(2))
        self.ranking = torch.optim.Adam([self.node, *self.layers.parameters()], lr=1e-4)
        self.facts = torch.optim.Adam([self.node, self.rel, self.project], lr=1e-4)
        at = torch.stack([self.head, self.tail])
        even = torch.rand(len(self.head))  # whatever the weights, a product takes as long
        shape = (edges.n_nodes, edges.n_nodes)
        self.matrix = torch.sparse_coo_tensor(at, even, shape, check_invariants=False).coalesce()

    @torch.no_grad()
    def logits(self, head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
        near = torch.tanh(self._moved(head, relation) + self.rel[relation])
        return (self._moved(tail, relation) * near).sum(1)

    def _moved(self, node: Tensor, relation: Tensor) -> Tensor:
        return torch.bmm(self.node[node][:, None], self.project[relation])[:, 0]

    def rank(self, user: Tensor, item: Tensor, wrong: Tensor) -> None:
        e, parts = self.node, [self.node]
        for by_sum, by_product in zip(self.layers[::2], self.layers[1::2], strict=True):
            near = torch.sparse.mm(self.matrix, e)
            e = F.leaky_relu(by_sum(e + near)) + F.leaky_relu(by_product(e * near))
            e = F.dropout(e, 0.1)
            parts.append(F.normalize(e, dim=1))
        every = torch.cat(parts, dim=1)
        u, i, j = every[user], every[item + self.n_users], every[wrong + self.n_users]
        loss = F.softplus((u * j).sum(1) - (u * i).sum(1)).mean()
        self.ranking.zero_grad()
        loss.backward()
        self.ranking.step()

    def embed(self, part: Tensor) -> None:
        h, r, t = self.head[part], self.relation[part], self.tail[part]
        wrong = torch.randint(0, self.edges.n_nodes, h.shape)
        near = self._moved(h, r) + self.rel[r]
        right = (near - self._moved(t, r)).square().sum(1)
        left = (near - self._moved(wrong, r)).square().sum(1)
        loss = F.softplus(right - left).mean()
        self.facts.zero_grad()
        loss.backward()
        self.facts.step()


class PlainKGPolicy:
    """Two SAGE layers by scatter, run anew for every hop; (B, actions, d) attention tensors."""

    def __init__(self, graph: Ckg, width: int = 64) -> None:
        n = graph.n_nodes
        rng = np.random.default_rng(0)
        near = graph.adjacency
        self.actions = torch.empty(n, 2 * width, dtype=torch.long)
        lo = graph.n_users
        for e in range(n):
            row = near.row(e)
            own = rng.choice(row, width) if len(row) else np.full(width, lo)
            items = rng.integers(lo, lo + graph.n_items, width)
            self.actions[e] = torch.from_numpy(np.concatenate([own, items]).astype(np.int64))
        self.source = torch.arange(n).repeat_interleave(width)
        self.target = self.actions[:, :width].reshape(-1)
        self.graph = graph
        self.node = torch.nn.Parameter(torch.randn(n, DIM) * 0.1)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(*s) for s in [(64, 32), (64, 32)])
        self.layers.extend(torch.nn.Linear(*s) for s in [(32, 64), (32, 64)])
        self.item = torch.randn(graph.n_items, DIM)
        self.user = torch.randn(graph.n_users, DIM)
        self.adam = torch.optim.Adam([self.node, *self.layers.parameters()], lr=1e-4)

    def encode(self) -> Tensor:
        x = self.node
        for own, other in ((0, 1), (2, 3)):
            message = x[self.target]  # (edges, width): one row per message
            near = torch.zeros_like(x).index_add(0, self.source, message)
            near = near / (len(self.source) // len(x))
            x = F.leaky_relu(self.layers[own](x) + self.layers[other](near))
        return F.normalize(x, dim=1)

    def hop(self, user: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
        h = self.encode()
        to = self.actions[node]
        product = F.leaky_relu(h[node][:, None] * h[to])  # (B, actions, d)
        logit = (h[user][:, None] * product).sum(2)
        return to, logit.log_softmax(1)

    def batch(self, user: Tensor, item: Tensor) -> None:
        for learning in (False, True):
            node, total = item + self.graph.n_users, torch.zeros(len(user))
            with torch.set_grad_enabled(learning):
                for _ in range(2):
                    to, log_p = self.hop(user, node)
                    best = log_p.argmax(1, keepdim=True)
                    total = total + log_p.gather(1, best)[:, 0]
                    to, log_p = self.hop(user, to.gather(1, best)[:, 0])
                    top = log_p.topk(32, dim=1)
                    ends = to.gather(1, top.indices) - self.graph.n_users
                    ends = ends.clamp(0, self.graph.n_items - 1)
                    score = (self.user[user][:, None] * self.item[ends]).sum(2)
                    pick = score.argmax(1, keepdim=True)
                    total = total + top.values.gather(1, pick)[:, 0]
                    node = ends.gather(1, pick)[:, 0] + self.graph.n_users
            if learning:
                self.adam.zero_grad()
                (-total.mean()).backward()
                self.adam.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", help="a folder of data; a generated world without")
    parser.add_argument("--only", choices=["kgat", "kgpolicy"], help="one of the two")
    folder, only = vars(parser.parse_args()).values()
    set_threads()
    numba.set_num_threads(1)
    world = WorldConfig(users=2000, items=2000, interactions=100_000)
    data = load(folder) if folder else make_world(world, seed=1)
    train = split(data, seed=0).train
    graph, facts = Ckg.build(data, train), Facts.build(data)
    user, item = train.row_of(), train.indices
    n_batches = -(-len(user) // BATCH)
    print(f"{data}\n{len(user):,} train pairs, {graph.n_nodes:,} nodes, CPU seconds\n")
    u, i = (torch.from_numpy(x[:BATCH].astype(np.int64)) for x in (user, item))

    def ours(name: str, changes: dict[str, object], authors: bool) -> float:
        entry = system(name)
        config = entry.config(**entry.authors) if authors else entry.config()
        settings = {f: getattr(config, f) for f in config.__dataclass_fields__}
        model = entry.make(
            entry.config(**{**settings, **changes}), Material(train, facts, graph, 0)
        )
        rng = np.random.default_rng(0)
        model.epoch(user[:5000], item[:5000], Uniform(), rng=rng)  # compile
        return seconds(lambda: model.epoch(user, item, Uniform(), rng=rng), 1)

    if only != "kgpolicy":
        kgat(graph, u, i, n_batches, ours)
    if only != "kgat":
        policy = PlainKGPolicy(graph)
        slow = n_batches * seconds(lambda: policy.batch(u, i), 1)
        report("KGPolicy", slow, lambda authors: ours("kgpolicy", {"pretrain": 0}, authors))


def kgat(
    graph: Ckg, user: Tensor, item: Tensor, n_batches: int, ours: Callable[..., float]
) -> None:
    plain = PlainKGAT(Edges.build(graph), graph.n_users, graph.n_items)
    n_edges = len(plain.head)
    wrong = torch.randint(0, graph.n_items, (BATCH,))
    part = torch.randint(n_edges, (KG_BATCH,))
    ends = plain.head[part], plain.relation[part], plain.tail[part]
    per_batch = seconds(lambda: plain.embed(part)) + seconds(lambda: plain.logits(*ends))
    slow = n_batches * seconds(lambda: plain.rank(user, item, wrong))
    slow += -(-n_edges // KG_BATCH) * per_batch  # its softmax over all edges is not counted
    report("KGAT", slow, lambda authors: ours("kgat", {"pretrain": 0}, authors))


def report(name: str, slow: float, ours: Callable[[bool], float]) -> None:
    print(f"{name}, one epoch")
    print(f"  straightforward torch, authors' settings  {slow:9.1f} s   1.0x")
    for text, authors in (("ours, authors' settings", True), ("ours, for two cores", False)):
        took = ours(authors)
        print(f"  {text:<41} {took:9.1f} s   {slow / took:.1f}x")


if __name__ == "__main__":
    main()
