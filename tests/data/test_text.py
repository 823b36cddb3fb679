from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cerec.data.readers.parse import parse_ragged, parse_triples
from cerec.data.text import line_at, line_of, read_bytes
from cerec.errors import DataError


def test_packed_files_come_out_whole(tmp_path: Path) -> None:
    text = b"0 1 2\n" * 1000
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + text))
    assert read_bytes(tmp_path / "a.gz") == text


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_packed_files_cut_short_are_refused(tmp_path: Path, keep: float) -> None:
    text = bytes(np.random.default_rng(0).integers(48, 58, 5000, np.uint8))
    whole = gzip.compress(text)
    path = tmp_path / "a.txt.gz"
    path.write_bytes(whole[: max(1, int(len(whole) * keep))])
    with pytest.raises(DataError, match="copy it again"):
        read_bytes(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_bytes(tmp_path / "absent")
    with pytest.raises(DataError, match="is a folder"):
        read_bytes(tmp_path)


def test_lines_are_counted_from_one() -> None:
    raw = b"a\nbb\r\nccc"
    assert [line_of(raw, p) for p in (0, 2, 6)] == [1, 2, 3]
    assert [line_at(raw, n) for n in (1, 2, 3)] == ["a", "bb", "ccc"]


numbers = st.integers(0, 2**31 - 1)


@given(st.lists(st.tuples(numbers, numbers, numbers), max_size=20), st.sampled_from(["\n", "\r\n"]))
def test_triples_are_what_was_written(rows: list[tuple[int, int, int]], end: str) -> None:
    raw = "".join(f"{h} {r}\t{t}{end}" for h, r, t in rows).encode()
    assert parse_triples("f", raw).tolist() == [list(row) for row in rows]


@given(st.lists(st.lists(numbers, min_size=1, max_size=5), max_size=10), st.booleans())
def test_ragged_lines_are_what_was_written(rows: list[list[int]], blank: bool) -> None:
    raw = ("\n\n" if blank else "\n").join(" ".join(map(str, row)) for row in rows).encode()
    first, counts, rest = parse_ragged("f", raw)
    assert first.tolist() == [row[0] for row in rows]
    assert counts.tolist() == [len(row) - 1 for row in rows]
    assert rest.tolist() == [n for row in rows for n in row[1:]]
