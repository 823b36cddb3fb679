"""Seeded damage to files: the same seed gives the same bytes, so a find can be made again.

`mutate(content, rng)` damages the bytes of any file; `tables(rng)` makes odd Parquet columns.
`python tests/mutations.py --count 20000 --seed 0` loads that many damaged folders of every format.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from cerec.data.check import check
from cerec.data.load import load
from cerec.errors import CerecError

JUNK = (
    b"", b"-1", b"0", b"99999999999", b"2147483648", b"nan", b"inf", b"1e400", b"-0.0", b"x",
    b"\xff\xfe", b"\x00", b'"', b"'", b"\r", b"\n", b"\t", b",", b";", b"|", b" ", b"[", b"]",
    b'["a"', b"[[[[", b'{"a":1}', b"N/A", b"NULL", b"2024-13-45", b"0001-01-01T00:00:00+23:59",
    b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"9" * 400, b"[" * 2000, b"a" * 70000,
)  # fmt: skip

_VALUES = ([b"x"], [[1, 2]], [["a"], ["b"]], [b"\xff"], [None], [1.5], [True], ["x"], [{"a": 1}])


def mutate(content: bytes, rng: random.Random) -> bytes:
    """`content` with one or two things done to it."""
    for _ in range(rng.randint(1, 2)):
        content = rng.choice(_WAYS)(content, rng)
    return content


def _at(content: bytes, rng: random.Random) -> int:
    return rng.randint(0, len(content))


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: _at(content, rng)]


def _insert(content: bytes, rng: random.Random) -> bytes:
    at = _at(content, rng)
    return content[:at] + rng.choice(JUNK) + content[at:]


def _replace(content: bytes, rng: random.Random) -> bytes:
    at, junk = _at(content, rng), rng.choice(JUNK)
    return content[:at] + junk + content[at + len(junk) :]


def _flip(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return b"\x00"
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def _field(content: bytes, rng: random.Random) -> bytes:
    """One field of one line."""
    lines = content.split(b"\n")
    row = rng.randrange(len(lines))
    sign = next((s for s in (b"\t", b",", b" ") if s in lines[row]), b" ")
    words = lines[row].split(sign)
    words[rng.randrange(len(words))] = rng.choice(JUNK)
    lines[row] = sign.join(words)
    return b"\n".join(lines)


def _lines(content: bytes, rng: random.Random) -> bytes:
    """A line dropped, doubled or moved."""
    lines = content.split(b"\n")
    row = rng.randrange(len(lines))
    line = lines.pop(row)
    for _ in range(rng.randint(0, 2)):
        lines.insert(rng.randint(0, len(lines)), line)
    return b"\n".join(lines)


def _swap(content: bytes, rng: random.Random) -> bytes:
    """One byte for another everywhere: another separator, another quote."""
    return content.replace(bytes([rng.choice(b",;\t|\"' \n1a")]), rng.choice(JUNK[:20]))


_WAYS = (_cut, _insert, _replace, _flip, _field, _lines, _swap)


def odd_table(content: bytes, rng: random.Random) -> bytes:
    """A Parquet table with one column of another type: lists, bytes, structs, ..."""
    try:
        frame = pl.read_parquet(content)
    except Exception:  # not Parquet any more
        return content
    if not frame.width:
        return content
    column = rng.choice(frame.columns)
    value = rng.choice(_VALUES)
    values = pl.Series(column, [value[0]] * len(frame))
    out = io.BytesIO()
    frame.with_columns(values).write_parquet(out)
    return out.getvalue()


Files = Mapping[str, bytes]


def damaged(files: Files, rng: random.Random) -> dict[str, bytes]:
    """`files` with one or two of them damaged, or gone; a folder holds two or more."""
    out = dict(files)
    for name in rng.sample(sorted(out), k=rng.choice((1, 1, 2))):
        if name.endswith(".parquet") and rng.random() < 0.6:
            out[name] = odd_table(out[name], rng)
        elif rng.random() < 0.05:
            del out[name]
        else:
            out[name] = mutate(out[name], rng)
    return out


def attempt(files: Files, folder: Path, use: Callable[[Path], object]) -> tuple[str, str]:
    """("fine" | "refused" | "trace", what was said) of `use` on a folder with these files."""
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        use(folder)
    except CerecError as error:
        one = len(str(error).splitlines()) == 1
        return ("refused" if one else "trace"), str(error)
    except BaseException as error:  # also panics of compiled readers
        if isinstance(error, KeyboardInterrupt):
            raise
        return "trace", "".join(traceback.format_exception(error))
    return "fine", ""


def read(folder: Path) -> None:
    """What is done with every folder: load it and look at it."""
    check(load(folder, cache=False))


def worlds() -> dict[str, dict[str, bytes]]:
    """A small folder of every format, by name."""
    from cerec.data.dataset import Dataset
    from cerec.data.writer import ENDINGS, write

    data = Dataset.from_frames(
        {"user": ["ann", "bob", "bob", "cy"], "item": [1, 2, 1, 3], "rating": [5, 3.5, 1, 2],
         "timestamp": [10, 11, 12, 13], "part": ["train", "test", "train", "train"]},
        {"item": [1, 2, 3], "name": ["Heat", "Big", "New"], "genre": ["Crime|Drama", "Drama", ""]},
        users={"user": ["ann", "bob"], "age": [30, 40]},
        triples={"head": ["1", "genre:Drama"], "relation": ["next", "near"], "tail": ["2", "x"]},
        planted={"user": ["ann"], "relation": ["genre"], "attribute": ["genre:Drama"], "sign": [1]},
    )  # fmt: skip
    out: dict[str, dict[str, bytes]] = {}
    with tempfile.TemporaryDirectory() as name:
        for form in ENDINGS:
            folder = write(data, Path(name) / form, form)
            out[form] = {p.name: p.read_bytes() for p in folder.iterdir()}
    rows = "".join(f"{n};u{n % 5};{n * 1.7:.1f};2024-01-{n % 28 + 1:02}\n" for n in range(20))
    shop = "".join(f'{n};T{n};["a", "b{n % 3}"];x, y;{1950 + n};-\n' for n in range(20))
    out["as they are"] = {
        "Ratings.csv": b"Movie ID;User;Stars;Date\n" + rows.encode(),
        "movies.csv": b"movieId;Title;tags;who;year;mood\n" + shop.encode(),
    }
    return out


def run(count: int, seed: int) -> tuple[Counter[str], list[str], float]:
    """(outcomes, what went wrong, seconds of the slowest) of `count` damaged folders."""
    found: Counter[str] = Counter()
    wrong, slowest = [], 0.0
    every = worlds()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        folder.mkdir()
        for n in range(count):
            rng = random.Random(f"{seed}:{n}")
            form = rng.choice(sorted(every))
            files = damaged(every[form], rng)
            start = time.perf_counter()
            outcome, said = attempt(files, folder, read)
            slowest = max(slowest, time.perf_counter() - start)
            found[f"{form}: {outcome}"] += 1
            if outcome == "trace":
                wrong.append(f"mutation {seed}:{n} of {form}: {said}")
    return found, wrong, slowest


def main() -> int:
    """Counts by format; 1 when something was a trace."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found, wrong, slowest = run(given.count, given.seed)
    lines = [f"{what} {n:,}" for what, n in sorted(found.items())]
    sys.stdout.write("\n".join([*wrong, *lines, f"slowest {slowest:.2f} s"]) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
