"""Reading a KGAT folder and building its graph, against the obvious NumPy and Python version.

    python benchmarks/bench_read.py FOLDER      (or CEREC_DATA/last-fm when none is given)

Prints the ratio of best CPU times (both use one thread), the peak memory of a process that does
it, what the cache saves, and how the time grows with 1x, 4x and 16x generated data.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

Graph = tuple[np.ndarray, np.ndarray, np.ndarray]
"""indptr, indices and weight of the undirected graph."""


def read_list(path: Path) -> dict[int, str]:
    names = {}
    with path.open(encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            words = line.split()
            names[int(words[1])] = words[0]
    return names


def read_pairs(path: Path) -> np.ndarray:
    pairs = []
    with path.open() as lines:
        for line in lines:
            user, *items = map(int, line.split())
            pairs += [(user, item) for item in items]
    return np.array(pairs, np.int64).reshape(-1, 2)


def obvious(folder: Path) -> Graph:
    """Lines split in Python, `loadtxt` for triples, `unique` for repeats; rows sorted by id."""
    users = read_list(folder / "user_list.txt")
    items = read_list(folder / "item_list.txt")
    entities = read_list(folder / "entity_list.txt")
    train, test = read_pairs(folder / "train.txt"), read_pairs(folder / "test.txt")
    triples = np.unique(np.loadtxt(folder / "kg_final.txt", dtype=np.int64), axis=0)
    n_items = len(items)
    present = np.unique(np.concatenate([train[:, 0], test[:, 0]]))
    user_row, item_row = ranks(users, present), ranks(items, np.arange(n_items))
    others = np.arange(n_items, len(entities))
    entity_row = ranks(entities, others)
    n_users = len(present)
    node = np.concatenate([item_row, n_items + entity_row[n_items:]]) + n_users
    head = np.concatenate([user_row[train[:, 0]], node[triples[:, 0]]])
    tail = np.concatenate([item_row[train[:, 1]] + n_users, node[triples[:, 2]]])
    n_nodes = n_users + n_items + len(others)
    proper = head != tail
    ends = np.concatenate([head[proper], tail[proper]])
    both = np.concatenate([tail[proper], head[proper]])
    key = np.unique(ends * n_nodes + both)
    row, column = key // n_nodes, key % n_nodes
    degree = np.bincount(row, minlength=n_nodes)
    weight = 1 / np.sqrt(degree[row] * degree[column])
    return np.concatenate([[0], np.cumsum(degree)]), column, weight


def ranks(ids: dict[int, str], numbers: np.ndarray) -> np.ndarray:
    """Number -> place of its id among the ids of `numbers`."""
    texts = [ids[n] for n in numbers.tolist()]
    whole = all(t.isdigit() for t in texts)
    order = sorted(range(len(texts)), key=lambda k: int(texts[k]) if whole else texts[k])
    out = np.zeros(int(numbers.max()) + 1, np.int64)
    out[numbers[order]] = np.arange(len(order))
    return out


def ours(folder: Path) -> Graph:
    from cerec.data.ckg import Ckg
    from cerec.data.dataset import TRAIN
    from cerec.data.load import load
    from cerec.data.ragged import Ragged

    data = load(folder, cache=False)
    i = data.interactions
    train = slice(None) if i.part is None else i.part == TRAIN
    graph = Ckg.build(data, Ragged.from_pairs(i.user[train], i.item[train], len(data.users)))
    return graph.adjacency.indptr, graph.adjacency.indices, graph.weight


WAYS: dict[str, Callable[[Path], Graph]] = {"obvious": obvious, "cerec": ours}


def measure(folder: Path, way: str, repeats: int) -> dict[str, float]:
    """Best CPU time in this process after one warm run, and its peak memory in MB."""
    run = WAYS[way]
    run(folder)
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run(folder)
        times.append(time.process_time() - start)
    return {"seconds": min(times), "peak": peak_memory()}


def peak_memory() -> float:
    """Largest memory of this process so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would count what the parent had before the child started
        line = next(x for x in status.read_text().split("\n") if x.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_child(folder: Path, way: str, repeats: int) -> dict[str, float]:
    command = [sys.executable, __file__, str(folder), "--child", way, "--repeats", str(repeats)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def same(folder: Path) -> bool:
    a, b = obvious(folder), ours(folder)
    return all(np.allclose(x, y) for x, y in zip(a, b, strict=True))


def cached(folder: Path) -> tuple[float, float]:
    from cerec.data.load import load

    def best(**options: bool) -> float:
        times = []
        for _ in range(3):
            start = time.perf_counter()
            load(folder, **options)
            times.append(time.perf_counter() - start)
        return min(times)

    with tempfile.TemporaryDirectory() as cache:
        os.environ["CEREC_CACHE"] = cache
        load(folder)
        return best(cache=False), best()


def generate(folder: Path, scale: int) -> None:
    """A KGAT folder: 100,000 interactions, 50,000 triples, 15,000 ids at scale 1."""
    rng = np.random.default_rng(scale)
    n_users, n_items, n_entities = 2_500 * scale, 5_000 * scale, 7_500 * scale
    for name, each in (("train", 30), ("test", 10)):
        rows = rng.integers(0, n_items, (n_users, each))
        text = "".join(f"{u} {' '.join(map(str, r))}\n" for u, r in enumerate(rows.tolist()))
        (folder / f"{name}.txt").write_text(text)
    heads, relations = rng.integers(0, n_items, 50_000 * scale), rng.integers(0, 9, 50_000 * scale)
    tails = rng.integers(n_items, n_items + n_entities, 50_000 * scale)
    np.savetxt(folder / "kg_final.txt", np.stack([heads, relations, tails], 1), "%d")
    for name, size in (("user", n_users), ("item", n_items), ("entity", n_items + n_entities)):
        rows = "".join(f"{name[0]}{n * 7919 % 999983}x{n} {n}\n" for n in range(size))
        (folder / f"{name}_list.txt").write_text("org_id remap_id\n" + rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(os.environ.get("CEREC_DATA", "data")) / "last-fm"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", choices=sorted(WAYS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.folder, options.child, options.repeats)))
        return
    folder = options.folder
    slow = in_child(folder, "obvious", options.repeats)
    fast = in_child(folder, "cerec", options.repeats)
    print(f"{folder.name}: read and build the graph (same graph: {same(folder)})")
    print(f"  obvious  {slow['seconds']:.2f} s, peak {slow['peak']:.0f} MB")
    ratio = slow["seconds"] / fast["seconds"]
    print(f"  cerec    {fast['seconds']:.2f} s, peak {fast['peak']:.0f} MB: {ratio:.1f}x faster")
    first, second = cached(folder)
    print(f"  cached   {second:.3f} s instead of {first:.2f} s: {first / second:.0f}x faster")
    print("growth, generated data")
    base = 0.0
    for scale in (1, 4, 16):
        with tempfile.TemporaryDirectory() as made:
            generate(Path(made), scale)
            cost = in_child(Path(made), "cerec", options.repeats)
        base = base or cost["seconds"]
        per = cost["seconds"] / base / scale
        peak = f"peak {cost['peak']:.0f} MB"
        print(f"  {scale:2d}x  {cost['seconds']:.2f} s, {per:.2f} of linear, {peak}")


if __name__ == "__main__":
    main()
