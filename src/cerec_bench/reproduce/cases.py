"""The case study: two explanations of a trained run, with everything needed to draw them."""

from __future__ import annotations

from collections.abc import Iterator

from cerec.rng import generator
from cerec.runs.run import Run
from cerec_bench.reproduce.jobs import Job
from cerec_bench.reproduce.plan import Table
from cerec_bench.search.explainer import searching
from cerec_bench.search.explanation import Explanation

_RANK = 5  # of the items a case is picked from


def measure(job: Job) -> Table:
    """The first explanation with one change and the first with two, of users in a drawn order."""
    run = job.trained(agent=True, keep=False)
    k = run.config.agent.list_length
    rng = generator(job.cell.seed, "experiments/cases")
    order = rng.permutation(len(run.data.users))[: job.option("users", 300)]
    job.note("choosing cases")
    picked: dict[int, Explanation] = {}
    for answer in _answers(run, order.tolist(), k):
        used = {(e.user, e.item) for e in picked.values()}
        if answer.size in (1, 2) and answer.size not in picked:
            if answer.user not in {u for u, _ in used} and _tellable(run, answer):
                picked[answer.size] = answer
            if len(picked) == 2:
                break
    return {
        "test": run.metrics["test"],
        "users_looked_at": len(order),
        "cases": [_case(run, picked[n], k) for n in sorted(picked)],
    }


def _answers(run: Run, users: list[int], k: int) -> Iterator[Explanation]:
    explainer = searching(run)
    for row in users:
        user = run.data.users[row]
        listed = run.recommend(user, min(_RANK, k))
        yield from explainer.explain_many(((user, line.item) for line in listed), k=k)


def _tellable(run: Run, answer: Explanation) -> bool:
    """Whether names can be shown for all of it, and every change is a replacement."""
    if answer.status != "verified" or not answer.path or len(run.attributes(answer.item)) > 40:
        return False
    named = [(c.before, c.before_name) for c in answer.changes]
    named += [(c.after, c.after_name) for c in answer.changes]
    named += [(step.attribute.id, step.attribute.name) for step in answer.path]
    return all(name is not None and name != id for id, name in named)


def _case(run: Run, answer: Explanation, k: int) -> Table:
    other = str(answer.counterfactual_item)
    own, theirs = run.attributes(answer.item), run.attributes(other)
    shared = [pair for pair in own if pair in set(theirs)]
    tried = searching(run).what_if(answer.user, answer.item, [*own, *answer.paper_attributes], k=k)
    return {
        "explanation": answer.to_dict(),
        "shared": [[_relation(run, r), _value(run, a)] for r, a in shared],
        "paper": [[_relation(run, r), _value(run, a)] for r, a in answer.paper_attributes],
        "paper_rank": tried.rank_after,
        "k": k,
    }


def _relation(run: Run, id: str) -> str:
    return run.data.relations.name(run.data.relations.row(id))


def _value(run: Run, id: str) -> str:
    return run.data.entities.name(run.data.entities.row(id))
