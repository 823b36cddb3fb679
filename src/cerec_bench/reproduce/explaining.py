"""How many recommended items can be explained, how shortly, and is every answer right?

The users' lists are explained, every answer is checked again by an independent slow ranking, a
sample is compared with the best over *all* items, and the paper's own explanation, all values that
the agent's first item has and the explained one lacks, is tried: does it take the item out?
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np

from cerec.data.ragged import Ragged
from cerec.rng import generator
from cerec_bench.reproduce.jobs import Job
from cerec_bench.reproduce.plan import Table
from cerec_bench.search.explainer import Explainer, searching
from cerec_bench.search.explanation import Explanation
from cerec_bench.search.proposer import Proposer
from cerec_bench.search.standing import Standing

Pairs = list[tuple[str, str]]


def measure(job: Job) -> Table:
    """Figures of the explanations of a run trained with the cell's settings."""
    run = job.trained(agent=True, keep=False)
    k = run.config.agent.list_length
    job.note("explaining")
    explainer = searching(run)
    users, sample = job.option("users", 300), job.option("sample", 100)
    found = explained(explainer, explainer.proposer, k, users, sample)
    return {"test": run.metrics["test"], "agent": run.vectors is not None, "explanations": found}


def explained(
    explainer: Explainer, proposer: Proposer, k: int, most_users: int, sample: int
) -> Table:
    """All figures of one explainer on the lists of at most so many users."""
    rng = generator(0, "experiments/explanations")
    n_users = len(explainer.data.users)
    users = np.sort(rng.choice(n_users, min(most_users, n_users), replace=False))
    pairs = [
        (explainer.data.users[u], explainer.data.items[i])
        for u in users.tolist()
        for i in explainer.listed(u, k).tolist()
    ]
    explainer.explain(*pairs[0], k=k)  # compile
    started = time.perf_counter()
    answers = list(explainer.explain_many(pairs, k=k))
    seconds = time.perf_counter() - started
    picked = [pairs[n] for n in rng.choice(len(pairs), min(sample, len(pairs)), replace=False)]
    single = []
    for user, item in picked:
        begun = time.perf_counter()
        explainer.explain(user, item, k=k)
        single.append(time.perf_counter() - begun)
    status = Counter(e.status for e in answers)
    verified = [e for e in answers if e.status == "verified"]
    sizes = Counter(e.size for e in verified)
    return {
        "users": len(users),
        "k": k,
        "pairs": len(answers),
        "status": dict(status),
        "coverage": len(verified) / max(len(answers) - status["no_attributes"], 1),
        "sizes": {str(n): sizes[n] for n in sorted(sizes)},
        "minimum_certificates": sum(e.certificate == "minimum" for e in verified),
        "found_by_beam": sum(e.found_by == "proposer" for e in verified),
        "similarity": _mean([e.similarity for e in verified if e.similarity is not None]),
        "wrong_answers": wrong_answers(explainer, answers, k),
        "paper_set_size": _mean([len(e.paper_attributes) for e in verified]),
        "paper_form": paper_form(explainer, proposer, picked, k),
        "per_second": len(answers) / seconds,
        "single_ms": {str(q): float(np.percentile(single, q)) * 1e3 for q in (50, 99)},
        "beside_the_best": beside_the_best(explainer, picked, k),
    }


def wrong_answers(explainer: Explainer, answers: list[Explanation], k: int) -> int:
    """Answers that a plain ranking by `rescore` does not agree with."""
    data, wrong = explainer.data, 0
    scores, ranked, last = np.zeros(0), np.zeros(0, np.int64), ""
    for e in answers:
        if e.user != last:
            last, row = e.user, data.users.row(e.user)
            scores = explainer.scorer.scores(row)
            unseen = np.setdiff1d(np.arange(len(data.items)), explainer.known.row(row))
            ranked = unseen[np.lexsort((unseen, -scores[unseen]))]
        i = data.items.row(e.item)
        wrong += int(np.flatnonzero(ranked == i)[0]) + 1 != e.rank_before
        if e.status != "verified":
            continue
        values = set(explainer.attributes(e.item))
        values -= {(c.relation, c.before) for c in e.changes if c.before is not None}
        values |= {(c.relation, c.after) for c in e.changes if c.after is not None}
        after = explainer.rescore(e.user, e.item, values)
        others = ranked[ranked != i]
        ahead = (scores[others] > after) | ((scores[others] == after) & (others < i))
        right = (
            int(ahead.sum()) + 1 == e.rank_after
            and e.rank_after > k
            and data.items[int(others[k - 1])] == e.replacement
            and float(scores[others[k - 1]]) == e.cutoff
        )
        wrong += not right
    return wrong


def beside_the_best(explainer: Explainer, pairs: Pairs, k: int) -> Table:
    """Sizes and CPU seconds of the agent's answers, and of the best over all items."""
    figures: Table = {"pairs": len(pairs)}
    sizes = {}
    for name, exhaustive in (("agent", False), ("all_items", True)):
        started = time.process_time()
        found = [explainer.explain(u, i, k=k, exhaustive=exhaustive) for u, i in pairs]
        figures[f"{name}_cpu_seconds"] = round(time.process_time() - started, 3)
        sizes[name] = [e.size if e.status == "verified" else 0 for e in found]
    both = [(a, b) for a, b in zip(sizes["agent"], sizes["all_items"], strict=True) if a and b]
    return figures | {
        "same_size": _mean([float(a == b) for a, b in both]),
        "mean_extra_changes": _mean([a - b for a, b in both]),
        "mean_size_agent": _mean([a for a, _ in both]),
        "mean_size_best": _mean([b for _, b in both]),
    }


def paper_form(explainer: Explainer, proposer: Proposer, pairs: Pairs, k: int) -> Table:
    """The paper's explanation of each pair, tried: one counterfactual item j, the proposer's first,
    and all values that j has and the item lacks. `added`: the item gains them. `replaced`: it has
    the values of j and no others. A share of pairs leaves the list; the rest stays.
    """
    data, facts, scorer = explainer.data, explainer.facts, explainer.scorer
    user = np.array([data.users.row(u) for u, _ in pairs], np.int64)
    item = np.array([data.items.row(i) for _, i in pairs], np.int64)
    lists = [explainer.listed(int(u), k) for u in user]
    row = np.repeat(np.arange(len(pairs)), [len(one) for one in lists])
    off = Ragged.from_pairs(row, np.concatenate(lists).astype(np.int32), len(pairs))
    first = proposer.propose(user, item, off, 1)
    sizes: list[int] = []
    flips: dict[str, list[bool]] = {"added": [], "replaced": []}
    for n, (u, i) in enumerate(zip(user.tolist(), item.tolist(), strict=True)):
        found = first.item[first.of(n)]
        if not len(found):
            continue
        own, theirs = facts.of_item.row(i), facts.of_item.row(int(found[0]))
        sizes.append(len(np.setdiff1d(theirs, own)))
        standing = Standing.of(scorer, u, explainer.known.row(u))
        for name, values in (("added", np.union1d(own, theirs)), ("replaced", theirs)):
            score = scorer.rescore(u, i, values, facts)
            flips[name].append(standing.rank(i, score) > k)
    return {
        "pairs": len(pairs),
        "proposed": len(sizes),
        "mean_size": _mean(sizes),
        **{f"{name}_flips": _mean([float(x) for x in found]) for name, found in flips.items()},
    }


def _mean(values: list[float] | list[int]) -> float | None:
    return float(np.mean(values)) if len(values) else None
