"""The comparison of explainers on one recommender: same pairs, every method, every seed.

The recommender is given and stays as it is; a seed is that of the explainers (CERec's agent, the
compared models, random draws). Each finished cell is a file named after everything it depends on:
a comparison that was stopped goes on where it was, and one with more methods, seeds or truths
computes only what is new.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.split import Split
from cerec.errors import CerecError, ConfigError
from cerec.files import read_arrays, write_arrays
from cerec.recommend.scorer import Scorer
from cerec_bench.compare.cost import Meter
from cerec_bench.explainers.cells import (
    Cell,
    Outcome,
    read_cell,
    read_outcome,
    write_cell,
    write_outcome,
)
from cerec_bench.explainers.dns_truth import DnsConfig, dns_truth
from cerec_bench.explainers.pairs import listed_pairs
from cerec_bench.explainers.protocol import AgentSetup, Answer, Context, Method, Pairs
from cerec_bench.explainers.registry import Entry, method
from cerec_bench.explainers.truths import TRUTHS, HeldoutConfig, Truth, heldout, planted
from cerec_bench.explainers.verdict import judge

_FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A finished recommender and its data."""

    name: str
    data: Dataset
    parts: Split
    scorer: Scorer
    l2: float = 0.03
    setup: AgentSetup = field(default_factory=AgentSetup)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is compared, by which truths, on how many pairs."""

    methods: tuple[str, ...]
    truths: tuple[str, ...]
    seeds: int = 5
    """Seeds 0, 1, ... of the explainers."""
    pairs: int | None = 1000
    """Listed pairs drawn at random, the same for all; None: all."""
    k: int = 20
    """Length of the lists."""
    draws: int = 30
    """Draws of every random explanation."""
    reference: str = "cerec"
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


class Comparison:
    """Runs a plan on one subject; `folder` holds cells and truths."""

    def __init__(
        self,
        subject: Subject,
        plan: Plan,
        folder: Path,
        on_cell: Callable[[Cell, bool], None] | None = None,
    ) -> None:
        """`on_cell` is told every finished cell, and whether it was there before.

        A truth that the data cannot give (planted tastes of real data) is left out.
        """
        self.subject, self.plan, self.folder = subject, plan, folder
        self._on_cell = on_cell
        self.facts = Facts.build(subject.data)
        if self.facts.n_values == 0:
            raise ConfigError(f"{subject.name}: no item has attributes, nothing can be explained")
        self._world = _digest(subject)
        self.pairs = listed_pairs(self._context(0), plan.pairs)
        if len(self.pairs) == 0:
            raise ConfigError(f"{subject.name}: no item is listed for anyone")
        self.truth_names = tuple(
            t for t in plan.truths if subject.data.planted or not t.startswith("planted")
        )

    @property
    def size(self) -> int:
        """Cells in all."""
        return sum(self.plan.seeds_of(method(name)) for name in self.plan.methods)

    def run(self) -> list[Cell]:
        """Every cell, computed or read, seed by seed."""
        out = []
        for seed in range(self.plan.seeds):
            context = self._context(seed)
            for name in self.plan.methods:
                if seed < self.plan.seeds_of(method(name)):
                    out.append(self._cell(name, context))
        return out

    def outcomes(self, name: str) -> Iterator[Outcome]:
        """The finished cells of a method, without those it refused."""
        for seed in range(self.plan.seeds_of(method(name))):
            cell = read_cell(self.folder / "cells", self._key(name, seed))
            if cell is not None and not cell.error:
                yield read_outcome(self.folder / "cells", cell)

    def cells(self, name: str) -> list[Cell]:
        """The cells of a method that are there."""
        keys = [self._key(name, s) for s in range(self.plan.seeds_of(method(name)))]
        found = [read_cell(self.folder / "cells", key) for key in keys]
        return [cell for cell in found if cell is not None]

    def _context(self, seed: int) -> Context:
        s = self.subject
        return Context(
            s.data, s.parts.train, self.facts, s.scorer,
            k=self.plan.k, seed=seed, l2=s.l2, setup=s.setup,
        )  # fmt: skip

    def _key(self, name: str, seed: int) -> str:
        depends = [_FORMAT, self._world, name, seed, self.plan.k, self.plan.pairs]
        depends += [asdict(self.subject.setup), self.subject.l2]
        depends += [self.plan.draws] if method(name).draws else []
        return f"{name}-{seed}-{_hash(depends)}"

    def _cell(self, name: str, context: Context) -> Cell:
        folder, key = self.folder / "cells", self._key(name, context.seed)
        cell = read_cell(folder, key)
        known = cell is not None
        if cell is None:
            cell = Cell(name, context.seed, key)
            try:
                outcome = self._compute(method(name), cell, context)
                cell = outcome.cell
                write_outcome(folder, outcome)
            except CerecError as error:  # too large for it, or not made for this recommender
                cell = replace(cell, error=str(error))
                write_cell(folder, cell)
        if self._on_cell is not None:
            self._on_cell(cell, known)
        return cell

    def _compute(self, entry: Entry, cell: Cell, context: Context) -> Outcome:
        made, draws = entry.make(), self.plan.draws if entry.draws else 1
        before, taken = context.agent_seconds, context.taken_seconds
        with Meter() as fitting:
            made.fit(context)
        inside = context.agent_seconds - before  # the agent may have learned for another method
        others = context.taken_seconds - taken
        others += context.agent_seconds if entry.agent else 0.0
        with Meter() as explaining:
            rounds = [_answers(made, self.pairs, n) for n in range(draws)]
        answers = [rounds[d][p] for p in range(len(self.pairs)) for d in range(draws)]
        verdicts = judge(context, _repeated(self.pairs, draws), answers)
        cell = replace(
            cell,
            draws=draws,
            fit_seconds=round(fitting.seconds - inside + others, 3),
            explain_seconds=round(explaining.seconds / draws, 3),
            peak_mb=round(max(fitting.peak_mb, explaining.peak_mb), 1),
        )
        return Outcome(cell, answers, verdicts)

    def truths(self) -> dict[str, Truth]:
        """The ground truths of the plan, computed or read."""
        return {name: self._truth(name) for name in self.truth_names}

    def truth_again(self) -> Truth | None:
        """The DNS truth drawn with another seed: what it agrees with is the most one can."""
        if "dns" not in self.truth_names:
            return None
        return self._kept("dns", replace(self.plan.dns, seed=self.plan.dns.seed + 1))

    def _truth(self, name: str) -> Truth:
        if name == "dns":
            return self._kept("dns", self.plan.dns)
        kind, _, side = name.partition("-")
        s = self.subject
        tastes = (
            planted(s.data, self.facts)
            if kind == "planted"
            else heldout(s.parts.train, s.parts, self.facts, self.plan.heldout, self.pairs.user)
        )
        return tastes.truth(kind, self.facts, self.pairs, both=side == "both")

    def _kept(self, name: str, config: DnsConfig) -> Truth:
        depends = [_FORMAT, self._world, self.plan.k, self.plan.pairs, asdict(config)]
        path = self.folder / "truths" / f"{name}-{config.seed}-{_hash(depends)}.safetensors"
        if path.exists():
            arrays = read_arrays(path)
            return Truth(name, Ragged(arrays["indptr"], arrays["indices"]))
        truth = dns_truth(self.subject.parts.train, self.facts, self.pairs, config)
        rows = truth.of_pair
        write_arrays(path, {"indptr": rows.indptr, "indices": rows.indices})
        return truth


def _answers(made: Method, pairs: Pairs, number: int) -> list[Answer]:
    draw: Any = getattr(made, "draw", None)
    return made.explain(pairs) if draw is None else list(draw(pairs, number))


def _repeated(pairs: Pairs, times: int) -> Pairs:
    """Every pair so many times in a row."""
    user, item, rank = (np.repeat(c, times) for c in (pairs.user, pairs.item, pairs.rank))
    return Pairs(user, item, rank, pairs.k)


def _hash(depends: Any) -> str:
    text = json.dumps(depends, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _digest(subject: Subject) -> str:
    digest = hashlib.sha256(subject.data.fingerprint.encode())
    for rows in (subject.parts.train, subject.parts.valid, subject.parts.test):
        digest.update(rows.indptr.tobytes() + rows.indices.tobytes())
    s = subject.scorer
    for table in (s.user, s.item, s.effect, s.effect_user, s.matrix):
        if table is not None:
            digest.update(np.ascontiguousarray(table).tobytes())
    return digest.hexdigest()
