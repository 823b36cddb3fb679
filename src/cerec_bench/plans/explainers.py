"""Explainers compared on one recommender: the same listed pairs, every method, every seed.

The recommender is given and stays as it is; a seed is that of the explainers (CERec's agent, the
compared models, random draws).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.errors import ConfigError
from cerec.recommend.subject import Subject
from cerec.runs.run import Run
from cerec.settings.run import RunConfig, to_table
from cerec_bench.cells import Arrays, Cell, Cells, Meter, Table, fingerprint
from cerec_bench.explainers.dns_truth import DnsConfig, dns_truth
from cerec_bench.explainers.measures import consistency
from cerec_bench.explainers.pairs import listed_pairs, positive_pairs
from cerec_bench.explainers.protocol import Answer, Context, Method, Pairs
from cerec_bench.explainers.registry import Entry, method
from cerec_bench.explainers.truths import TRUTHS, HeldoutConfig, Truth, examined, heldout, planted
from cerec_bench.explainers.verdict import judge
from cerec_bench.plans.judged import AGREEMENT, lines_of, packed
from cerec_bench.statistics import Line

RECIPE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is compared, by which truths, on how many pairs."""

    methods: tuple[str, ...]
    truths: tuple[str, ...]
    seeds: int = 5
    """Seeds 0, 1, ... of the explainers."""
    pairs: int | None = 1000
    """Pairs drawn at random, the same for all; None: all."""
    positives: bool = False
    """Train pairs, as in the paper, instead of listed ones; then only truths are compared."""
    k: int = 20
    """Length of the lists."""
    draws: int = 30
    """Draws of every random explanation."""
    reference: str = "cerec-paper"
    """Who the others are tested against; the first method when it is not among them."""
    dns: DnsConfig = field(default_factory=DnsConfig)
    heldout: HeldoutConfig = field(default_factory=HeldoutConfig)

    def __post_init__(self) -> None:
        if not self.methods:
            raise ConfigError("a comparison of explanations needs at least one method")
        for name in ("seeds", "draws", "k"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in self.methods:
            method(name)
        for name in self.truths:
            if name not in TRUTHS:
                raise ConfigError(f"unknown truth {name!r}; there are {', '.join(TRUTHS)}")

    def seeds_of(self, entry: Entry) -> int:
        """How many seeds a method is run with."""
        return self.seeds if entry.seeded and not entry.draws else 1


@dataclass(frozen=True, slots=True, eq=False)
class Theme:
    """A finished recommender and its data."""

    name: str
    data: Dataset
    parts: Split
    subject: Subject
    config: RunConfig
    factors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None

    @classmethod
    def of(cls, run: Run) -> Theme:
        """A run; its agent is learned once more with every seed."""
        a = run.model.arrays
        factors = (a["user"], a["item"]) if run.model.kind == "factors" else None
        return cls(run.data.name, run.data, run.split, run.subject, run.config, factors)


class Explainers:
    """Runs a plan on one recommender.

    A truth that the data cannot give (planted tastes of real data) is left out.
    """

    def __init__(self, theme: Theme, plan: Plan, cells: Cells) -> None:
        self.theme, self.plan, self.cells = theme, plan, cells
        self.facts = theme.subject.facts
        if self.facts.n_values == 0:
            raise ConfigError(f"{theme.name}: no item has attributes, nothing can be explained")
        choose = positive_pairs if plan.positives else listed_pairs
        self.pairs = choose(self._context(0), plan.pairs)
        if len(self.pairs) == 0:
            raise ConfigError(f"{theme.name}: no item is listed for anyone")
        later = theme.subject.known.size > theme.parts.train.size
        if later and any(name.startswith("heldout") for name in plan.truths):
            raise ConfigError(
                f"{theme.name}: the recommender knows what was held out, so the truth 'heldout' "
                "says nothing; train it with --holdout"
            )
        users = np.unique(self.pairs.user)[:64]
        known = theme.subject.known
        self._world = [
            theme.data.fingerprint,
            fingerprint(self.pairs.user, self.pairs.item, known.indptr, known.indices),
            fingerprint(*theme.subject.both(users)),
        ]
        self.truth_names = tuple(
            t for t in plan.truths if theme.data.planted or not t.startswith("planted")
        )

    @property
    def size(self) -> int:
        """Cells in all."""
        return sum(self.plan.seeds_of(method(name)) for name in self.plan.methods)

    def run(self) -> dict[str, list[Cell]]:
        """Every cell by method, computed or read, seed by seed."""
        out: dict[str, list[Cell]] = {name: [] for name in self.plan.methods}
        for seed in range(self.plan.seeds):
            context = self._context(seed)
            for name in self.plan.methods:
                if seed < self.plan.seeds_of(method(name)):
                    out[name].append(self._cell(name, context))
        return out

    def _context(self, seed: int) -> Context:
        t = self.theme
        return Context(
            t.data, t.subject, k=self.plan.k, seed=seed, config=t.config, factors=t.factors
        )

    def _cell(self, name: str, context: Context) -> Cell:
        entry, table = method(name), to_table(context.config)
        draws = self.plan.draws if entry.draws else 1
        depends = {
            "world": self._world,
            "method": name,
            "seed": context.seed,
            "k": self.plan.k,
            "draws": draws,
            "agent": [table["agent"], table["encoder"], context.config.train.agent_epochs],
            "l2": context.l2,
        }
        return self.cells.get(
            f"{name}-{context.seed}",
            depends,
            lambda: self._compute(entry, context, draws),
            recipe=RECIPE,
            refusals=True,
        )

    def _compute(self, entry: Entry, context: Context, draws: int) -> tuple[Table, Arrays]:
        made = entry.make()
        before, taken = context.agent_seconds, context.taken_seconds
        with Meter() as fitting:
            made.fit(context)
        inside = context.agent_seconds - before  # the agent may have learned for another method
        others = context.taken_seconds - taken
        others += context.agent_seconds if entry.agent else 0.0
        with Meter() as explaining:
            rounds = [_answers(made, self.pairs, n) for n in range(draws)]
        answers = [rounds[d][p] for p in range(len(self.pairs)) for d in range(draws)]
        listed = not self.plan.positives
        verdicts = judge(context, _repeated(self.pairs, draws), answers, listed=listed)
        took = {
            "draws": draws,
            "fit_seconds": round(fitting.seconds - inside + others, 3),
            "explain_seconds": round(explaining.seconds / draws, 3),
        }
        return took, packed(answers, verdicts)

    def truths(self) -> dict[str, Truth]:
        """The ground truths of the plan, computed or read."""
        return {name: self._truth(name) for name in self.truth_names}

    def truth_again(self) -> Truth | None:
        """The DNS truth drawn with another seed: what it agrees with is the most one can."""
        if "dns" not in self.truth_names:
            return None
        return self._drawn(replace(self.plan.dns, seed=self.plan.dns.seed + 1))

    def _truth(self, name: str) -> Truth:
        if name == "dns":
            return self._drawn(self.plan.dns)
        kind, _, side = name.partition("-")
        t = self.theme
        tastes = (
            planted(t.data, self.facts)
            if kind == "planted"
            else heldout(t.subject.known, t.parts, self.facts, self.plan.heldout, self.pairs.user)
        )
        return tastes.truth(kind, self.facts, self.pairs, both=side == "both")

    def _drawn(self, config: DnsConfig) -> Truth:
        def compute() -> tuple[Table, Arrays]:
            rows = dns_truth(self.theme.subject.known, self.facts, self.pairs, config).of_pair
            return {}, {"indptr": rows.indptr, "indices": rows.indices}

        depends = {"world": self._world, "dns": asdict(config)}
        arrays = self.cells.get(f"dns-{config.seed}", depends, compute).arrays
        return Truth("dns", Ragged(arrays["indptr"], arrays["indices"]))

    def summary(self) -> tuple[list[Line], Table]:
        """A line per method, and what the numbers rest on; computes what is missing."""
        plan, pairs, theme = self.plan, self.pairs, self.theme
        truths, cells = self.truths(), self.run()
        base = plan.reference if plan.reference in plan.methods else plan.methods[0]
        lines = lines_of(cells, truths, pairs.user, base)
        about: Table = {
            "data": self.theme.name,
            "fingerprint": self.theme.data.fingerprint,
            "values": self.facts.n_values,
            "pairs": len(pairs),
            "users_explained": len(np.unique(pairs.user)),
            "k": plan.k,
            "positives": plan.positives,
            "seeds": plan.seeds,
            "draws": plan.draws,
            "reference": base,
            "truths": {
                name: {
                    "values_per_pair": float(truth.of_pair.counts.mean()),
                    "pairs_without": int((truth.of_pair.counts == 0).sum()),
                }
                for name, truth in truths.items()
            },
        }
        if (again := self.truth_again()) is not None:
            rows = [Answer(values=again.of_pair.row(p)) for p in range(len(pairs))]
            found = consistency(truths["dns"], rows, np.arange(len(rows)))
            about["truths"]["dns"]["drawn_again"] = {
                name: float(np.nanmean(getattr(found, name))) for name in AGREEMENT
            }
            if theme.data.planted is not None:
                tastes = planted(theme.data, self.facts)
                shares = examined(truths["dns"], tastes, pairs.user, self.facts.n_values)
                about["truths"]["dns"]["planted"] = shares
        return lines, about


def _answers(made: Method, pairs: Pairs, number: int) -> list[Answer]:
    if number and hasattr(made, "draw"):
        return list(made.draw(pairs, number))
    return made.explain(pairs)


def _repeated(pairs: Pairs, draws: int) -> Pairs:
    user, item, rank = (np.repeat(a, draws) for a in (pairs.user, pairs.item, pairs.rank))
    return Pairs(user, item, rank, pairs.k)
