"""Explanations of everybody on an engine that spans machines; each worker opens the run once.

Users are cut into numbered parts. A part is computed from its number alone and is renamed, or
uploaded, whole, so a part that is computed twice is the same file. The folder of parts is the
result: what is there is done, and `resume` computes the rest.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cerec.errors import ConfigError, RunError
from cerec.explain.batch import Summary, job_of
from cerec.explain.options import Options
from cerec.runs.run import Run, open_run

USERS_PER_PART = 1024


def explain_batches(run: str | Path, **wishes: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function of Arrow record batches with a column `user`, as Spark's `mapInArrow` takes it.

    It yields the explanations of these users' lists, in the columns of `cerec explain --all`.
    """
    folder, asked = str(run), Options(**wishes)

    def answers(batches: Iterable[Any]) -> Iterator[Any]:
        found = _opened(folder)
        for batch in batches:
            users = [found.data.users.row(user) for user in batch.column("user").to_pylist()]
            table = found.explainer.tables.of_users(np.array(users, np.int64), asked)
            yield from table.to_arrow().to_batches()

    return answers


def explain_batch(run: str | Path, **wishes: Any) -> Callable[[Any], Any]:
    """The same for one record batch, or table, at a time; it gives a table."""
    answers = explain_batches(run, **wishes)

    def answer(batch: Any) -> Any:
        import pyarrow as pa

        return pa.Table.from_batches(list(answers([batch])))

    return answer


@cache
def _opened(folder: str) -> Run:
    """The run of this process; one at a URL is copied to this machine first."""
    if "://" not in folder:
        return open_run(folder)
    import fsspec

    files, path = fsspec.core.url_to_fs(folder)
    here = tempfile.mkdtemp(prefix="cerec-run-")
    files.get(path.rstrip("/") + "/", here + "/", recursive=True)
    return open_run(here)


class Writer:
    """Writes parts: what a worker of Ray holds."""

    def __init__(self, run: str, out: str, options: str, size: int) -> None:
        self._run, self._out, self._size = run, out, size
        self._asked = Options(**json.loads(options))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Write the parts with these numbers; how many rows each has."""
        return {"part": batch["part"], "rows": [self._write(int(n)) for n in batch["part"]]}

    def _write(self, number: int) -> int:
        run = _opened(self._run)
        start = number * self._size
        users = np.arange(start, min(start + self._size, len(run.data.users)))
        table = run.explainer.tables.of_users(users, self._asked)
        Store(self._out).put(f"part-{number:06}.parquet", table.write_parquet)
        return len(table)


class Store:
    """The folder of the parts, here or behind a URL that fsspec knows."""

    def __init__(self, url: str) -> None:
        import fsspec

        self._files, self._path = fsspec.core.url_to_fs(url)
        self._files.makedirs(self._path, exist_ok=True)

    def names(self) -> list[str]:
        """Files that are there."""
        found = self._files.ls(self._path, detail=False, refresh=True)
        return sorted(str(name).rstrip("/").rsplit("/", 1)[-1] for name in found)

    def put(self, name: str, write: Callable[[Path], Any]) -> None:
        """Write a file here first; then it is put in its place whole."""
        from cerec.files import replacing

        target = f"{self._path}/{name}"
        if self._files.protocol in ("file", ("file", "local")):
            with replacing(Path(target)) as new:
                write(new)
            return
        with tempfile.TemporaryDirectory(prefix="cerec-part-") as aside:
            write(Path(aside) / name)
            self._files.put_file(str(Path(aside) / name), target)

    def read(self, name: str) -> bytes:
        """A file's bytes."""
        content: bytes = self._files.cat_file(f"{self._path}/{name}")
        return content


def explain_on_ray(
    run: str,
    out: str,
    asked: Options,
    *,
    resume: bool = False,
    workers: int | None = None,
    users_per_part: int = USERS_PER_PART,
    on_part: Callable[[int, int], None] | None = None,
) -> Summary:
    """Explain every user's list into a folder of Parquet parts, on a cluster of Ray.

    `run` and `out` are folders that all machines see, or URLs of fsspec. Without a cluster
    (RAY_ADDRESS) one is started here. A worker that dies is replaced and its part computed again.
    `on_part` gets the users done and their total.
    """
    ray = _ray()
    found = _opened(run)
    job = {**job_of(found.explainer, asked), "users_per_part": users_per_part}
    store = Store(out)
    done = _begin(store, job, out, resume=resume)
    n_users = len(found.data.users)
    parts = -(-n_users // users_per_part)
    todo = [n for n in range(parts) if f"part-{n:06}.parquet" not in done]
    if todo:
        workers = min(workers or max(int(ray.cluster_resources().get("CPU", 1)), 1), len(todo))
        options = json.dumps(job["options"])
        results = ray.data.from_items([{"part": n} for n in todo], override_num_blocks=len(todo))
        results = results.map_batches(
            Writer,
            fn_constructor_args=(run, out, options, users_per_part),
            batch_size=1,
            num_cpus=0.5,  # actors that take all processors would starve the stage before them
            compute=ray.data.ActorPoolStrategy(size=workers),
        )
        finished = len(done)
        for _ in results.iter_rows():
            finished += 1
            if on_part is not None:
                on_part(min(finished * users_per_part, n_users), n_users)
    return _summary(store, parts, parts - len(todo), out)


def _begin(store: Store, job: dict[str, Any], out: str, *, resume: bool) -> set[str]:
    """Names of the finished parts of an equal job; refused where others lie there."""
    names = store.names()
    if "job.json" not in names:
        if [name for name in names if not name.startswith(".")]:
            raise RunError(f"{out}: holds other files; choose another --out")
        store.put("job.json", lambda path: path.write_text(json.dumps(job)))
        return set()
    if not resume:
        raise RunError(f"{out}: holds parts of an earlier run; --resume, or choose another --out")
    if json.loads(store.read("job.json")) != job:
        raise RunError(
            f"{out}: parts of another recommender, data or question; choose another --out"
        )
    return {name for name in names if name.startswith("part-")}


def _summary(store: Store, parts: int, taken_over: int, out: str) -> Summary:
    status: Counter[str] = Counter()
    names = set(store.names())
    for number in range(parts):
        name = f"part-{number:06}.parquet"
        if name not in names:
            raise RunError(f"{out}: {name} was not written; run again with --resume")
        column = pl.read_parquet(store.read(name), columns=["status"])
        status.update(dict(column["status"].value_counts().iter_rows()))
    return Summary(status.total(), dict(sorted(status.items())), taken_over)


def _ray() -> Any:
    """Ray, connected to a cluster, or to one of this machine alone."""
    try:
        import ray
        import ray.data
    except ImportError:
        raise ConfigError("--engine ray needs Ray: pip install 'cerec[ray]'") from None
    if not ray.is_initialized():
        import os

        here: dict[str, Any] = {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
        ray.init(log_to_driver=False, **({} if os.environ.get("RAY_ADDRESS") else here))
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray
