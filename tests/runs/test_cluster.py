"""Everybody's explanations on an engine: the same as on this machine, however users are cut."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from cerec.errors import ConfigError, RunError
from cerec.explain.batch import explain_all
from cerec.explain.options import Options
from cerec.runs import cluster
from cerec.runs.run import Run

pytest.importorskip("fsspec")
pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def folder(plain_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plain_run.save(tmp_path_factory.mktemp("cluster") / "run")


@pytest.fixture(scope="module")
def expected(plain_run: Run, folder: Path) -> pl.DataFrame:
    explain_all(plain_run.explainer, folder.parent / "all.parquet", Options(k=5))
    return pl.read_parquet(folder.parent / "all.parquet")


def read(out: Path) -> pl.DataFrame:
    return pl.read_parquet(sorted(out.glob("part-*.parquet")))


def test_a_plain_function_of_record_batches(folder: Path, expected: pl.DataFrame) -> None:
    users = pl.DataFrame({"user": cluster._opened(str(folder)).data.users.ids}).to_arrow()
    batches = users.to_batches(max_chunksize=7)
    found = list(cluster.explain_batches(folder, k=5)(batches))
    assert pl.DataFrame(pa.Table.from_batches(found)).equals(expected)
    one = cluster.explain_batch(folder, k=5)(batches[0])
    assert pl.DataFrame(one).equals(expected[: one.num_rows])


@pytest.mark.parametrize("size", [7, 1000])
def test_parts_in_any_order_and_twice(
    folder: Path, expected: pl.DataFrame, tmp_path: Path, size: int
) -> None:
    out = tmp_path / "out"
    writer = cluster.Writer(str(folder), str(out), '{"k": 5}', size)
    parts = -(-60 // size)
    for part in [*reversed(range(parts)), 0]:
        writer({"part": [part]})
    assert read(out).equals(expected)
    assert len(list(out.iterdir())) == parts


def test_parts_go_to_a_url_whole(folder: Path, expected: pl.DataFrame) -> None:
    writer = cluster.Writer(str(folder), "memory://parts", '{"k": 5}', 40)
    assert writer({"part": [0, 1]})["rows"] == [200, 100]
    store = cluster.Store("memory://parts")
    assert store.names() == ["part-000000.parquet", "part-000001.parquet"]
    found = pl.concat([pl.read_parquet(store.read(name)) for name in store.names()])
    assert found.equals(expected)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    job = {"options": {}, "users_per_part": 5}
    store = cluster.Store(str(tmp_path / "new"))
    assert cluster._begin(store, job, "OUT", resume=False) == set()
    with pytest.raises(RunError, match="OUT: holds parts of an earlier run; --resume"):
        cluster._begin(store, job, "OUT", resume=False)
    assert cluster._begin(store, job, "OUT", resume=True) == set()
    with pytest.raises(RunError, match="another recommender, data or question"):
        cluster._begin(store, {**job, "users_per_part": 6}, "OUT", resume=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="holds other files"):
        cluster._begin(cluster.Store(str(tmp_path / "mine")), job, "OUT", resume=True)


def test_without_ray_one_line_says_what_to_install(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'cerec\[ray\]'"):
        cluster.explain_on_ray(str(folder), str(tmp_path / "out"), Options())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_gives_what_this_machine_gives(
    folder: Path, expected: pl.DataFrame, tmp_path: Path
) -> None:
    ray = pytest.importorskip("ray")
    out = tmp_path / "out"
    asked = Options(k=5)
    try:
        told: list[tuple[int, int]] = []
        done = cluster.explain_on_ray(
            str(folder),
            str(out),
            asked,
            users_per_part=8,
            workers=2,
            on_part=lambda *x: told.append(x),
        )
        assert told[-1] == (60, 60)
        assert read(out).equals(expected)
        assert (done.pairs, done.taken_over) == (300, 0)
        (out / "part-000003.parquet").unlink()
        again = cluster.explain_on_ray(str(folder), str(out), asked, users_per_part=8, resume=True)
        assert again.taken_over == 7
        assert read(out).equals(expected)
    finally:
        ray.shutdown()
