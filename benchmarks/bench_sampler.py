"""The fused sampler beside a padded gather in torch, and its cost as the graph grows.

    python benchmarks/bench_sampler.py

Each line is one ratio of CPU time measured in this run, all on one thread. The padded version does
the same work on the same rows: gather the neighbours' vectors, multiply, LeakyReLU, dot, mask,
softmax, draw; gradients by autograd. Behind an attribute of very many items the alternative is
the better one of a matrix product for many users at once.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numba
import numpy as np
import torch
import torch.nn.functional as F

from cerec.agent.log_prob import log_prob
from cerec.data.ckg import Ckg
from cerec.data.ragged import Ragged
from cerec.walk.paths import PathSampler

WIDTH, SLOPE, HUB = 96, 0.2, 20_000


def graph_of(n_users: int, n_items: int, n_entities: int, per_item: int, seed: int = 0) -> Ckg:
    """Facts with Zipf-like attributes: hubs beside rare ones; the train part does not matter."""
    rng = np.random.default_rng(seed)
    weight = 1.0 / np.arange(1, n_entities + 1) ** 0.7
    entity = rng.choice(n_entities, n_items * per_item, p=weight / weight.sum())
    has = Ragged.from_pairs(np.repeat(np.arange(n_items), per_item), entity, n_items)
    none = np.zeros(0, np.int32)
    n_nodes = n_users + n_items + n_entities
    return Ckg(
        n_users=n_users,
        n_items=n_items,
        n_entities=n_entities,
        adjacency=Ragged(np.zeros(n_nodes + 1, np.int64), none),
        weight=np.zeros(0, np.float32),
        attributes=has,
        items_of=has.transpose(n_entities),
        head=none,
        relation=none,
        tail=none,
    )


def seconds(run: Callable[[], object], times: int = 3) -> float:
    """The fastest of a few runs, in CPU seconds: other people's work does not count."""
    run()
    found = []
    for _ in range(times):
        started = time.process_time()
        run()
        found.append(time.process_time() - started)
    return min(found)


def padded_rows(ragged: Ragged) -> tuple[torch.Tensor, torch.Tensor]:
    """(rows, widest) entries, and how many of them each row has; made once, not timed."""
    index = np.zeros((len(ragged), int(ragged.counts.max())), np.int64)
    place = np.arange(ragged.size) - np.repeat(ragged.indptr[:-1], ragged.counts)
    index[ragged.row_of(), place] = ragged.indices
    return torch.from_numpy(index), torch.from_numpy(ragged.counts)


class Padded:
    """The same two steps with every row padded to the longest of its batch."""

    def __init__(self, graph: Ckg, lists: Ragged) -> None:
        self.graph = graph
        self.near, self.far = padded_rows(graph.attributes), padded_rows(graph.items_of)
        self.off = torch.zeros(graph.n_users, graph.n_items, dtype=torch.bool)
        self.off[torch.from_numpy(lists.row_of().astype(np.int64)), lists.indices.astype(int)] = (
            True
        )

    def hop(self, h, user, node, index, mask, offset):  # type: ignore[no-untyped-def]
        product = F.leaky_relu(h[node][:, None] * h[offset + index], SLOPE)  # (B, n, d)
        logits = torch.einsum("bd,bnd->bn", h[user], product)
        mask = mask | ~mask.any(dim=1, keepdim=True)  # a dead end goes anywhere: same cost
        log_p = logits.masked_fill(~mask, -torch.inf).log_softmax(dim=1)
        pick = torch.multinomial(log_p.detach().exp(), 1)
        return index.gather(1, pick)[:, 0], log_p.gather(1, pick)[:, 0]

    def learn(self, h: torch.Tensor, user: torch.Tensor, item: torch.Tensor, batch: int) -> None:
        g = self.graph
        items, entities = g.n_users, g.n_users + g.n_items
        for u, i in zip(user.split(batch), item.split(batch), strict=True):
            index, mask = self.rows(self.near, i)
            a, p1 = self.hop(h, u, items + i, index, mask, entities)
            index, mask = self.rows(self.far, a)
            mask &= ~self.off[u[:, None], index] & (index != i[:, None])
            _, p2 = self.hop(h, u, entities + a, index, mask, items)
            (p1 + p2).sum().backward()

    def rows(self, table, row):  # type: ignore[no-untyped-def]
        index, count = table[0][row], table[1][row]
        width = int(count.max())
        return index[:, :width], torch.arange(width) < count[:, None]


def fused(sampler: PathSampler, h: torch.Tensor, user, item, lists) -> None:  # type: ignore[no-untyped-def]
    walks = sampler.walk(
        h.detach().numpy(), user, item, lists, depth=1, rng=np.random.default_rng(0)
    )
    log_prob(sampler, h, walks, lists).sum().backward()


def against_padded() -> None:
    graph = graph_of(2000, 3000, 2000, 8)
    rng = np.random.default_rng(0)
    user = rng.integers(0, 2000, 512).astype(np.int32)
    item = rng.integers(0, 3000, 512).astype(np.int32)
    lists = Ragged.from_pairs(np.repeat(np.arange(2000), 20), rng.integers(0, 3000, 40_000), 2000)
    h = torch.randn(graph.n_nodes, WIDTH, generator=torch.Generator().manual_seed(0)) * 0.3
    h.requires_grad_()
    sampler, padded = PathSampler(graph, slope=SLOPE), Padded(graph, lists)
    fast = seconds(lambda: fused(sampler, h, user, item, lists))
    rows = torch.from_numpy(user).long(), torch.from_numpy(item).long()
    slow = seconds(lambda: padded.learn(h, *rows, 256), times=2)
    print(f"draw and gradient of 512 steps: padded gather / fused = {slow / fast:.0f}x", flush=True)


def against_edges() -> None:
    print("cost per step as the graph grows (attributes per item constant, edges 1x to 16x):")
    first = 0.0
    for times in (1, 2, 4, 8, 16):
        graph = graph_of(500 * times, 500 * times, 500 * times, 10)
        rng = np.random.default_rng(0)
        n = 500 * times  # as many walks per edge
        user = rng.integers(0, graph.n_users, n).astype(np.int32)
        item = rng.integers(0, graph.n_items, n).astype(np.int32)
        rows = np.repeat(np.arange(graph.n_users), 20)
        lists = Ragged.from_pairs(rows, rng.integers(0, graph.n_items, len(rows)), graph.n_users)
        h = torch.randn(graph.n_nodes, WIDTH).mul_(0.3).requires_grad_()
        sampler = PathSampler(graph, slope=SLOPE)
        neighbours = float(_touched(graph, item))
        cost = seconds(lambda: fused(sampler, h, user, item, lists)) / neighbours  # noqa: B023
        first = first or cost
        print(
            f"  {times:2d}x: {graph.attributes.size:,} facts, {cost * 1e9:.0f} ns per neighbour "
            f"looked at, {cost / first:.2f} of the first",
            flush=True,
        )


def _touched(graph: Ckg, item: np.ndarray) -> float:
    """Neighbours two steps look at, on average over attributes: what the work is made of."""
    behind = graph.items_of.counts
    total = 0.0
    for i in item:
        near = graph.attributes.row(int(i))
        total += len(near) + behind[near].mean()
    return total


def against_dense() -> None:
    print(
        f"draws behind one attribute of {HUB:,} items, one a user: matrix product in torch / ours"
    )
    for users in (16, 64, 512):
        slow, fast = behind_hub(users)
        each = fast / users / HUB * 1e9
        print(f"  {users:3d} users: {slow / fast:.1f}x, {each:.1f} ns a neighbour", flush=True)


def behind_hub(users: int) -> tuple[float, float]:
    """Seconds with the products made once and one matrix product for many users, and ours."""
    has = Ragged.from_pairs(np.arange(HUB), np.zeros(HUB, np.int64), HUB)
    none = graph_of(users, HUB, 1, 1)
    graph = dataclasses.replace(none, attributes=has, items_of=has.transpose(1))
    rng = np.random.default_rng(0)
    row = np.repeat(np.arange(users), 20)
    lists = Ragged.from_pairs(row, rng.integers(0, HUB, len(row)), users)
    user, item = np.arange(users), rng.integers(0, HUB, users)
    h = torch.randn(graph.n_nodes, WIDTH, generator=torch.Generator().manual_seed(0)) * 0.3
    off = torch.zeros(users, HUB, dtype=torch.bool)
    off[torch.from_numpy(lists.row_of().astype(np.int64)), lists.indices.astype(int)] = True
    off[torch.arange(users), torch.from_numpy(item)] = True
    sampler = PathSampler(graph, slope=SLOPE)

    def dense() -> None:
        leaky = F.leaky_relu(h[-1] * h[users : users + HUB], SLOPE)
        for first in range(0, users, 64):  # the scores of few users stay in the cache, or nearly
            part = slice(first, first + 64)
            score = (h[:users][part] @ leaky.T).masked_fill_(off[part], -torch.inf)
            torch.multinomial(score.softmax(dim=1), 1)

    def ours() -> None:
        sampler.walk(h.numpy(), user, item, lists, depth=1, rng=np.random.default_rng(0))

    return seconds(dense), seconds(ours)


if __name__ == "__main__":
    numba.set_num_threads(1)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    against_padded()
    against_edges()
    against_dense()
