"""Can every listed item be explained? Counts over a run, with a slow search of its own beside.

The slow search shares no code with the engine: Python sets and sorted arrays, from the scores and
effects of the recommender.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.explain.explanation import Explanation
from cerec.explain.options import Options
from cerec.files import write_json
from cerec.runs.run import Run
from cerec_bench.report.pages import Page
from cerec_bench.report.tables import Grid

Doubles = NDArray[np.float64]
LEAST = 5
_KINDS = ("decisive", "near")


def measure(run: Run, *, users: int = 500, pairs: int = 100, near: int = 10, k: int = 20) -> Any:
    """All that the page tells of one run, over users drawn by its seed."""
    rng = np.random.default_rng(run.seed)
    n = len(run.data.users)
    some = np.sort(rng.choice(n, min(users, n), replace=False))
    table = run.explainer.tables.of_users(some, Options(k=k))
    gained = table["changes"].explode().drop_nulls().struct.unnest()
    support = gained.filter(pl.col("after").is_not_null())["support"]
    answers = [run.explain(*pair, k=k, by="attributes") for pair in _drawn(table, pairs, rng)]
    slow = Slow(run, k)
    return {
        "data": run.data.name,
        "users": len(some),
        "pairs": len(table),
        "attributes": _share(table, "attributes"),
        "history": _share(table, "history"),
        "unexplained": dict(table.filter(~_answered()).group_by("status").len().iter_rows()),
        "least_support": int(support.min() or 0) if len(support) else None,  # type: ignore[arg-type]
        "size": Counter(table.filter(_answered(), pl.col("by") == "attributes")["size"].to_list()),
        "checked": len(answers),
        "differ": sum(not slow.agrees(e) for e in answers),
        "monotony": {
            kind: _monotony(run, some[: near if kind == "near" else len(some)], kind, k)
            for kind in _KINDS
        },
    }


def _answered() -> pl.Expr:
    return pl.col("status").is_in(["verified", "canonical", "fitted"])


def _share(table: pl.DataFrame, by: str) -> float:
    return len(table.filter(_answered(), pl.col("by") == by)) / max(len(table), 1)


def _drawn(table: pl.DataFrame, n: int, rng: np.random.Generator) -> list[tuple[str, str]]:
    rows = np.sort(rng.choice(len(table), min(n, len(table)), replace=False))
    return list(table[rows].select("user", "item").iter_rows())


def _monotony(run: Run, users: NDArray[np.int64], prefer: Any, k: int) -> dict[str, float]:
    """Different changes in a list, and how often two of its items get the same."""
    asked = Options(k=k, by="attributes", prefer=prefer)
    table = run.explainer.tables.of_users(users, asked).filter(_answered())
    different, same = [], []
    for frame in table.partition_by("user"):
        changes = Counter(json.dumps(c, sort_keys=True) for c in frame["changes"].to_list())
        n = len(frame)
        different.append(len(changes) / n)
        if n > 1:
            same.append(sum(c * (c - 1) for c in changes.values()) / (n * (n - 1)))
    share = float(np.mean(different)) if different else 0.0
    return {"different_of_20": 20 * share, "same": float(np.mean(same)) if same else 0.0}


class Slow:
    """The smallest answer of one or two changes by trying, from scores and effects alone."""

    def __init__(self, run: Run, k: int) -> None:
        self.run, self.k, self.s = run, k, run.subject
        solver = run.explainer.solver
        kept = [run.data.relations[r] for r in solver.computed]
        self.locked = {r for r, id_ in enumerate(run.data.relations.ids) if id_ in kept}
        self.support = np.bincount(self.s.of_item.indices, minlength=len(self.s.vocabulary))
        self.holders: dict[int, set[int]] = {}
        for i, v in zip(
            self.s.of_item.row_of().tolist(), self.s.of_item.indices.tolist(), strict=True
        ):
            self.holders.setdefault(v, set()).add(i)
        self.trees = set(np.unique(self.s.relation[solver.above.indices]).tolist())

    def agrees(self, e: Explanation) -> bool:
        """Whether an explanation of at most two changes, or of more, is what trying finds."""
        user, item = self.run.data.users.row(e.user), self.run.data.items.row(e.item)
        scores, effects = (x[0] for x in self.s.both(np.array([user])))
        scores = scores.copy()
        scores[self.s.known.row(user)] = np.nan
        best = self._best(item, effects)
        for size in (1, 2):
            after = scores.copy()
            after[item] += self.s.scale[item] * -best[size]
            if best[size] > 0 and _rank(after, item) > self.k:
                return e.found and e.size == size and e.score_after == after[item]
        return not e.found or e.size > 2

    def _best(self, item: int, effect: Doubles) -> list[float]:
        """The most that 0, 1 and 2 changes take off the sum of effects."""
        total = [0.0, 0.0, 0.0]
        for r in set(self.s.relation[self.s.of_item.row(item)].tolist()) - self.locked:
            more = self._tree(item, r, effect) if r in self.trees else self._plain(item, r, effect)
            joined = [max(total[a] + more[n - a] for a in range(n + 1)) for n in (1, 2)]
            total = [0.0, *joined]
        return total

    def _plain(self, item: int, r: int, effect: Doubles) -> list[float]:
        own = [v for v in self.s.of_item.row(item).tolist() if self.s.relation[v] == r]
        may = (self.s.relation == r) & (self.support >= LEAST)
        may[own] = False
        lose, gain = sorted(effect[own], reverse=True)[:2], sorted(effect[may].tolist())[:2]
        worth = [a - b for a, b in zip(lose, gain, strict=False)]
        return [0.0, *itertools.accumulate(worth), -np.inf, -np.inf][:3]

    def _tree(self, item: int, r: int, effect: Doubles) -> list[float]:
        """One change of a branch; by the holders of values, so by the data alone."""
        members = np.flatnonzero(self.s.relation == r).tolist()
        above = {v: self._above(v, members) for v in members}
        own = {v for v in self.s.of_item.row(item).tolist() if self.s.relation[v] == r}
        best = -np.inf
        for v in own:
            lost = {w for w in own if w == v or v in above[w]}
            rest = own - lost - above[v]
            lost |= {p for p in above[v] & own if not any(p in above[w] for w in rest)}
            for g in members:
                came = {g} | above[g]
                if g not in own and self.support[g] >= LEAST and not came & (own - lost):
                    best = max(best, float(effect[list(lost)].sum() - effect[list(came)].sum()))
        return [0.0, best, -np.inf]

    def _above(self, v: int, members: list[int]) -> set[int]:
        mine = self.holders.get(v, set())
        if len(mine) < LEAST:
            return set()
        return {w for w in members if w != v and mine <= self.holders.get(w, set())}


def _rank(scores: Doubles, item: int) -> int:
    others = np.arange(len(scores)) < item
    return 1 + int(((scores > scores[item]) | ((scores == scores[item]) & others)).sum())


def write(found: Any, results: Path, pages: Path) -> Path:
    """One result file for a run, and the page of all there are."""
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in found["data"])
    write_json(results / f"{name}.json", found)
    sets = [json.loads(path.read_text()) for path in sorted(results.glob("*.json"))]
    return page(sets).write(results, pages)


def page(sets: list[Any]) -> Page:
    """The results page."""
    rows = []
    for s in sets:
        rules = [f"{s['monotony'][kind]['different_of_20']:.1f}" for kind in _KINDS]
        shares = s["attributes"], s["history"], abs(1 - s["attributes"] - s["history"])
        rarest = "-" if s["least_support"] is None else str(s["least_support"])
        rows.append(
            (s["data"], f"{s['pairs']:,}", *(f"{x:.1%}" for x in shares), rarest, " / ".join(rules))
        )
    least = min(s["attributes"] + s["history"] for s in sets)
    share = "all" if least > 0.9995 else f"at least {least:.1%} of the"
    checked, differ = (sum(s[name] for s in sets) for name in ("checked", "differ"))
    return Page(
        name="answers",
        question="Can every listed item be explained?",
        answer=f"In every set measured, {share} listed items have a verified answer, "
        "by attributes or by history.",
        tables=[Grid("", _HEAD, rows)],
        how=(
            "The default recommender, trained with seed 0 on the default split; lists of 20.",
            "Users are drawn by the seed, up to 500 of each set; 10 at most for the rule `near`.",
            "Each answer was scored and ranked again. The history is asked where attributes fail.",
            "A slow search with no code of the engine tried all sets of one and two changes for "
            f"{checked:,} drawn pairs. The engine differs from it in {differ:,}.",
            "`cerec bench answers RUN` makes the result file of a run, and this page.",
        ),
        missing=(
            "Larger answers are compared with enumeration on small worlds only, in the tests.",
            'Two items of one list often get the same change; `prefer="near"` shows others.',
            "Sets that have no row were not measured.",
        ),
    )


_HEAD = (
    "set",
    "listed items",
    "by attributes",
    "by history",
    "neither",
    "items with the rarest gained value",
    "different changes in 20: decisive / near",
)
