"""Attribute answers for the lists of all users, in arrays of ml-1m's shape.

    python benchmarks/bench_answers.py [--users 6039] [--scopes] [--rounds 3]
    python benchmarks/bench_answers.py --run RUN [--users 1024]

Factors are drawn at random. With `--run` a trained run is asked instead: whole tables with text and
Parquet, single explanations, history answers, and the memory they take.

Prints answers per second by themselves, from scores and effects that are in memory already, on one
thread and on two, and the time of the matrix products that make these: the ratio is what counts.
Best of the rounds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from cerec.data.ragged import Ragged
from cerec.explain.changes.answers import Answers, Question, answer_listed
from cerec.explain.changes.values import make_values
from cerec.threads import kernel_threads

SIZES = (2400, 300, 150, 100, 50)  # values of each relation: actor, director, ... genre
PER_ITEM = (6, 1, 1, 1, 3)
BITS = 30


def world(n_users: int, n_items: int = 3171, d: int = 64, seed: int = 0):
    rng = np.random.default_rng(seed)
    relation = np.repeat(np.arange(len(SIZES)), SIZES)
    first = np.cumsum((0, *SIZES))
    rows, values = [], []
    for r, (size, most) in enumerate(zip(SIZES, PER_ITEM, strict=True)):
        row = np.repeat(np.arange(n_items), most)
        rows.append(row)
        values.append(first[r] + (size * rng.random(len(row)) ** 1.2).astype(np.int64))
    of_item = Ragged.from_pairs(np.concatenate(rows), np.concatenate(values), n_items)
    support = of_item.transpose(len(relation)).counts
    user = rng.standard_normal((n_users, d)) / d**0.25
    effect = rng.standard_normal((len(relation), d)) / d**0.25 / 8
    item = rng.standard_normal((n_items, d)) / d**0.25 / 2
    np.add.at(item, of_item.row_of(), effect[of_item.indices])
    row = np.repeat(np.arange(n_users), 140)
    known = Ragged.from_pairs(row, rng.integers(0, n_items, len(row)), n_users)
    shape = make_values(of_item, relation, support, np.ones(n_items))
    return user, item, effect, known, shape


def best_of(rounds: int, clock: Callable[[], float], work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(rounds):
        start = clock()
        work()
        seconds.append(clock() - start)
    return min(seconds)


def timed(work: Callable[[], object]) -> float:
    return best_of(1, time.perf_counter, work)


def of_run(folder: str, n_users: int, rounds: int) -> None:
    """Rates of a run, and their ratio to what its scores and effects cost."""
    import resource
    import tempfile
    from pathlib import Path

    from cerec.explain.by_history import history_search
    from cerec.explain.options import Options
    from cerec.runs.run import open_run

    run = open_run(folder)
    users = np.arange(min(n_users, len(run.data.users)))
    asked, tables, blocks = Options(by="attributes"), run.explainer.tables, np.array_split(users, 8)
    table = tables.of_users(users, asked)  # compiles
    path = Path(tempfile.mkdtemp()) / "all.parquet"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    whole = best_of(
        rounds, time.perf_counter, lambda: tables.of_users(users, asked).write_parquet(path)
    )
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = best_of(rounds, time.perf_counter, lambda: [run.subject.both(b) for b in blocks])
    print(
        f"tables: {len(table) / whole:,.0f}/s with text and Parquet, {whole / made:.2f} x scores "
        f"and effects; memory +{(after - before) / 1024:.0f} MB"
    )
    pairs = list(table[:: max(1, len(table) // 400)].select("user", "item").iter_rows())
    run.explain(*pairs[0])
    for by in ("attributes", None):
        each = [timed(partial(run.explain, *pair, by=by)) for pair in pairs]
        half, most = np.percentile(each, [50, 99]) * 1e3
        print(f"one explanation, by={by}: {half:.2f} ms, p99 {most:.2f} ms")
    search = history_search(run.subject)
    if search is not None:
        user = np.array([run.data.users.row(u) for u, _ in pairs])
        item = np.array([run.data.items.row(i) for _, i in pairs])
        search.why_many(user[:2], item[:2])
        seconds = min(timed(partial(search.why_many, user, item)) for _ in range(rounds))
        print(f"history answers: {len(pairs) / seconds:,.0f}/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=6039)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scopes", action="store_true", help="every kind of question")
    parser.add_argument("--run", help="a trained run to ask")
    args = parser.parse_args()
    if args.run:
        return of_run(args.run, args.users, args.rounds)
    user, item, effect, known, values = world(args.users)
    item_t, effect_t = np.ascontiguousarray(item.T), np.ascontiguousarray(effect.T)
    memory: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def products(users: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scores = user[users] @ item_t
        effects = np.ldexp(np.rint(np.ldexp(user[users] @ effect_t, BITS)), -BITS)
        return scores, effects

    def stored(users: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if users[0] not in memory:
            memory[users[0]] = products(users)
        return memory[users[0]]

    blocks = np.array_split(np.arange(args.users), max(1, args.users // 98))

    def run(question: Question) -> list[Answers]:
        with ThreadPoolExecutor(kernel_threads()) as pool:
            return list(pool.map(lambda u: listed(u, question), blocks))

    def listed(users: np.ndarray, question: Question) -> Answers:
        return answer_listed(users, known, *stored(users), values, question)

    plain = Question()
    kinds = {"default": plain}
    if args.scopes:
        kinds |= {
            "removals": replace(plain, changes="remove"),
            "any": replace(plain, changes="any"),
            "2 alternatives": replace(plain, alternatives=2),
            "one real item": replace(plain, scope="item"),
        }
    print(f"{args.users:,} users, {len(item):,} items, {len(values.gain):,} values to gain, k = 20")
    os.environ["CEREC_THREADS"] = "1"
    run(plain)  # compile, and fill the memory
    made = sum(best_of(args.rounds, time.process_time, lambda u=u: products(u)) for u in blocks)
    print(f"matrix products and rounding: {made:.2f} s")
    for name, question in kinds.items():
        os.environ["CEREC_THREADS"] = "1"
        answers = run(question)
        one = best_of(args.rounds, time.process_time, lambda q=question: run(q))
        alone = best_of(args.rounds, time.perf_counter, lambda q=question: run(q))
        os.environ["CEREC_THREADS"] = "2"
        two = best_of(args.rounds, time.perf_counter, lambda q=question: run(q))
        n, hits = sum(map(len, answers)), sum((a.status == 0).sum() for a in answers)
        found, size = hits / n, sum(a.size.sum() for a in answers) / max(hits, 1)
        print(
            f"{name:16} {n / one:>9,.0f}/s of one core, {n / alone:>9,.0f}/s "
            f"on 1 thread, {n / two:>9,.0f}/s on 2; {one / made:.2f} x products; "
            f"found {found:.1%}, {size:.2f} changes"
        )


if __name__ == "__main__":
    main()
