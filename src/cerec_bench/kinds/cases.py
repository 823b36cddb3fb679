"""The case study: two explanations of a trained run, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from cerec.explain.explanation import Explanation
from cerec.rng import generator
from cerec.runs.run import Run
from cerec_bench.cells import Cell, Table
from cerec_bench.plans.experiment import Job
from cerec_bench.plans.files import Experiment, Point
from cerec_bench.report.tables import Grid

_RANK = 5  # of the items a case is picked from


def measure(job: Job) -> Table:
    """The first explanations by the agent with one and with two changes, users in a drawn order."""
    run = job.run()
    k, rng = run.config.agent.list_length, generator(job.seed, "experiments/cases")
    order = rng.permutation(len(run.data.users))[: job.option("users", 300)]
    job.note("choosing cases")
    picked: dict[int, Explanation] = {}
    for answer in _answers(run, order.tolist(), k):
        fits = answer.size in (1, 2) and answer.size not in picked and _tellable(answer)
        if fits and answer.user not in {e.user for e in picked.values()}:
            picked[answer.size] = answer
        if len(picked) == 2:
            break
    return {
        "users_looked_at": len(order),
        "cases": [_case(run, picked[n], k) for n in sorted(picked)],
    }


def _answers(run: Run, users: list[int], k: int) -> Iterator[Explanation]:
    pairs = (
        (user, line.item)
        for user in (run.data.users[row] for row in users)
        for line in run.recommend(user, min(_RANK, k))
    )
    while some := list(islice(pairs, 100)):
        yield from run.explainer.explain_many(some, k=k, by="agent")


def _tellable(answer: Explanation) -> bool:
    """Whether names can be shown for all of it."""
    named = [(c.before, c.before_name) for c in answer.changes]
    named += [(c.after, c.after_name) for c in answer.changes]
    named += [(step.attribute.id, step.attribute.name) for step in answer.path]
    return answer.found and bool(answer.path) and all(i is None or n != i for i, n in named)


def _case(run: Run, answer: Explanation, k: int) -> Table:
    """The explanation, and the paper's: all that the other item has and this one lacks."""
    own = run.attributes(answer.item)
    theirs = [pair for pair in run.attributes(answer.counterfactual_item) if pair not in set(own)]
    tried = run.explainer.what_if(answer.user, answer.item, [*own, *theirs], k=k)
    path = answer.path[0].item.name + "".join(
        f" —{s.relation.name}→ {s.attribute.name} ←{s.to_relation.name}— {s.to_item.name}"
        for s in answer.path
    )
    return {
        "explanation": answer.to_dict(),
        "path": path,
        "paper_values": len(theirs),
        "paper_rank": tried.rank_after,
        "k": k,
    }


def tables(experiment: Experiment, here: Mapping[Point, Cell]) -> tuple[list[Grid], list[str]]:
    """A row per case."""
    rows = []
    for point, cell in here.items():
        for case in cell.found["cases"]:
            e, paper = case["explanation"], case["paper_values"]
            rows.append(
                [
                    experiment.sets[point.set].title,
                    e["text"],
                    case["path"],
                    f"{e['rank_before']} → {e['rank_after']}",
                    f"{paper} values gained: rank {case['paper_rank']}",
                ]
            )
    head = ["", "explanation", "the agent's walk", "rank", "the paper's set"]
    return [Grid("", head, rows)], []
