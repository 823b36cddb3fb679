"""How many recommended items can be explained, how shortly, and is every answer right?

The users' lists are explained by attributes and by the agent. Every answer is checked again by an
independent slow ranking. The paper's own explanation, all values that the agent's first item has
and the explained one lacks, is tried: does it take the item out?
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from cerec.errors import ConfigError
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.rng import generator
from cerec_bench.cells import Cell, Table
from cerec_bench.explainers.cerec import PaperForm
from cerec_bench.explainers.protocol import Context, Pairs
from cerec_bench.explainers.verdict import judge
from cerec_bench.plans.experiment import Job
from cerec_bench.plans.files import Experiment, Point
from cerec_bench.report.tables import Grid, number

WAYS = {"attributes": "any values", "item": "those of one item", "agent": "the agent's items"}


def measure(job: Job) -> Table:
    """Figures of the explanations of a run trained with the cell's settings."""
    run = job.run()
    k = run.config.agent.list_length
    job.note("explaining")
    users, sample = job.option("users", 300), job.option("sample", 100)
    context = Context(run.data, run.subject, k=k, seed=job.seed, config=run.config)
    return {"test": run.metrics["test"], **explained(run.explainer, context, users, sample)}


def explained(explainer: Explainer, context: Context, most_users: int, sample: int) -> Table:
    """All figures of one explainer on the lists of at most so many users."""
    data, k = explainer.data, context.k
    rng = generator(0, "experiments/explanations")
    n = len(data.users)
    users = np.sort(rng.choice(n, min(most_users, n), replace=False))
    rows = [(u, i) for u in users.tolist() for i in explainer.listed(u, k).tolist()]
    pairs = [(data.users[u], data.items[i]) for u, i in rows]
    explainer.explain(*pairs[0], k=k)  # compile
    out: Table = {"users": len(users), "k": k, "pairs": len(pairs)}
    some = [rows[at] for at in np.sort(rng.choice(len(rows), min(sample, len(rows)), False))]
    few = [(data.users[u], data.items[i]) for u, i in some]
    every = {}
    for way in WAYS:
        try:
            every[way], seconds = _asked(explainer, pairs if way == "attributes" else few, k, way)
        except ConfigError:  # no agent
            continue
        out[way] = figures(every[way]) | {"per_second": len(every[way]) / seconds}
        out[way]["wrong"] = wrong_answers(context, explainer, every[way])
    if "agent" in every:
        both = zip(every["item"], every["agent"], strict=True)
        sizes = [(a.size, b.size) for a, b in both if a.found and b.found]
        out["agent"]["as_small_as_the_best"] = _mean([float(a == b) for a, b in sizes])
    single = []
    for pair in few:
        started = time.perf_counter()
        explainer.explain(*pair, k=k)
        single.append(time.perf_counter() - started)
    out["single_ms"] = {str(q): float(np.percentile(single, q)) * 1e3 for q in (50, 99)}
    if explainer.proposer is not None:
        context.proposer = explainer.proposer  # type: ignore[misc]  # not learned again
        user, item = np.array(some, np.int32).T
        out["paper_form"] = paper_form(context, Pairs(user, item, np.ones(len(user), np.int32), k))
    return out


def _asked(
    explainer: Explainer, pairs: Sequence[tuple[str, str]], k: int, way: str
) -> tuple[list[Explanation], float]:
    started = time.perf_counter()
    if way == "item":
        found = explainer.explain_many(pairs, k=k, by="attributes", scope="item")
    else:
        found = explainer.explain_many(pairs, k=k, by=way)  # type: ignore[arg-type]
    answers = list(found)
    return answers, time.perf_counter() - started


def figures(answers: Sequence[Explanation]) -> Table:
    """How many are explained, and by how many changes."""
    status, found = Counter(e.status for e in answers), [e for e in answers if e.found]
    sizes = Counter(e.size for e in found)
    return {
        "pairs": len(answers),
        "status": dict(status),
        "coverage": len(found) / max(len(answers) - status["no_attributes"], 1),
        "sizes": {str(n): sizes[n] for n in sorted(sizes)},
        "mean_size": _mean([e.size for e in found]),
        "minimum_certificates": sum(e.certificate == "minimum" for e in found),
    }


def wrong_answers(context: Context, explainer: Explainer, answers: Sequence[Explanation]) -> int:
    """Answers that a plain ranking by `rescore` does not agree with."""
    data, wrong = explainer.data, 0
    for e in answers:
        row, item = data.users.row(e.user), data.items.row(e.item)
        standing = context.standing(row)
        wrong += int(standing.place[item]) + 1 != e.rank_before
        if not e.found:
            continue
        values = set(explainer.attributes(e.item))
        values -= {(c.relation, c.before) for c in e.changes if c.before is not None}
        values |= {(c.relation, c.after) for c in e.changes if c.after is not None}
        after = explainer.rescore(e.user, e.item, values)
        others = standing.order[standing.order != item]
        rank = standing.rank(item, after)
        right = (
            rank == e.rank_after
            and rank > e.k
            and data.items[int(others[e.k - 1])] == e.replacement
            and float(standing.scores[others[e.k - 1]]) == e.cutoff
        )
        wrong += not right
    return wrong


def paper_form(context: Context, pairs: Pairs) -> Table:
    """The paper's explanation of each pair, tried: one counterfactual item j, the agent's first,
    and all values that j has and the item lacks. `added`: the item gains them. `replaced`: it has
    the values of j and no others. A share of pairs leaves the list; the rest stays.
    """
    out: Table = {}
    for name, swap in (("added", False), ("replaced", True)):
        method = PaperForm(swap=swap)
        method.fit(context)
        answers = method.explain(pairs)
        verdicts = judge(context, pairs, answers)
        out["proposed"] = int(verdicts.found.sum())
        out["mean_size"] = _mean([len(a.gained) for a in answers if a.found])
        out[f"{name}_flips"] = _mean([float(x) for x in verdicts.flipped[verdicts.found]])
    return out


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def tables(experiment: Experiment, here: Mapping[Point, Cell]) -> tuple[list[Grid], list[str]]:
    """What is explained, and what becomes of the paper's set."""
    rows, paper = [], []
    for point, cell in here.items():
        title, found = experiment.sets[point.set].title, cell.found
        for way, words in WAYS.items():
            if (f := found.get(way)) is not None:
                share = number(100 * f["coverage"], 1)
                cells = [share, number(f["mean_size"], 2), str(f["wrong"])]
                rate = number(f["per_second"], 0)
                rows.append([f"{title}, {words}", f"{f['pairs']:,}", *cells, rate])
        if (p := found.get("paper_form")) is not None:
            flips = [number(100 * (p[f"{n}_flips"] or 0), 1) for n in ("added", "replaced")]
            paper.append([title, str(p["proposed"]), number(p["mean_size"], 1), *flips])
    head = ["", "pairs", "answered %", "mean changes", "wrong answers", "a second"]
    grids = [Grid("Listed items, and the smallest change that takes each out.", head, rows)]
    if paper:
        head = ["", "pairs", "values gained", "flips when added %", "when all are replaced %"]
        caption = "The paper's own set: all that the agent's first item has and the item lacks."
        grids.append(Grid(caption, head, paper))
    return grids, []
