"""The agent learns on a finished recommender: one loop for ours and for those made elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.checkpoint import Row
from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.recommend.base import Context
from cerec.recommend.linear.folding import truncated_svd
from cerec.recommend.rank import lists
from cerec.recommend.subject import Subject
from cerec.rng import generator
from cerec.settings.run import RunConfig


def learn_agent(
    data: Dataset,
    subject: Subject,
    config: RunConfig,
    *,
    seed: int,
    on_row: Callable[[Row], None] | None = None,
) -> tuple[NDArray[np.float32] | None, list[Row]]:
    """Node vectors of an agent that learned to walk from listed items to counterfactual ones, and
    a row for every epoch, the last with what it learned; no vectors where items have no
    attributes.
    """
    if subject.facts.n_values == 0 or config.train.agent_epochs == 0:
        return None, []
    from cerec.agent.agent import WalkAgent
    from cerec.agent.quality import walk_quality

    graph = Ckg.build(data, subject.known)
    agent = WalkAgent(config.agent, config.encoder, graph, subject.facts, seed=seed)
    context = context_of_subject(subject, config.agent.list_length)
    user, item = subject.known.row_of(), subject.known.indices
    history: list[Row] = []
    for epoch in range(config.train.agent_epochs):
        started = time.perf_counter()
        rng = generator(seed, f"training/agent/{epoch}")
        row: Row = {"phase": "agent", "epoch": epoch + 1}
        row |= agent.learn(user, item, context, rng=rng)
        if epoch + 1 == config.train.agent_epochs:
            row |= walk_quality(agent, context)
        row["seconds"] = round(time.perf_counter() - started, 3)
        history.append(row)
        if on_row is not None:
            on_row({**row, "until": config.train.agent_epochs})
    return agent.vectors(), history


def context_of_subject(subject: Subject, k: int) -> Context:
    """What the agent sees of a finished recommender: lists, what is above them, and vectors."""
    k = min(k, subject.n_items)
    found = np.full((len(subject.known), k), -1, np.int32)
    user, item = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for users in subject.blocks():
        scores, known = subject.scores(users), subject.known.take(users)
        found[users] = lists(scores, known.indptr, known.indices, k)
        n = (found[users] >= 0).sum(axis=1)
        last = found[users][np.arange(len(users)), np.maximum(n - 1, 0)]
        cut = np.where(n > 0, scores[np.arange(len(users)), np.maximum(last, 0)], -np.inf)
        row, better = np.nonzero(scores > cut[:, None])
        user.append(users[row])
        item.append(better)
    above = Ragged.from_pairs(np.concatenate(user), np.concatenate(item), len(subject.known))
    return Context(subject.known, subject.facts, *_vectors(subject), found, above=above)


def _vectors(subject: Subject) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """User and item vectors to start from: those of the model, or of the interactions."""
    user, item = (getattr(subject.model, name, None) for name in ("user", "item"))
    if isinstance(user, np.ndarray) and isinstance(item, np.ndarray):
        return user.astype(np.float32), item.astype(np.float32)
    known = subject.known
    shape = len(known), subject.n_items
    matrix = sp.csr_matrix((np.ones(known.size), known.indices, known.indptr), shape=shape)
    vectors = truncated_svd(matrix, min(64, *shape))
    own = (matrix @ vectors) / np.maximum(known.counts, 1)[:, None]
    return own.astype(np.float32), vectors.astype(np.float32)
