"""User and item vectors, their optimiser, and the one training step all factor models share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import RunError
from cerec.recommend import kernels
from cerec.recommend.base import Context, Rows, Vectors
from cerec.recommend.scorer import Scorer
from cerec.recommend.topk import top_k_all
from cerec.rng import generator
from cerec.settings.recommender import RecommenderConfig

_CHUNKS = 16
_LARGE = 500_000  # vectors moved in a step, above which several threads are worth waking


class Factors:
    """U_u and V_i, learned by Adagrad.

    Gradients gather in `d_user` and `d_item`; `step` moves the rows of the flagged users and
    items. Rows without a gradient do not move, so skipping them changes nothing.
    """

    def __init__(self, config: RecommenderConfig, known: Ragged, facts: Facts, seed: int) -> None:
        self.config, self.known, self.facts = config, known, facts
        self.user = start_vectors(len(known), config, seed, "user")
        self.item = start_vectors(len(facts.of_item), config, seed, "item")
        self.d_user, self.d_item = np.zeros_like(self.user), np.zeros_like(self.item)
        self._squares = np.zeros_like(self.user), np.zeros_like(self.item)
        self._chunks = _CHUNKS if len(self.user) + len(self.item) > _LARGE else 1
        self.touched_user = np.zeros(len(self.user), np.bool_)
        self.touched_item = np.zeros(len(self.item), np.bool_)
        self._lists: Rows | None = None

    def context(self, list_length: int) -> Context:
        """What samplers may look at, with lists of the given length as of now.

        While no vector moves the lists are kept: the agent and the epoch after it see the same.
        """
        lists = np.empty((len(self.user), 0), np.int32) if self._lists is None else self._lists
        if lists.shape[1] != list_length:
            lists = top_k_all(self.user, self.item, self.known, list_length)
        self._lists = lists
        return Context(self.known, self.facts, self.user, self.item, lists)

    def step(self) -> None:
        """Move by the gathered gradients, and clear them."""
        tables = (
            (self.user, self.d_user, self.touched_user),
            (self.item, self.d_item, self.touched_item),
        )
        rate = self.config.learning_rate
        for (table, gradient, touched), squares in zip(tables, self._squares, strict=True):
            kernels.adagrad(table, gradient, squares, touched, rate, self._chunks)
        self._lists = None

    def scorer(self) -> Scorer:
        """Scores as of now; effects of values are zero, to be fitted."""
        user = self.user.copy()
        effect = np.zeros((self.facts.n_values, user.shape[1]), np.float32)
        return Scorer(user, self.item.copy(), effect, user, "sum")

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Vectors and optimiser, copied."""
        out = {name: getattr(self, name).copy() for name in _NAMES}
        for name, squares in zip(_NAMES, self._squares, strict=True):
            out[f"{name}_squares"] = squares.copy()
        return out

    def load_state(self, state: dict[str, NDArray[np.float32]]) -> None:
        """Take over a `state()`; the shapes must be those of this model."""
        for name, squares in zip(_NAMES, self._squares, strict=True):
            _take(name, state, getattr(self, name))
            _take(f"{name}_squares", state, squares)
        self._lists = None


_NAMES = ("user", "item")


class FactorModel:
    """What the models learned as `Factors` have in common; see `base.Recommender`."""

    def __init__(
        self, config: RecommenderConfig, known: Ragged, facts: Facts, *, seed: int
    ) -> None:
        self.config = config
        self._factors = Factors(config, known, facts, seed)

    def factors(self) -> tuple[Vectors, Vectors]:
        """See `Recommender.factors`."""
        return self._factors.user, self._factors.item

    def context(self, list_length: int = 0) -> Context:
        """What a sampler would see now, with lists Q_u of that length."""
        return self._factors.context(list_length)

    def scorer(self) -> Scorer:
        """See `Recommender.scorer`."""
        return self._factors.scorer()

    def state(self) -> dict[str, NDArray[np.float32]]:
        """See `Recommender.state`."""
        return self._factors.state()

    def load_state(self, state: dict[str, NDArray[np.float32]]) -> None:
        """See `Recommender.load_state`."""
        self._factors.load_state(state)


def start_vectors(n: int, config: RecommenderConfig, seed: int, name: str) -> Vectors:
    """Random first vectors of one table, (n, d)."""
    rng = generator(seed, f"recommend/{name}")
    vectors = rng.standard_normal((n, config.dim), np.float32)
    vectors *= np.float32(config.init)
    return vectors


def _take(name: str, state: dict[str, NDArray[np.float32]], into: Vectors) -> None:
    found = state.get(name)
    if found is None or found.shape != into.shape:
        got = "nothing" if found is None else f"shape {found.shape}"
        raise RunError(
            f"recommender state {name!r}: expected shape {into.shape}, got {got}; "
            "was it saved with other data or another configuration?"
        )
    into[...] = found


def batches(n: int, size: int, rng: np.random.Generator) -> list[Rows]:
    """0..n-1 in random order, in pieces of `size`."""
    order = rng.permutation(n).astype(np.int32)
    return [order[start : start + size] for start in range(0, n, size)]
