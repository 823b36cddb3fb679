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
    """U_u, and V_i = z_i + mean of x_v over the item's values (z_i alone with `vectors = "id"`).

    Gradients gather in `d_user`, `d_item` (by the composed V) and `d_value`; `step` hands those
    of V on to z and x, and moves the rows of the flagged users, items and values by Adagrad.
    Rows without a gradient do not move, so skipping them changes nothing.
    """

    def __init__(self, config: RecommenderConfig, known: Ragged, facts: Facts, seed: int) -> None:
        self.config, self.known, self.facts = config, known, facts
        n_items = len(facts.of_item)
        n_values = facts.n_values if config.vectors == "attributes" else 0
        self.user = start_vectors(len(known), config, seed, "user")
        self.own = start_vectors(n_items, config, seed, "item")
        self.value = start_vectors(n_values, config, seed, "value")
        self.item = np.empty_like(self.own)
        self.d_user, self.d_item, self.d_value = map(
            np.zeros_like, (self.user, self.own, self.value)
        )
        self._squares = tuple(map(np.zeros_like, (self.user, self.own, self.value)))
        work = len(self.user) + n_items + facts.of_item.size
        self._chunks = _CHUNKS if work > _LARGE else 1
        self.touched_user = np.zeros(len(self.user), np.bool_)
        self.touched_item = np.zeros(n_items, np.bool_)
        self.touched_value = np.zeros(n_values, np.bool_)
        self._lists: Rows | None = None
        self._compose()

    @property
    def has_values(self) -> bool:
        """True when item vectors are made of the vectors of their values."""
        return len(self.value) > 0

    def context(self, list_length: int) -> Context:
        """What samplers may look at, with lists of the given length as of now.

        While no vector moves the lists are kept: the agent and the epoch after it see the same.
        """
        lists = np.empty((len(self.user), 0), np.int32) if self._lists is None else self._lists
        if lists.shape[1] != list_length:
            lists = top_k_all(self.user, self.item, self.known, list_length)
        self._lists = lists
        value = self.value if self.has_values else None
        return Context(self.known, self.facts, self.user, self.item, lists, value)

    def step(self) -> None:
        """Move by the gathered gradients, and clear them."""
        of_item, rate = self.facts.of_item, self.config.learning_rate
        if self.has_values:
            holders = self.facts.holders
            kernels.spread(
                self.d_item,
                self.touched_item,
                of_item.indptr,
                holders.indptr,
                holders.indices,
                self.d_value,
                self.touched_value,
                self._chunks,
            )
        tables = (
            (self.user, self.d_user, self.touched_user),
            (self.own, self.d_item, self.touched_item),
            (self.value, self.d_value, self.touched_value),
        )
        for (table, gradient, touched), squares in zip(tables, self._squares, strict=True):
            kernels.adagrad(table, gradient, squares, touched, rate, self._chunks)
        self._compose()

    def scorer(self) -> Scorer:
        """Scores as of now; zero effects for vectors by id."""
        user = self.user.copy()
        if self.has_values:
            return Scorer(user, self.item.copy(), self.value.copy(), user, "mean")
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
        self._compose()

    def _compose(self) -> None:
        self._lists = None
        if not self.has_values:
            self.item = self.own
            return
        of_item = self.facts.of_item
        kernels.compose(
            self.own, self.value, of_item.indptr, of_item.indices, self.item, self._chunks
        )


_NAMES = ("user", "own", "value")


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


def swap_weights(config: RecommenderConfig, known: Ragged) -> NDArray[np.float32]:
    """(U,) how much the imagined items of each user count: less for those known well."""
    few = config.swap_known / np.maximum(known.counts, 1)
    share = np.minimum(1.0, few) if config.swap_known else np.ones(len(known))
    return (config.swap_weight * share).astype(np.float32)


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
