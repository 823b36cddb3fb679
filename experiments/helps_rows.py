"""What experiments/helps.py compares: the rows of its table, the data sets, the trials."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from cerec.recommend.base import Context, NegativeSampler, Rows, SwapSampler
from cerec.recommend.negatives import DNS, Mixture, Uniform, Walk
from cerec.recommend.swaps import RandomSwaps
from cerec.settings.data import FilterConfig
from cerec.settings.train import SignalConfig
from cerec_bench.compare.fit import FitConfig


@dataclass(frozen=True, slots=True)
class Method:
    """What one row of the table learns from."""

    vectors: str
    negatives: NegativeSampler
    model: str = "bpr"
    """The loss (`RecommenderConfig.model`); `climf` is eq. 4 of the paper."""
    swaps: SwapSampler | None = None
    weight: float = 1.0
    known: int = 0
    """Train items up to which a user's imagined items count in full (`swap_known`); 0: always."""
    agent: SignalConfig | None = None
    """Counterfactuals of the learned agent, co-trained; None: those of the samplers above."""
    depth: int = 1
    """Steps of the agent's walks."""
    encoder: str = "factors"
    """Where the agent's node table starts (`EncoderConfig.start`)."""
    warmup: int = 0
    """Epochs with ordinary negatives alone before the rest, the paper's initialisation: those of
    `start`, or, where the agent chooses, those its signals name."""
    start: NegativeSampler = field(default_factory=Uniform)
    like: str = ""
    """The row whose learning rate and l2 this one takes over; empty: it is tuned itself."""


@dataclass(frozen=True, slots=True)
class Set:
    """A data set, how it is filtered, and the trials every method gets."""

    filters: FilterConfig
    trials: tuple[tuple[float, float], ...]
    """(learning rate, l2) pairs."""
    batch: int
    trial: FitConfig
    """How long a trial learns."""
    fit: FitConfig
    """How long the models that are tested learn."""
    beyond: int = 3
    """Trials beyond `trials` that a row may have, so that its best l2 is not the last tried."""


@dataclass(frozen=True, slots=True)
class Rational:
    """DNS that keeps to what the paper calls rational: scored no higher than the list's last item.

    Where every candidate is scored higher, any of them.
    """

    candidates: int = 4
    list_length: int = 20

    def draw(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Rows:
        """See `NegativeSampler.draw`."""
        drawn = np.stack([Uniform().draw(user, item, context, rng) for _ in range(self.candidates)])
        mine = context.user[user]
        score = np.einsum("bd,cbd->cb", mine, context.item[drawn])
        last = np.einsum("bd,bd->b", mine, context.item[context.lists[user, self.list_length - 1]])
        best = np.where(score <= last, score, -np.inf).argmax(axis=0)
        return np.asarray(drawn[best, np.arange(len(user))])


LITERAL = SignalConfig(negatives="uniform", counterfactuals="literal", chooser="agent")
IMAGINED = SignalConfig(negatives="dns", counterfactuals="imagined", chooser="agent")
HALF_WALK = Mixture([(0.5, Walk()), (0.5, Uniform())])
HALF_DNS = Mixture([(0.5, Walk()), (0.5, DNS(4))])
ONE_STEP = "attributes / DNS 4 + imagined by need, random"
DEFAULT_STEPS = SignalConfig().swap_steps
DEFAULT = f"{ONE_STEP}, T = {DEFAULT_STEPS}"
METHODS: dict[str, Method] = {
    "attributes / uniform": Method("attributes", Uniform()),
    "attributes / DNS 4": Method("attributes", DNS(4)),
    "attributes / DNS 4 + imagined, random": Method("attributes", DNS(4), swaps=RandomSwaps()),
    ONE_STEP: Method("attributes", DNS(4), swaps=RandomSwaps(), known=10),
    DEFAULT: Method("attributes", DNS(4), swaps=RandomSwaps(DEFAULT_STEPS), known=10),
    "attributes / walk (the paper's form)": Method("attributes", Walk()),
    "attributes / half walk, half uniform": Method("attributes", HALF_WALK),
    "attributes / half walk, half DNS 4": Method("attributes", HALF_DNS),
    "attributes / uniform + imagined, random": Method("attributes", Uniform(), swaps=RandomSwaps()),
    "id / uniform": Method("id", Uniform()),
    "id / DNS 4": Method("id", DNS(4)),
    "id / walk (the paper's form)": Method("id", Walk()),
    "id / half walk, half uniform": Method("id", HALF_WALK),
    "id / half walk, half DNS 4": Method("id", HALF_DNS),
    "attributes / DNS 16": Method("attributes", DNS(16)),
    "id / DNS 16": Method("id", DNS(16)),
}
LITERAL_ROW = "attributes / walk (the paper's form)"
SWAPPED = Method("attributes", DNS(4), known=10, agent=IMAGINED, warmup=10, like=ONE_STEP)
WALKED = Method("attributes", Walk(), agent=LITERAL, warmup=10, like=LITERAL_ROW)
METHODS |= {
    "attributes / DNS 4 + imagined by need, learned": SWAPPED,
    "attributes / learned walk (the paper's form)": WALKED,
    "attributes / DNS 4 + imagined by need, random, after 10 epochs of uniform": Method(
        "attributes", DNS(4), swaps=RandomSwaps(), known=10, warmup=10, like=ONE_STEP
    ),
    "attributes / walk, after 10 epochs of uniform": Method(
        "attributes", Walk(), warmup=10, like=LITERAL_ROW
    ),
}
for _steps in range(2, 6):
    if _steps != DEFAULT_STEPS:
        METHODS[f"{ONE_STEP}, T = {_steps}"] = Method(
            "attributes", DNS(4), swaps=RandomSwaps(steps=_steps), known=10, like=DEFAULT
        )
    METHODS[f"attributes / walk, T = {_steps}"] = Method(
        "attributes", Walk(steps=_steps), like=LITERAL_ROW
    )
METHODS |= {
    "attributes / DNS 4 + imagined by need, learned, cold encoder": replace(
        SWAPPED, encoder="random"
    ),
    "attributes / learned walk, cold encoder": replace(WALKED, encoder="random"),
    "attributes / DNS 4 + imagined by need, learned, without warm-up": replace(SWAPPED, warmup=0),
    "attributes / learned walk, without warm-up": replace(WALKED, warmup=0),
}
for _steps in range(2, 6):
    METHODS[f"attributes / DNS 4 + imagined by need, learned, T = {_steps}"] = replace(
        SWAPPED, depth=_steps
    )
    METHODS[f"attributes / learned walk, T = {_steps}"] = replace(WALKED, depth=_steps)
METHODS |= {
    "attributes / uniform, eq. 4": Method("attributes", Uniform(), model="climf"),
    "attributes / walk, eq. 4": Method("attributes", Walk(), model="climf"),
    "attributes / learned walk, eq. 4 (the paper's letter)": replace(
        WALKED, model="climf", like="attributes / walk, eq. 4"
    ),
}
BY_ID = "id / walk (the paper's form)"
METHODS |= {  # the agent and the paper's loss where an item is a mere id
    "id / learned walk (the paper's form)": replace(WALKED, vectors="id", like=BY_ID),
    "id / walk, after 10 epochs of uniform": Method("id", Walk(), warmup=10, like=BY_ID),
    "id / uniform, eq. 4": Method("id", Uniform(), model="climf"),
    "id / walk, eq. 4": Method("id", Walk(), model="climf"),
    "id / learned walk, eq. 4 (the paper's letter)": replace(
        WALKED, vectors="id", model="climf", like="id / walk, eq. 4"
    ),
}
METHODS["attributes / walk, into the list as well"] = Method(
    "attributes", Walk(list_length=0), like=LITERAL_ROW
)
for _vectors in ("attributes", "id"):
    METHODS[f"{_vectors} / DNS 4 outside the list"] = Method(_vectors, Rational())
AS_LEARNED = f"{ONE_STEP}, after 10 epochs of DNS 4"  # as learned changes start
METHODS[AS_LEARNED] = replace(METHODS[f"{ONE_STEP}, after 10 epochs of uniform"], start=DNS(4))
LINES = ("popularity", "ease", "itemknn")

WIKI = ("*wikiPageWikiLink*", "*rdf-syntax-ns#type*")
SETS: dict[str, Set] = {
    "ml-100k": Set(
        FilterConfig(k_core=10, min_entity=10, min_relation=50),
        ((0.03, 0.02), (0.03, 0.04), (0.06, 0.02), (0.06, 0.04), (0.03, 0.06)),
        2048,
        FitConfig(epochs=300, every=3, patience=5),
        FitConfig(epochs=600, every=3, patience=10),
    ),
    "ml-1m": Set(
        FilterConfig(leave_out=WIKI, min_entity=10, min_relation=50),
        ((0.07, 0.02), (0.07, 0.03), (0.07, 0.045)),
        8192,
        FitConfig(epochs=200, every=5, patience=3),
        FitConfig(epochs=600, every=5, patience=6),
    ),
    "amazon-beauty": Set(
        FilterConfig(min_entity=10, min_relation=50),
        ((0.1, 0.02), (0.1, 0.05), (0.1, 0.1)),
        8192,
        FitConfig(epochs=300, every=10, patience=4),
        FitConfig(epochs=1500, every=10, patience=6),
    ),
    "last-fm": Set(
        FilterConfig(min_entity=10, min_relation=50),
        ((0.1, 0.01), (0.1, 0.02)),
        8192,
        FitConfig(epochs=100, every=10, patience=2),
        FitConfig(epochs=1000, every=10, patience=3),
        beyond=0,
    ),
}
