"""Matrix factorisation learned from pairs by Adagrad: BPR, and the paper's eq. 4 (CLiMF form)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import RunError
from cerec.recommend import kernels
from cerec.recommend.asking import drawn, drawn_ahead, list_length
from cerec.recommend.base import Context, NegativeSampler, Rows, Vectors
from cerec.recommend.factors import batches, start_vectors
from cerec.recommend.scorer import Scorer
from cerec.recommend.topk import top_k_all
from cerec.settings.recommender import RecommenderConfig

_CHUNKS = 16
_LARGE = 500_000  # vectors moved in a step, above which several threads are worth waking
_NAMES = ("user", "item")


class PairFactorisation:
    """Learns `softplus(f_uj - f_ui) + alone * softplus(-f_ui)`, j drawn by a sampler; see
    `base.Recommender`.

    `alone = 0`: BPR-MF (Rendle 2009). `alone = 1`: eq. 4 of the paper, read as the maximum of a
    likelihood, with one counterfactual item per positive. Gradients gather in `_d_user` and
    `_d_item`; a step moves the rows of the flagged users and items.
    """

    def __init__(
        self,
        config: RecommenderConfig,
        known: Ragged,
        facts: Facts,
        *,
        seed: int,
        alone: float = 0.0,
    ) -> None:
        self.config, self._known, self._facts, self._alone = config, known, facts, alone
        self._user = start_vectors(len(known), config, seed, "user")
        self._item = start_vectors(len(facts.of_item), config, seed, "item")
        self._d_user, self._d_item = np.zeros_like(self._user), np.zeros_like(self._item)
        self._squares = np.zeros_like(self._user), np.zeros_like(self._item)
        self._chunks = _CHUNKS if len(self._user) + len(self._item) > _LARGE else 1
        self._touched = np.zeros(len(self._user), np.bool_), np.zeros(len(self._item), np.bool_)
        self._lists: Rows | None = None

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """See `Recommender.epoch`."""
        context = self.context(list_length(negatives))
        ahead = drawn_ahead(negatives, user, item, context, rng)
        loss = 0.0
        for rows in batches(len(user), self.config.pairs_per_update(len(user)), rng):
            u, i = user[rows], item[rows]
            j = drawn(negatives, u, i, context, rng) if ahead is None else ahead[rows]
            loss += self._pairs(u, i, j)
            self._step()
        return loss / max(len(user), 1)

    def factors(self) -> tuple[Vectors, Vectors]:
        """See `Recommender.factors`."""
        return self._user, self._item

    def context(self, list_length: int = 0) -> Context:
        """What a sampler would see now, with lists Q_u of that length.

        While no vector moves the lists are kept: the agent and the epoch after it see the same.
        """
        lists = np.empty((len(self._user), 0), np.int32) if self._lists is None else self._lists
        if lists.shape[1] != list_length:
            lists = top_k_all(self._user, self._item, self._known, list_length)
        self._lists = lists
        return Context(self._known, self._facts, self._user, self._item, lists)

    def scorer(self) -> Scorer:
        """Scores as of now; effects of values are zero, to be fitted."""
        user = self._user.copy()
        effect = np.zeros((self._facts.n_values, user.shape[1]), np.float32)
        return Scorer(user, self._item.copy(), effect, user, "sum")

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Vectors and optimiser, copied."""
        return {name: table.copy() for name, table in self._tables().items()}

    def load_state(self, state: dict[str, NDArray[np.float32]]) -> None:
        """Take over a `state()`; the shapes must be those of this model."""
        for name, into in self._tables().items():
            found = state.get(name)
            if found is None or found.shape != into.shape:
                got = "nothing" if found is None else f"shape {found.shape}"
                raise RunError(
                    f"recommender state {name!r}: expected shape {into.shape}, got {got}; "
                    "was it saved with other data or another configuration?"
                )
            into[...] = found
        self._lists = None

    def _tables(self) -> dict[str, Vectors]:
        squares = {f"{name}_squares": x for name, x in zip(_NAMES, self._squares, strict=True)}
        return {"user": self._user, "item": self._item, **squares}

    def _pairs(self, user: Rows, item: Rows, negative: Rows) -> float:
        of_user, of_item = self._touched
        kernels.mark(user, of_user)
        kernels.mark(item, of_item)
        kernels.mark(negative, of_item)
        tables = self._user, self._item, self._alone, self.config.l2, self._d_user, self._d_item
        return kernels.pair_gradients(user, item, negative, *tables)

    def _step(self) -> None:
        """Move by the gathered gradients, and clear them; rows without one would not move."""
        tables, gradients = (self._user, self._item), (self._d_user, self._d_item)
        rate, chunks = self.config.learning_rate, self._chunks
        for parts in zip(tables, gradients, self._squares, self._touched, strict=True):
            if self.config.optimiser == "adagrad":
                kernels.adagrad(*parts, rate, chunks)
            else:
                table, gradient, _, touched = parts
                kernels.descend(table, gradient, touched, rate)
        self._lists = None
