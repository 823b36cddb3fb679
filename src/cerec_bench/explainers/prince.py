"""PRINCE (Ghazimatin et al., 2020): the fewest actions without which another item is preferred.

Its recommender is personalised PageRank on the graph of users, items and attributes: a walk from
u follows a random edge with probability 1 - a and starts again with a, and pi(u, x) is how often
it is at x. Deleting actions takes edges out of u. On the graph without any edge out of u,

    pi(u, x) is proportional to the sum of p(n, x) over the actions n that are kept,

the same factor for all x. So j is ahead of the item i once the sum of p(n, i) - p(n, j) over what
is kept is below zero, and deleting by falling difference reaches that with the fewest deletions:
for each j the minimum, and the smallest over j is the answer. p follows from the whole graph's pi
by taking out the walks that come through u,

    p(n, x) = pi(n, x) - pi(n, u) pi(u, x) / pi(u, u),

and since edges go both ways, pi(n, x) deg(n) = pi(x, n) deg(x): one vector from each item, and one
from each user, serve all pairs. Candidates j are the items that follow the list of the recommender
under study; where its graph has all of them ahead of i there is nothing to delete, and no answer.
N nodes, B starts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.sparse import Sparse, multiply
from cerec_bench.explainers.history import Array, fewest
from cerec_bench.explainers.protocol import NO_ANSWER, Answer, Context, Pairs, Rows

_BATCH = 64


class PageRank:
    """Personalised PageRank on an undirected graph, many starts at a time."""

    def __init__(self, graph: Ragged, *, restart: float, rounds: int) -> None:
        """Walks longer than `rounds` are left out."""
        self.degree = np.maximum(graph.counts, 1)
        self._restart, self._rounds = restart, rounds
        weight = (1.0 / self.degree)[graph.indices].astype(np.float32)
        self._step = Sparse.build(graph, weight, None)

    @torch.no_grad()
    def __call__(self, start: NDArray[np.integer]) -> NDArray[np.float32]:
        """(N, B): column b is how often a walk from `start[b]` is at each node."""
        first = torch.zeros(len(self.degree), len(start))
        first[torch.from_numpy(start.astype(np.int64)), torch.arange(len(start))] = self._restart
        out = first
        for _ in range(self._rounds):
            out = multiply(self._step, out).mul_(1 - self._restart).add_(first)
        found: NDArray[np.float32] = out.numpy()
        return found


class Prince:
    """PRINCE as an explainer of histories."""

    def __init__(self, *, restart: float = 0.15, rounds: int = 30, candidates: int = 5) -> None:
        """`restart`: the paper's; `candidates`: items after the list that may come instead."""
        if not 0 < restart < 1 or min(rounds, candidates) < 1:
            raise ConfigError(
                "PRINCE needs a restart in (0, 1) and at least 1 round and candidate, got "
                f"{restart}, {rounds} and {candidates}"
            )
        self._restart, self._rounds, self._candidates = restart, rounds, candidates

    def fit(self, context: Context) -> None:
        """Set up the walks on the graph of train."""
        self._context = context
        self._rank = PageRank(context.graph.adjacency, restart=self._restart, rounds=self._rounds)

    def explain(self, pairs: Pairs) -> list[Answer]:
        """Train items that had not been taken, the most telling first."""
        context = self._context
        targets: list[Rows] = []  # per pair: the item, then the candidates
        for user, places in pairs.by_user():
            follow = context.standing(user).order[pairs.k : pairs.k + self._candidates]
            targets += [np.array([pairs.item[at], *follow], np.int32) for at in places]
        reach = self._reach(pairs, targets)
        back = {int(u): self._back(int(u), v) for u, v in self._vectors(np.unique(pairs.user), 0)}
        out = []
        for at, user in enumerate(pairs.user.tolist()):
            history = context.train.row(user)
            # pi(u, x) stands behind pi(n, x) of the history
            through = np.stack([reach[user, int(x)] for x in targets[at]])  # (1 + C, H + 1)
            p = through[:, :-1] - through[:, -1:] * back[user][None, :]
            apart = p[0] - p[1:]  # (C, H)
            found = fewest(apart.sum(axis=1), -apart, len(history) - 1)
            if found is None:
                out.append(NO_ANSWER)
            else:
                other, which = found
                out.append(
                    Answer(removed=history[which], counterfactual=int(targets[at][1 + other]))
                )
        return out

    def _reach(self, pairs: Pairs, targets: list[Rows]) -> dict[tuple[int, int], Array]:
        """(user, item x) -> pi(n, x) for the user's history, then pi(u, x)."""
        wanted: dict[int, set[int]] = {}
        for user, items in zip(pairs.user.tolist(), targets, strict=True):
            for x in items.tolist():
                wanted.setdefault(x, set()).add(user)
        n_users, degree, out = self._context.graph.n_users, self._rank.degree, {}
        for x, vector in self._vectors(np.array(sorted(wanted), np.int64), n_users):
            for user in wanted[x]:
                nodes = np.append(self._context.train.row(user) + n_users, user)
                out[user, x] = vector[nodes] * (degree[n_users + x] / degree[nodes])
        return out

    def _back(self, user: int, vector: Array) -> Array:
        """pi(n, u) / pi(u, u) for the history of a user, from the walks that start at the user."""
        nodes = self._context.train.row(user) + self._context.graph.n_users
        degree = self._rank.degree
        return np.asarray(vector[nodes] * (degree[user] / degree[nodes]) / vector[user])

    def _vectors(self, rows: NDArray[np.integer], first: int) -> Iterator[tuple[int, Array]]:
        """Each row with the walks from the node `first + row`."""
        for start in range(0, len(rows), _BATCH):
            part = rows[start : start + _BATCH]
            found = self._rank(part + first).T.astype(np.float64)
            yield from zip(part.tolist(), found, strict=True)
